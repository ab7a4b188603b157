"""How parts reach a person: in order, paced, once, and with a word where that cannot be known."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from bridge.outbox import Resolution, list_outbox, resolve_part
from core.errors import BadInput
from core.ids import PartId
from tests.fakes.messenger import CAPABILITIES, SLOW_DOWN_MS, Fate

from .crash.world import Script, World, a_world

STATES = "SELECT state FROM parts ORDER BY id"
LONG = Script(answer="one " * 40 + "\n" + "two " * 40 + "\n" + "three " * 30)
HOUR_MS = 3_600_000


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


def states(world: World) -> list[str]:
    return [str(row[0]) for row in world.rows(STATES)]


async def test_a_long_reply_goes_in_parts_and_in_order(tmp_path: Path) -> None:
    async with a_world(tmp_path, LONG) as world:
        world.say("hello")
        await world.settle()

        assert states(world) == ["sent"] * 3
        assert [text.split()[0] for text in world.platform.texts] == ["one", "two", "three"]
        assert [send["last"] for send in world.platform.delivered] == [False, False, True]
        assert "".join(world.platform.texts).split() == world.model._answer.split()


async def test_sent_needs_the_platforms_own_id_and_accepted_has_none(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(sends=("sent", "accepted"))) as world:
        for text in ("one", "two"):
            world.say(text)
            await world.settle()

        assert world.rows("SELECT state, platform_id FROM parts") == [("sent", "platform-0"), ("accepted", None)]
        assert world.rows("SELECT receipt FROM messages WHERE speaker = 'persona'") == [("sent",), ("accepted",)]


@pytest.mark.parametrize("fate", ["delivered_unanswered", "lost_unanswered", "raises"])
async def test_a_send_without_an_answer_is_unknown_and_never_sent_again(tmp_path: Path, fate: Fate) -> None:
    async with a_world(tmp_path, replace(LONG, sends=(fate,))) as world:
        world.say("hello")
        await world.settle()
        world = world.restarted()
        await world.start()
        await world.settle()

        assert states(world) == ["unknown", "held", "held"]
        assert len(world.platform.sends) == 1
        assert world.rows("SELECT id FROM messages WHERE speaker = 'persona'") == []
        world.close()


@pytest.mark.parametrize(("how", "after"), [("delivered", "sent"), ("not_delivered", "failed"), ("send_again", "sent")])
async def test_unknown_is_left_by_the_owner_and_the_rest_follows(tmp_path: Path, how: Resolution, after: str) -> None:
    async with a_world(tmp_path, replace(LONG, sends=("lost_unanswered",))) as world:
        world.say("hello")
        await world.settle()
        part = (await world.store.read(list_outbox))[0]

        await world.store.write(resolve_part, world.gateway.delivering, part.id, how, world.watch.now())
        await world.settle()

        rest = "held" if how == "not_delivered" else "sent"
        assert states(world) == [after, rest, rest]
        assert world.rows("SELECT phase FROM turns") == [("done",)]
        left = world.rows("SELECT DISTINCT actor FROM transitions WHERE object = 'part' AND before = 'unknown'")
        assert left == [("owner",)]


@pytest.mark.parametrize(("part", "how"), [(1, "delivered"), (99, "delivered"), (1, "not_delivered")])
async def test_what_is_not_in_doubt_cannot_be_resolved(world: World, part: int, how: Resolution) -> None:
    world.say("hello")
    await world.settle()

    with pytest.raises(BadInput, match="part"):
        await world.store.write(resolve_part, world.gateway.delivering, PartId(part), how, world.watch.now())


async def test_words_that_were_forgotten_are_not_sent_again(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(sends=("lost_unanswered",))) as world:
        world.say("hello")
        await world.settle()
        world.say("/forget")
        await world.settle()

        with pytest.raises(BadInput, match="forgotten"):
            await world.store.write(resolve_part, world.gateway.delivering, PartId(1), "send_again", world.watch.now())


async def test_a_forgotten_reply_is_not_said_afterwards(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.platform.can_send = False
        world.say("hello")
        await world.settle(rounds=8)
        world.say("/forget")
        await world.settle(rounds=3)
        world.platform.can_send = True
        await world.settle()

        assert len(world.platform.texts) == 1
        assert world.platform.texts[0].startswith("The last exchange is forgotten")
        assert world.rows("SELECT text FROM parts WHERE id = 1") == [("",)]


async def test_a_refused_part_fails_and_the_rest_is_held(tmp_path: Path) -> None:
    async with a_world(tmp_path, replace(LONG, sends=("sent", "refused"))) as world:
        world.say("hello")
        await world.settle()

        assert states(world) == ["sent", "failed", "held"]
        heard = world.rows("SELECT text FROM messages WHERE speaker = 'persona'")
        assert str(heard[0][0]).startswith("one") and "two" not in str(heard[0][0])


async def test_what_never_left_is_sent_again_however_long_the_line_is_down(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(sends=("not_sent",) * 12)) as world:
        world.say("hello")
        await world.settle()

        assert states(world) == ["sent"]
        assert len(world.platform.delivered) == 1


async def test_retry_after_is_waited_for_by_the_whole_account(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(sends=("slow_down",))) as world:
        world.say("hello")
        world.say("hi", who="bob")
        while len(world.platform.sends) < 1:
            world.watch.advance(100)
            await world.round()
        began = world.watch.now()
        while len(world.platform.sends) < 2:
            world.watch.advance(100)
            await world.round()

        assert SLOW_DOWN_MS <= world.watch.now() - began <= SLOW_DOWN_MS + 100
        await world.settle()
        assert states(world) == ["sent", "sent"]


async def test_sends_of_an_account_are_paced_whoever_rings(tmp_path: Path) -> None:
    paced = Script(capabilities=replace(CAPABILITIES, pace_ms=1_000))
    async with a_world(tmp_path, paced) as world:
        world.say("hello")
        world.say("hi", who="bob")
        await world.gateway.renew_grant()
        world.cursor = await world.gateway.poll_once(world.platform, None)
        world.watch.advance(1_500)
        await world.gateway.answer_due()
        await world.gateway.answers()

        for _ in range(5):
            await world.gateway.deliver(world.platform)

        assert len(world.platform.sends) == 1
        world.watch.advance(1_000)
        await world.gateway.deliver(world.platform)
        assert len(world.platform.sends) == 2


async def test_a_clock_set_back_does_not_silence_an_account(tmp_path: Path) -> None:
    paced = Script(capabilities=replace(CAPABILITIES, pace_ms=1_000))
    async with a_world(tmp_path, paced) as world:
        world.say("hello")
        await world.settle()
        world.watch.set(world.watch.now() - HOUR_MS)
        world.say("again")
        before = world.watch.now()
        await world.settle()

        assert len(world.platform.delivered) == 2
        assert world.watch.now() - before < 10_000


async def test_what_the_platform_defers_waits_for_the_persons_next_message(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(sends=("deferred",))) as world:
        world.say("hello")
        await world.settle()
        assert states(world) == ["deferred"]

        world.say("still there?")
        await world.settle()

        assert world.platform.texts == ["answer to: hello", "answer to: still there?"]


async def test_a_quota_for_each_inbound_message_is_kept_and_refusals_do_not_use_it_up(tmp_path: Path) -> None:
    quota = replace(LONG, capabilities=replace(CAPABILITIES, parts_per_inbound=2), sends=("not_sent", "not_sent"))
    async with a_world(tmp_path, quota) as world:
        world.say("hello")
        await world.settle()

        assert states(world) == ["sent", "sent", "deferred"]


async def test_a_reply_window_that_is_over_defers_instead_of_failing(tmp_path: Path) -> None:
    window = Script(capabilities=replace(CAPABILITIES, reply_window_ms=60_000))
    async with a_world(tmp_path, window) as world:
        world.platform.can_send = False
        world.say("hello", reply_token="token-1")
        await world.settle(rounds=8)
        world.watch.advance(120_000)
        world.platform.can_send = True
        await world.settle()

        assert states(world) == ["deferred"]
        assert len(world.platform.sends) == 0


async def test_a_stale_pile_expires_with_one_notice_to_the_owner(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.platform.can_send = False
        for number in range(3):
            world.say(f"hello {number}")
            world.say(f"hi {number}", who="bob")
            await world.settle(rounds=6)
        world.watch.advance(25 * HOUR_MS)
        await world.round()
        world.watch.advance(HOUR_MS)
        await world.round()
        world.platform.can_send = True
        await world.settle()

        assert states(world).count("expired") == 6
        assert world.platform.texts[0].startswith("6 replies waited too long")
        assert len(world.platform.texts) == 1
        assert world.platform.delivered[0]["chat"] == "ann"


async def test_a_deferred_part_expires_too(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(sends=("deferred",))) as world:
        world.say("hello")
        await world.settle()
        world.watch.advance(25 * HOUR_MS)
        await world.settle()

        assert states(world)[0] == "expired"


async def test_a_notice_that_expires_is_not_told_of_again(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.platform.can_send = False
        world.say("hello")
        await world.settle(rounds=8)
        for _ in range(5):
            world.watch.advance(26 * HOUR_MS)
            await world.round()

        assert states(world) == ["expired", "expired"]


async def test_a_newer_reply_never_overtakes_an_older_one(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(sends=("slow_down",))) as world:
        world.say("first")
        await world.settle(rounds=4)
        world.say("/status")
        await world.settle()

        assert world.platform.texts[0] == "answer to: first"


async def test_memory_grows_with_what_was_heard(tmp_path: Path) -> None:
    async with a_world(tmp_path, LONG) as world:
        world.say("hello")
        await world.settle()

        heard = world.rows("SELECT text, turn_id FROM messages WHERE speaker = 'persona'")
        assert len(heard) == 1
        assert all(word in str(heard[0][0]) for word in ("one", "two", "three"))


async def test_a_stop_during_a_send_records_it_as_unknown(world: World) -> None:
    world.say("hello")
    await world.gateway.renew_grant()
    world.cursor = await world.gateway.poll_once(world.platform, None)
    world.watch.advance(1_500)
    await world.gateway.answer_due()
    await world.gateway.answers()
    hanging = asyncio.Event()

    async def hang(_part: object) -> object:
        hanging.set()
        await asyncio.Event().wait()
        return None

    world.platform.send = hang  # type: ignore[assignment, method-assign]  # a platform that never answers
    sending = asyncio.create_task(world.gateway.deliver(world.platform))
    await hanging.wait()
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)

    assert states(world) == ["unknown"]
