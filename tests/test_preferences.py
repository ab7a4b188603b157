"""Promises about what a person states: recognised in zh and en, kept in their own words, the newest one holds."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection
from sqlalchemy import text as sql

from bridge.memory.preferences import edit_preference, note_again, preference_records, undo_preference
from bridge.memory.statement_rules import RULES, Rule
from bridge.memory.statements import LONGEST_MESSAGE, MOST_STATEMENTS, statements_of
from bridge.store.messages import Message, message_by_trace
from bridge.store.preferences import holding, of_topic
from core.errors import BadInput
from core.ids import Trace
from tests.memory_world import MemoryWorld, a_memory, after, line

SAYS = [(rule, sentence) for rule in RULES for sentence in rule.says]
SAYS_NOT = [(rule, sentence) for rule in RULES for sentence in rule.says_not]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[MemoryWorld]:
    async with a_memory(tmp_path) as world:
        yield world


@pytest.mark.parametrize(("rule", "sentence"), SAYS)
def test_a_statement_is_recognised(rule: Rule, sentence: str) -> None:
    assert rule.kind in {statement.kind for statement in statements_of(sentence)}


@pytest.mark.parametrize(("rule", "sentence"), SAYS_NOT)
def test_a_near_miss_is_no_statement(rule: Rule, sentence: str) -> None:
    assert [statement for statement in statements_of(sentence) if not statement.only_with] == []


@pytest.mark.parametrize(
    "text",
    [
        "如果你能叫我小林就好了",
        "我妈说我喜欢吃辣",
        "“我喜欢吃辣”是他的口头禅",
        "我没说我喜欢咖啡",
        "我小时候喜欢画画",
        "今天的咖啡真难喝，烦死了",
        "我讨厌今天的天气",
        "I hate this weather",
        "He said: “I love jazz and I hate rock.”",
        "I wish I liked running",
        "I don't think I like jazz",
        "If I were rich I would like sailing",
        "I love you",
        "我爱你",
        "",
        "？！",
        "\ud83d",
    ],
)
def test_questions_moods_and_other_peoples_words_are_no_statements(text: str) -> None:
    assert statements_of(text) == ()


@given(st.text(max_size=400))
def test_every_quote_is_a_piece_of_the_message(text: str) -> None:
    statements = statements_of(f"我喜欢茶。{text}\nCall me Lin.")

    assert len(statements) <= MOST_STATEMENTS
    for statement in statements:
        assert statement.quote in f"我喜欢茶。{text}\nCall me Lin."
        assert statement.topic and not statement.topic.endswith(":")


def test_a_pasted_page_states_nothing() -> None:
    assert statements_of("I like tea. " * LONGEST_MESSAGE) == ()


async def test_the_newest_statement_of_a_topic_holds_and_the_others_are_its_history(world: MemoryWorld) -> None:
    await world.say("叫我小林就好", after())
    await world.say("My favourite colour is green.", after(days=1))
    await world.say("以后请叫我林夕", after(days=2))

    assert await world.stated(after(days=3)) == ["My favourite colour is green.", "以后请叫我林夕"]
    assert await world.stated(after(days=1, hours=1)) == ["叫我小林就好", "My favourite colour is green."]
    history = await world.store.read(of_topic, [world.me], "name")
    assert [(one.quote, one.superseded_at) for one in history] == [
        ("叫我小林就好", after(days=2)),
        ("以后请叫我林夕", None),
    ]


async def test_an_older_statement_that_arrives_later_changes_nothing(world: MemoryWorld) -> None:
    await world.say("Call me Ada.", after(days=9))
    await world.say("Call me Adeline.", after(days=1))

    assert await world.stated(after(days=10)) == ["Call me Ada."]


async def test_a_correction_takes_the_place_of_what_it_corrects_and_is_told_with_it(world: MemoryWorld) -> None:
    await world.say("Remember that my sister's birthday is May 3.", after())
    await world.say("It's May 4, not May 3.", after(days=5))

    [told] = await world.stated(after(days=6))
    assert told == "Remember that my sister's birthday is May 3.\nIt's May 4, not May 3."


async def test_a_correction_over_two_sentences_is_kept_whole(world: MemoryWorld) -> None:
    await world.say("记住，房租是每月三号交", after())
    await world.say("房租不是三号。是四号。", after(days=1))

    assert await world.stated(after(days=2)) == ["记住，房租是每月三号交\n房租不是三号。是四号。"]


async def test_a_correction_of_nothing_known_is_no_statement(world: MemoryWorld) -> None:
    await world.say("这不是咖啡，是茶", after())

    assert await world.stated(after(days=1)) == []


async def test_the_personas_and_third_parties_words_are_never_preferences(world: MemoryWorld) -> None:
    await world.say("我喜欢黑咖啡", after(), who="persona")
    await world.import_(
        [line(1, "Call me Bob.", after(), who="other"), line(2, "I like jazz.", after(), who="persona")]
    )

    assert await world.stated(after(days=500)) == []


async def test_edited_and_deleted_messages_take_their_statements_with_them(world: MemoryWorld) -> None:
    trace = await world.say("我喜欢黑咖啡", after())
    message = await world.store.read(message_by_trace, Trace(trace))
    assert isinstance(message, Message)

    await world.store.write(note_again, world.me, message.id, "我喜欢红茶", message.said_at)
    assert await world.stated(after(days=1)) == ["我喜欢红茶"]
    await world.store.write(note_again, world.me, message.id, "", message.said_at)
    assert await world.stated(after(days=1)) == []


async def test_the_owner_edits_and_takes_back_a_preference(world: MemoryWorld) -> None:
    await world.say("我喜欢黑咖啡", after())
    [held] = await world.store.read(holding, [world.me], after(days=1))

    await world.store.write(edit_preference, held.id, "我喜欢淡一点的咖啡", after(days=2), Trace("edit-1"))
    assert await world.stated(after(days=3)) == ["我喜欢淡一点的咖啡"]
    [edited] = await world.store.read(holding, [world.me], after(days=3))
    await world.store.write(undo_preference, edited.id, after(days=4))
    assert await world.stated(after(days=5)) == ["我喜欢黑咖啡"]

    with pytest.raises(BadInput, match="there is no preference 999"):
        await world.store.write(undo_preference, 999, after())
    with pytest.raises(BadInput, match="empty"):
        await world.store.write(edit_preference, held.id, "  ", after(), Trace("edit-2"))


async def test_a_guests_statements_stay_with_the_guest(world: MemoryWorld) -> None:
    guest = await world.open("telegram:1", "77", "guest")
    await world.say("Call me Gus.", after(), where=guest)

    assert await world.stated(after(days=1)) == []
    assert [record.text for record in await world.store.read(preference_records, [guest], after(days=1))] == [
        "Call me Gus."
    ]


async def test_the_owner_is_one_person_on_all_platforms_but_not_in_a_group(world: MemoryWorld) -> None:
    phone = await world.open("telegram:1", "5", "owner")
    group = await world.open("telegram:1", "-9", "owner")
    await world.say("叫我小林", after(), where=phone)
    await world.say("别叫我小林了，叫我老林", after(days=1))
    for sender in ("owner", "somebody"):
        await world.store.write(_spoke, sender)

    assert await world.stated(after(days=2)) == ["别叫我小林了，叫我老林"]
    assert [one.text for one in (await world.ask("…", after(days=2), phone)).material.preferences] == [
        "别叫我小林了，叫我老林"
    ]
    assert (await world.ask("…", after(days=2), group)).material.preferences == ()


def _spoke(conn: Connection, sender: str) -> None:
    conn.execute(
        sql(
            "INSERT INTO events (trace, account, event_key, kind, chat, sender, body_hash, outcome, received_at_ms) "
            "VALUES (:sender, 'telegram:1', :sender, 'message', '-9', :sender, '', 'stranger', 0)"
        ),
        {"sender": sender},
    )
