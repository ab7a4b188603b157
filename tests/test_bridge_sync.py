"""What the site is told: both sides, each change, once for each key, and never in the way of a reply."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.control.messages import SyncAnswer, SyncBatch
from core.errors import ControlRefused
from tests.fakes.site_double import Fault

from .crash.world import Script, World, a_world


async def test_both_sides_and_every_state_reach_the_site_once(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.say("你好")
        await world.settle()

        said = world.site_rows("SELECT speaker, text, heard FROM sources ORDER BY said_at_ms")
        assert said == [("person", "你好", 1), ("persona", "answer to: 你好", 1)]
        states = world.site_rows("SELECT body FROM synced WHERE kind = 'part_state'")
        assert len(states) == 1 and '"state":"sent"' in str(states[0][0])
        assert world.site_rows("SELECT count(*) FROM synced WHERE kind = 'turn_context'") == [(1,)]


@pytest.mark.parametrize("fault", ["unreachable", "unanswered"])
async def test_a_round_the_site_did_not_answer_is_told_again_and_kept_once(tmp_path: Path, fault: Fault) -> None:
    async with a_world(tmp_path) as world:
        world.say("hello")
        await world.round()
        world.site.fail_next(fault, 4)
        await world.settle()

        assert world.at_rest()
        assert len(world.site_rows("SELECT id FROM sources")) == 2
        assert len(world.site_rows("SELECT * FROM usage")) == 1


async def test_a_reply_does_not_wait_for_the_site(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.round()
        world.site.fail_next("unreachable", 99)
        world.say("hello")
        await world.settle(rounds=6)

        assert world.platform.texts == ["answer to: hello"]
        assert world.gateway.problems["sync"]


async def test_what_the_site_refuses_does_not_hold_up_the_rest(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        keep = world.site.sync

        async def sync(batch: SyncBatch) -> SyncAnswer:
            if any("poison" in record.model_dump_json() for record in batch.records):
                raise ControlRefused("the site refused: bad request", 400)
            return await keep(batch)

        vars(world.site)["sync"] = sync  # a site that cannot take one record
        for text in ("one", "poison", "three"):
            world.say(text)
        await world.settle()

        assert world.at_rest()
        texts = {row[0] for row in world.site_rows("SELECT text FROM sources WHERE speaker = 'person'")}
        assert texts == {"one", "three"}
        refused = world.rows("SELECT count(*) FROM sync_records WHERE refused IS NOT NULL")
        assert refused == [(2,)]


async def test_a_site_that_answers_for_nothing_is_not_asked_in_a_hurry(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:

        async def sync(_batch: SyncBatch) -> SyncAnswer:
            return SyncAnswer(kept=())

        vars(world.site)["sync"] = sync  # a site that keeps nothing and says nothing
        world.say("hello")
        await world.round()

        assert await world.gateway.sync() > 0


async def test_held_and_failed_parts_are_told_too(tmp_path: Path) -> None:
    script = Script(answer="one " * 40 + "\n" + "two " * 40, sends=("refused",))
    async with a_world(tmp_path, script) as world:
        world.say("hello")
        await world.settle()

        bodies = sorted(str(row[0]) for row in world.site_rows("SELECT body FROM synced WHERE kind = 'part_state'"))
        assert ['"failed"' in bodies[0] or '"failed"' in bodies[1], '"held"' in bodies[0] or '"held"' in bodies[1]] == [
            True,
            True,
        ]


async def test_it_goes_on_after_a_restart_where_it_was(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.round()
        world.site.fail_next("unreachable", 99)
        world.say("hello")
        await world.settle(rounds=6)
        waiting = world.rows("SELECT count(*) FROM sync_records WHERE synced_at_ms IS NULL")
        again = World(world.folder, world.watch, replace(world.script))
        await again.start()
        await again.settle()

        assert waiting > [(0,)]
        assert len(again.site_rows("SELECT id FROM sources")) == 2
        again.close()
