"""Promises of forgetting: the words are nowhere in the store, the index, the log or the files, and the report says so."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection
from sqlalchemy import text as sql

from bridge.memory.forget import Forgotten, forget_last_exchange, forget_messages, forget_sources
from bridge.memory.naming import messages_named
from bridge.memory.quoting import Quoting
from bridge.store.context_records import keep_context
from bridge.store.conversations import get_conversation
from bridge.store.events import NewEvent, add_conflict, add_event
from bridge.store.messages import NewMessage, add_message, edit_message, messages_by_id
from bridge.store.replies import NewReply, add_reply
from bridge.store.turns import open_turn
from core.clock import Instant
from core.errors import BadInput
from core.ids import Account, ConversationId, EventKey, MessageId, Trace, TurnId
from tests.memory_world import MemoryWorld, a_memory, after, line

SECRET = "存折的密码是芋头的生日0917"
EDITED = "存折的密码是麻薯的生日1123"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[MemoryWorld]:
    async with a_memory(tmp_path) as world:
        yield world


def _exchange(conn: Connection, me: ConversationId, said: str, answered: str, at: Instant) -> tuple[TurnId, MessageId]:
    """A turn as the bridge keeps one: raw body, conflict, message with an earlier version, reply, context record."""
    event = NewEvent(
        trace=Trace(f"event-{at}"),
        account=Account("console:local"),
        event_key=EventKey(f"key-{at}"),
        kind="message",
        chat="console",
        sender="owner",
        body=said,
        body_hash=f"hash-{at}",
        twin_key=None,
        outcome="accepted",
        reason=None,
        platform_at_ms=at,
        received_at_ms=at,
    )
    event_id = add_event(conn, event)
    add_conflict(conn, event_id, said + "?", f"other-{at}", at)
    turn = open_turn(conn, me, Trace(f"turn-{at}"), at, at)
    conn.execute(sql("UPDATE turns SET phase = 'done' WHERE id = :turn"), {"turn": turn})
    new = NewMessage(Trace(f"event-{at}"), me, "person", said, at, at, event=event_id, turn=turn)
    message = add_message(conn, new)
    edit_message(conn, messages_by_id(conn, [message])[message], said + "！", at)
    add_reply(conn, NewReply(Trace(f"reply-{at}"), me, turn, "reply", answered), [answered], at)
    keep_context(conn, turn, f'{{"records":[{{"key":"event-{at}"}}]}}', at)
    return turn, message


async def test_nothing_that_was_forgotten_is_left_in_any_file(world: MemoryWorld) -> None:
    first = await world.store.write(_exchange, world.me, SECRET, "记下了", after())
    await world.store.write(_exchange, world.me, "再说一遍？", f"你说过：「{SECRET}」", after(days=1))
    await world.say(f"记住，{SECRET}", after(days=2))
    await world.index.settle()
    assert world.files_hold("芋头的生日0917")

    named = await world.store.write(_all_holding, "芋头")
    done = await world.store.write(forget_messages, named, after(days=3))
    await world.index.rebuild()

    assert first[1] in named
    assert done == Forgotten(
        messages=2, versions=1, raw_bodies=1, conflicts=1, preferences=1, replies=1, context_records=2, sources=2
    )
    assert world.files_hold("芋头的生日0917") == []
    assert (await world.ask("存折的密码是什么？", after(days=4))).material.nothing_found
    assert await world.stated(after(days=4)) == []


def _all_holding(conn: Connection, words: str) -> list[MessageId]:
    rows = conn.execute(sql("SELECT id FROM messages WHERE instr(text, :words) > 0"), {"words": words})
    return [MessageId(row.id) for row in rows]


async def test_the_last_exchange_goes_with_its_reply_that_still_waits(world: MemoryWorld) -> None:
    await world.store.write(_exchange, world.me, "第一轮", "好的", after())
    await world.store.write(_exchange, world.me, SECRET, f"好，{SECRET}", after(days=1))

    def forget(conn: Connection) -> Forgotten:
        return forget_last_exchange(conn, get_conversation(conn, world.me), after(days=2))

    done = await world.store.write(forget)
    again = await world.store.write(forget)
    nothing = await world.store.write(forget)

    assert (done.messages, done.replies) == (1, 1) and again.messages == 1 and nothing == Forgotten()
    assert await world.scalar("SELECT count(*) FROM parts WHERE state = 'intent'") == 0
    assert await world.scalar("SELECT count(*) FROM parts WHERE text <> ''") == 0


async def test_a_source_takes_its_whole_exchange_with_it_whichever_side_is_named(world: MemoryWorld) -> None:
    await world.store.write(_exchange, world.me, SECRET, "好，收着", after())
    await world.store.write(_exchange, world.me, EDITED, "好，也收着", after(days=1))

    by_message = await world.store.write(forget_sources, [f"event-{after()}"], after(days=2))
    by_reply = await world.store.write(forget_sources, [f"reply-{after(days=1)}", "nobody"], after(days=2))

    assert (by_message.messages, by_message.replies) == (by_reply.messages, by_reply.replies) == (1, 1)
    assert await world.scalar("SELECT count(*) FROM messages WHERE text <> ''") == 0
    assert await world.scalar("SELECT count(*) FROM replies WHERE text <> ''") == 0


async def test_an_erasure_is_finished_by_the_bridge_itself(world: MemoryWorld) -> None:
    await world.say(SECRET, after())
    await world.index.settle()
    await world.store.write(forget_messages, [MessageId(1)], after(days=1))

    await world.index.keep_up()
    rebuilding = world.index._mending
    assert rebuilding is not None
    await rebuilding

    assert world.files_hold("芋头的生日0917") == []
    assert not list(world.folder.rglob("*.erased"))


async def test_forgetting_what_holds_lets_the_statement_before_it_hold_again(world: MemoryWorld) -> None:
    await world.say("叫我小林", after())
    await world.say("叫我老林", after(days=1))

    await world.store.write(forget_messages, [MessageId(2)], after(days=2))

    assert await world.stated(after(days=3)) == ["叫我小林"]


async def test_what_is_named_is_found_and_what_is_not_is_refused(world: MemoryWorld) -> None:
    await world.import_(
        [line(7, "a", after(), chat="a"), line(7, "b", after(), chat="b"), line(8, "叫我小林", after(), chat="b")]
    )

    assert await world.store.read(messages_named, ["7"], "b") == [MessageId(2)]
    assert await world.store.read(messages_named, [], "a") == [MessageId(1)]
    assert await world.store.read(messages_named, ["1"], None) == [MessageId(3)]  # the preference's number
    for refs, chat, why in ((["7"], None, "several chats"), (["nope"], None, "neither"), ([], "zz", "no chat 'zz'")):
        with pytest.raises(BadInput, match=why):
            await world.store.read(messages_named, refs, chat)


@given(st.text(min_size=30, max_size=200), st.integers(0, 9), st.integers(25, 30))
def test_a_text_quotes_itself_and_its_longer_pieces(text: str, start: int, end: int) -> None:
    quoting = Quoting([text])

    assert quoting.holds(f"you said: {text}!") or len("".join(c for c in text if c.isalnum())) < 40
    assert isinstance(quoting.holds(text[start:end]), bool)
