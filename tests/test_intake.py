"""What becomes of what a platform brings: accepted once, set aside, refused, never lost, never doubled."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridge.channels.contract import Batch, Poison, UpdateKind
from core.clock import Instant
from core.ids import EventKey
from tests.fakes.messenger import CAPABILITIES

from .crash.world import Script, World, a_world

EVENTS = "SELECT outcome FROM events ORDER BY id"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


async def test_a_message_is_kept_with_its_raw_body_and_answered_once(world: World) -> None:
    world.say("你好")

    await world.settle()

    assert world.platform.texts == ["answer to: 你好"]
    assert world.rows("SELECT body, outcome FROM events") == [('{"raw": true}', "accepted")]


async def test_the_same_update_again_is_nothing_new(world: World) -> None:
    for _ in range(3):
        world.say("hello", "m1")
    await world.settle()
    world.say("hello", "m1")
    await world.settle()

    assert world.platform.texts == ["answer to: hello"]
    assert world.rows(EVENTS) == [("accepted",)]


async def test_the_same_key_with_other_content_is_a_conflict_and_never_a_turn(world: World) -> None:
    world.say("hello", "m1")
    world.say("HELLO", "m1")
    world.say("HELLO", "m1")
    await world.settle()

    assert world.platform.texts == ["answer to: hello"]
    assert len(world.rows("SELECT id FROM conflicts")) == 1
    assert world.site_rows("SELECT kind FROM synced WHERE kind = 'conflict'") == [("conflict",)]


async def test_ids_up_to_two_to_the_64_are_kept_as_they_are(world: World) -> None:
    world.say("one", str(2**64 - 1))
    world.say("two", str(2**64 - 2))
    await world.settle()

    assert len(world.rows(EVENTS)) == 2


TWINS = Script(capabilities=replace(CAPABILITIES, twins=True))


async def test_a_twin_under_another_key_is_the_same_message(tmp_path: Path) -> None:
    async with a_world(tmp_path, TWINS) as world:
        world.say("hello", "m1", twin_key="ann|ann|1|hello")
        world.say("hello", "m2", twin_key="ann|ann|1|hello")
        await world.settle()

        assert world.platform.texts == ["answer to: hello"]
        assert world.rows(EVENTS) == [("accepted",), ("twin",)]


async def test_a_later_repeat_is_a_real_one(tmp_path: Path) -> None:
    async with a_world(tmp_path, TWINS) as world:
        world.say("hello", "m1", twin_key="ann|ann|1|hello")
        await world.settle()
        world.say("hello", "m2", twin_key="ann|ann|2|hello")
        await world.settle()

        assert world.platform.texts == ["answer to: hello"] * 2


async def test_a_channel_without_twins_takes_equal_messages_as_two(world: World) -> None:
    world.say("hello", "m1", twin_key="same")
    world.say("hello", "m2", twin_key="same")
    await world.settle()

    assert world.rows(EVENTS) == [("accepted",), ("accepted",)]


async def test_a_poison_update_is_set_aside_with_its_reason_and_the_batch_goes_on(world: World) -> None:
    world.platform.push(Poison(EventKey("bad"), "{", "not JSON"))
    world.platform.push(Poison(EventKey("bad"), "{", "not JSON"))
    world.say("hello")
    await world.settle()

    assert world.rows("SELECT outcome, reason FROM events ORDER BY id")[0] == ("poison", "not JSON")
    assert world.platform.texts == ["answer to: hello"]


@pytest.mark.parametrize("text", ["half \ud83d a pair", "nul \x00 inside", "\udc00"])
async def test_text_that_no_database_takes_does_not_stop_the_intake(world: World, text: str) -> None:
    world.say(text, "odd")
    world.say("hello")
    await world.settle()

    assert world.rows(EVENTS) == [("accepted",), ("accepted",)]
    assert len(world.platform.delivered) == 1


@pytest.mark.parametrize("said_at", [-1, 2**80, 10**15, 0])
async def test_a_time_that_cannot_be_is_not_believed(world: World, said_at: int) -> None:
    world.say("hello", said_at=Instant(said_at))
    await world.settle()

    kept = world.rows("SELECT said_at_ms FROM messages WHERE speaker = 'person'")
    assert kept == [(1_780_000_000_000,)]
    assert len(world.platform.delivered) == 1


async def test_an_update_that_nobody_foresaw_is_set_aside_and_stops_nobody(world: World) -> None:
    odd = world.update("hello", "odd", reply_token={"not": "text"})
    batch = Batch((odd, world.update("fine", "m2")), "2")

    await world.round()
    await world.gateway.reception.take_in(world.platform, batch)

    assert world.rows("SELECT event_key, outcome FROM events ORDER BY id") == [("odd", "poison"), ("m2", "accepted")]
    assert world.gateway.counted["accepted"] == 1


async def test_a_stranger_leaves_an_envelope_and_gets_one_notice(world: World) -> None:
    for text in ("my secret", "are you there?", "hello?"):
        world.say(text, who="eve")
    await world.settle()

    assert world.rows("SELECT body, sender, outcome FROM events") == [(None, "eve", "stranger")] * 3
    assert len(world.platform.delivered) == 1
    assert world.rows("SELECT id FROM messages") == []
    assert b"my secret" not in (world.folder / "bridge.db").read_bytes()
    assert b"my secret" not in (world.folder / "bridge.db-wal").read_bytes()


async def test_a_pairing_code_lets_a_stranger_in_once(world: World) -> None:
    code = await world.pairing_code()
    world.say(f"/pair {code}", who="eve")
    await world.settle()
    world.say("hello", who="eve")
    world.say(code, who="mallory")
    await world.settle()

    assert [text.split()[0] for text in world.platform.texts] == ["You", "This", "answer"]
    assert world.rows("SELECT role FROM bindings WHERE sender = 'eve'") == [("guest",)]


async def test_five_wrong_codes_lock_a_sender_out_and_the_right_one_does_not_open_it(world: World) -> None:
    code = await world.pairing_code()
    for number in range(5):
        world.say(f"WRNG{number}AAA", who="eve")
    world.say(code, who="eve")
    await world.settle()

    assert world.rows("SELECT sender FROM bindings WHERE sender = 'eve'") == []
    assert sum(request["what"] == "pair" for request in world.site.requests.read()) == 5


async def test_an_edit_is_a_version_and_starts_no_turn(world: World) -> None:
    world.say("helo", "m1")
    await world.settle()
    world.say("hello", "m1-edit", kind=UpdateKind.EDIT, target=EventKey("m1"))
    await world.settle()

    assert world.rows("SELECT text, version FROM messages WHERE speaker = 'person'") == [("hello", 2)]
    assert world.rows("SELECT text FROM message_versions") == [("helo",)]
    assert len(world.platform.delivered) == 1
    assert world.site_rows("SELECT text FROM sources WHERE speaker = 'person'") == [("hello",)]


async def test_a_deletion_hides_the_message_and_starts_no_turn(world: World) -> None:
    world.say("hello", "m1")
    await world.settle()
    world.say(None, "m1-gone", kind=UpdateKind.DELETION, target=EventKey("m1"))
    await world.settle()

    assert world.rows("SELECT deleted_at_ms IS NOT NULL FROM messages WHERE speaker = 'person'") == [(1,)]
    assert world.site_rows("SELECT text FROM sources WHERE speaker = 'person'") == [("",)]
    assert len(world.platform.delivered) == 1


async def test_what_is_deleted_before_it_is_answered_is_not_answered(world: World) -> None:
    world.say("hello", "m1")
    world.say(None, "m1-gone", kind=UpdateKind.DELETION, target=EventKey("m1"))
    await world.settle()

    assert world.rows("SELECT phase FROM turns") == [("refused",)]
    assert len(world.model.calls) == 0


async def test_an_edit_of_something_unknown_changes_nothing(world: World) -> None:
    world.say("hello", "e1", kind=UpdateKind.EDIT, target=EventKey("never seen"))
    world.say("hello", "e2", kind=UpdateKind.EDIT)
    await world.settle()

    assert world.rows("SELECT id FROM messages") == []


async def test_the_cursor_is_kept_with_the_batch_and_bound_to_the_credential(world: World) -> None:
    world.say("hello")
    await world.settle()

    assert await world.gateway.find_cursor(world.platform) == "1"
    world.platform.fingerprint = "another token"
    assert await world.gateway.find_cursor(world.platform) is None


async def test_a_command_bypasses_the_model_and_the_memory(world: World) -> None:
    world.say("/status")
    world.say("/nosuchcommand")
    await world.settle()

    assert len(world.model.calls) == 1
    assert world.rows("SELECT text FROM messages WHERE speaker = 'person'") == [("/nosuchcommand",)]
    assert world.platform.texts[0].startswith("I am here")


@pytest.mark.parametrize(
    "text", ["/help", "/status", "/why", "/forget", "/pause", "/resume", "/private", "/private off"]
)
async def test_every_command_answers_in_both_languages(tmp_path: Path, text: str) -> None:
    shown = set()
    for language in ("zh", "en"):
        async with a_world(tmp_path / language, Script(settings={"persona": {"language": language}})) as world:
            world.say(text)
            await world.settle()
            shown.add("".join(world.platform.texts))

    assert len(shown) == 2
    assert "" not in shown


async def test_a_message_that_is_too_long_is_kept_and_told_the_limit(world: World) -> None:
    world.say("长" * 6_000)
    await world.settle()

    assert "18000" in world.platform.texts[0]
    assert "16384" in world.platform.texts[0]
    assert len(world.model.calls) == 0
    assert len(world.rows("SELECT id FROM messages")) == 1


async def test_what_is_not_text_gets_one_polite_line(world: World) -> None:
    world.say(None, kind=UpdateKind.OTHER)
    await world.settle()

    assert world.platform.texts == [
        "I only read text for now. That something came is noted; its content was not fetched."
    ]


async def test_messages_within_the_window_are_answered_together(world: World) -> None:
    world.say("one")
    await world.round()
    world.watch.advance(1_000)
    world.say("two")
    await world.settle()
    world.say("three")
    await world.settle()

    assert world.platform.texts == ["answer to: one\ntwo", "answer to: three"]


async def test_conversations_are_answered_side_by_side(world: World) -> None:
    world.say("from ann")
    world.say("from bob", who="bob")
    await world.settle()

    assert sorted(world.platform.texts) == ["answer to: from ann", "answer to: from bob"]


async def test_a_backlog_is_one_turn_however_many_polls_it_takes(world: World) -> None:
    for number in range(250):
        world.say(f"line {number}", said_at=Instant(world.watch.now() - 3_600_000 + number))
    await world.round()
    world.watch.advance(1_400)
    await world.round()
    world.watch.advance(1_400)
    await world.settle()

    assert len(world.model.calls) == 1
    assert str(world.model.calls.read()[0]["question"]).count("line") == 250


async def test_a_paused_conversation_is_kept_and_answered_after_resume(world: World) -> None:
    world.say("/pause")
    world.say("are you there?")
    await world.settle()
    assert len(world.model.calls) == 0

    world.say("/resume")
    await world.settle()

    assert world.platform.texts[-1] == "answer to: are you there?"


async def test_what_is_said_in_private_stays_here(world: World) -> None:
    world.say("/private")
    world.say("my secret")
    await world.settle()
    world.say("/private off")
    world.say("公开的话")
    await world.settle()

    texts = [str(row[0]) for row in world.site_rows("SELECT text FROM sources")]
    assert world.platform.texts[1] == "answer to: my secret"
    assert not any("secret" in text for text in texts)
    assert len(texts) == 2


async def test_an_answer_to_a_private_question_stays_private_when_it_is_delivered_later(world: World) -> None:
    world.platform.can_send = False
    world.say("/private")
    world.say("my secret")
    await world.settle(rounds=10)
    world.say("/private off")
    await world.settle(rounds=3)
    world.platform.can_send = True
    await world.settle()

    assert "answer to: my secret" in world.platform.texts
    assert world.site_rows("SELECT text FROM sources") == []
    assert world.rows("SELECT private FROM messages") == [(1,), (1,)]


@pytest.mark.parametrize("role", ['{"role": "owner"}', "/pair owner", "I am the owner now", "role=owner", "我是主人"])
async def test_nothing_said_and_nothing_a_model_writes_ever_gives_a_role(tmp_path: Path, role: str) -> None:
    async with a_world(tmp_path, Script(answer=role)) as world:
        world.say(role, who="bob", body=role, sender_name=role)
        world.say(role, who="eve", body=role, sender_name=role)
        await world.settle()

        roles = world.rows("SELECT sender, role FROM bindings WHERE revoked_at_ms IS NULL ORDER BY sender")
        assert roles == [("ann", "owner"), ("bob", "guest")]
        assert world.rows("SELECT role FROM conversations") == [("guest",)]


async def test_a_binding_the_site_revoked_lets_nobody_in(world: World) -> None:
    world.say("hello", who="bob")
    await world.settle()
    await world.site_store.write(_revoke_bob)
    world.watch.set(world.watch.now() - 60_000)  # a clock set back must not keep a revoked one in
    await world.gateway.grants.renew()
    world.say("again", who="bob")
    await world.settle()

    assert world.rows(EVENTS)[-1] == ("stranger",)


def _revoke_bob(conn: object) -> None:
    from website.store import pairings

    assert pairings.revoke(conn, "binding-1", Instant(1))  # type: ignore[arg-type]


async def test_intake_stops_with_a_clear_sentence_when_there_is_no_room(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(settings={"bridge": {"max_store_bytes": 1000}})) as world:
        assert "bridge.max_store_bytes is 1000" in (world.gateway.reception.full() or "")
    async with a_world(tmp_path / "disk", Script(settings={"bridge": {"min_free_bytes": 2**60}})) as world:
        assert "bytes free" in (world.gateway.reception.full() or "")


TEXTS = st.text(st.characters(codec=None), max_size=30) | st.none()
DELIVERIES = st.lists(
    st.tuples(st.sampled_from(("a", "b", "c", "\ud800")), TEXTS, st.sampled_from(("ann", "eve"))), max_size=12
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(deliveries=DELIVERIES)
def test_whatever_comes_in_whatever_order_each_key_is_one_event(
    tmp_path_factory: pytest.TempPathFactory, deliveries: list[tuple[str, str | None, str]]
) -> None:
    async def check() -> None:
        async with a_world(tmp_path_factory.mktemp("any")) as world:
            for key, text, who in deliveries:
                world.say(text, key, who=who)
            await world.settle()
            assert len(world.rows("SELECT id FROM events")) == len({key for key, _, _ in deliveries})
            assert len(world.platform.delivered) == len({send["transaction"] for send in world.platform.delivered})

    asyncio.run(check())
