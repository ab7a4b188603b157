"""Promises of `bridge/memory/recall.py`: the right old words in zh and en, nobody else's, none from the future."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.memory.dates import named_days
from bridge.memory.question import MOST_CLAUSES, clauses
from bridge.memory.recall import MessageFact, Recalled, RecallQuery, recall
from bridge.memory.sessions import SILENCE_MS, is_question, message_entry, starts_session
from core.clock import Instant, instant_of
from core.lexical.entry import Entry
from core.lexical.index import LexicalIndex, prepare_rebuild, swap_rebuilt

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2024, 5, 8, 12, tzinfo=SHANGHAI)

TALK = [
    ("2024-05-01 09:00", "我昨天去看了莫奈的画展，人特别多"),
    ("2024-05-01 09:01", "听起来很棒！你最喜欢哪一幅？"),
    ("2024-05-01 09:02", "睡莲，站了半个小时"),
    ("2024-05-02 20:00", "I adopted a grey cat from the shelter"),
    ("2024-05-02 20:01", "What name did you give her?"),
    ("2024-05-02 20:02", "Her name is Biscuit"),
    ("2024-05-06 21:00", "今天读了一本书，叫《活着》"),
    ("2024-05-06 21:01", "余华写得很克制"),
    ("2024-05-07 08:00", "妈妈的生日是九月十二日，别让我忘了"),
    ("2024-05-07 08:01", "好的，记下了"),
]


class Chat:
    """One conversation in an index, with the facts that the bridge's store would give."""

    def __init__(self, index: LexicalIndex, scope: str = "1", first_id: int = 1) -> None:
        self.index, self.scope, self.next_id = index, scope, first_id
        self.facts: dict[int, MessageFact] = {}
        self.texts: dict[int, str] = {}

    def say(self, at: str, text: str) -> int:
        moment = instant_of(datetime.fromisoformat(at).replace(tzinfo=SHANGHAI))
        before = max(self.facts, default=None)
        new = before is None or starts_session(self.facts[before].at, moment)
        session = self.next_id if new or before is None else self.facts[before].session
        if before is not None:
            self.facts[before] = replace(self.facts[before], next=self.next_id)
        fact = MessageFact(self.next_id, before, None, session, moment, is_question(text), person=True)
        self.facts[fact.id], self.texts[fact.id] = fact, text
        self.index.add(self.entry(fact.id))
        self.next_id += 1
        return fact.id

    def entry(self, at: int) -> Entry:
        fact = self.facts[at]
        return message_entry(
            seq=at, message_id=at, scope=self.scope, name="", text=self.texts[at], at=fact.at, zone=SHANGHAI,
            session=fact.session, person=True,
        )  # fmt: skip

    def of(self, ids: Sequence[int]) -> Mapping[int, MessageFact]:
        return {at: self.facts[at] for at in ids if at in self.facts}

    def recall(self, text: str, **changes: object) -> Recalled:
        query = RecallQuery(text, self.scope, instant_of(NOW), SHANGHAI)
        return recall(self.index, self, replace(query, **changes))  # type: ignore[arg-type]

    def best(self, text: str, **changes: object) -> str:
        return self.texts[self.recall(text, **changes).hits[0].id]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LexicalIndex]:
    opened = LexicalIndex.open(tmp_path / "index", writable=True)
    yield opened
    opened.close()


@pytest.fixture
def chat(index: LexicalIndex) -> Chat:
    chat = Chat(index)
    for at, text in TALK:
        chat.say(at, text)
    return chat


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("我媽媽的生日是哪天？", "妈妈的生日是九月十二日，别让我忘了"),
        ("Which animal did I adopt?", "I adopted a grey cat from the shelter"),
        ("ＣＡＴ　ＳＨＥＬＴＥＲ", "I adopted a grey cat from the shelter"),
        ("5月6号我读了什么书？", "今天读了一本书，叫《活着》"),
    ],
)
def test_the_words_asked_for_are_found(chat: Chat, question: str, answer: str) -> None:
    assert chat.best(question) == answer


def test_an_answer_without_a_word_of_the_question_comes_with_its_question(chat: Chat) -> None:
    hits = chat.recall("What name did I give my cat?").hits

    assert "Her name is Biscuit" in [chat.texts[hit.id] for hit in hits[:3]]
    answer = next(hit for hit in hits if chat.texts[hit.id] == "Her name is Biscuit")
    assert answer.parts["previous"] > 0


@pytest.mark.parametrize("asked", ["5月6号我们聊了什么？", "前天我们聊了什么？", "what did we talk about on May 6?"])
def test_a_named_day_brings_what_was_said_on_it(chat: Chat, asked: str) -> None:
    days = [chat.facts[hit.id].at for hit in chat.recall(asked).hits[:2]]

    assert [datetime.fromtimestamp(at / 1000, SHANGHAI).date() for at in days] == [date(2024, 5, 6)] * 2


def test_a_day_without_a_year_is_the_latest_one_with_talk(chat: Chat) -> None:
    later = instant_of(datetime(2026, 7, 1, tzinfo=SHANGHAI))

    assert chat.best("5月6号我读了什么书？", at=later) == "今天读了一本书，叫《活着》"


def test_a_follow_up_borrows_from_the_message_before_it(chat: Chat) -> None:
    previous = ("I went to the shelter to adopt a cat",)

    assert chat.recall("那后来呢？").nothing_found
    assert chat.best("那后来呢？", previous=previous) == "I adopted a grey cat from the shelter"


def test_a_new_subject_does_not_stick_to_the_one_before(chat: Chat) -> None:
    assert "生日" in chat.best("妈妈的生日是哪天？", previous=("adopted a grey cat from the shelter",))


def test_each_question_of_a_message_gets_its_answer(chat: Chat) -> None:
    hits = chat.recall("今天下雨了，人很多。妈妈的生日是哪天？I adopted a cat when?").hits

    found = {chat.texts[hit.id] for hit in hits[:3]}
    assert {"妈妈的生日是九月十二日，别让我忘了", "I adopted a grey cat from the shelter"} <= found


@pytest.mark.parametrize(
    "asked", ["量子计算机的误差率是多少？", "How tall is the Eiffel tower?", "", "？", "😀", "\ud83d"]
)
def test_what_was_never_said_is_not_found(chat: Chat, asked: str) -> None:
    recalled = chat.recall(asked)

    assert recalled.nothing_found and recalled.hits == ()


@pytest.mark.parametrize("commit", [False, True])
def test_one_person_never_recalls_the_words_of_another(chat: Chat, index: LexicalIndex, commit: bool) -> None:
    other = Chat(index, scope="2", first_id=500)
    other.say("2024-05-06 21:00", "我的银行密码是蓝色大象")
    if commit:
        index.commit()

    for asked in ("银行密码是什么？", "5月6号我们聊了什么？", "那后来呢？"):
        hits = chat.recall(asked, previous=("银行密码",)).hits
        assert all(hit.id < 500 for hit in hits)
    assert other.best("银行密码是什么？") == "我的银行密码是蓝色大象"


def test_nothing_later_than_the_message_being_answered_is_used(chat: Chat) -> None:
    asking = chat.say("2024-05-08 12:00", "我的猫叫什么名字？")
    after = chat.say("2024-05-08 12:05", "猫的名字是 Biscuit 猫的名字")

    by_id = {hit.id for hit in chat.recall("猫的名字是什么？", before_id=asking, limit=50).hits}
    by_time = {hit.id for hit in chat.recall("猫的名字是什么？", limit=50).hits}

    assert not {asking, after} & by_id
    assert after not in by_time


def test_what_the_context_holds_already_is_not_recalled_again(chat: Chat) -> None:
    first = chat.recall("妈妈的生日是哪天？").hits[0].id

    again = chat.recall("妈妈的生日是哪天？", known=frozenset({first}))

    assert first not in {hit.id for hit in again.hits}


def test_a_message_deleted_from_the_store_is_not_recalled(chat: Chat) -> None:
    gone = chat.recall("妈妈的生日是哪天？").hits[0].id
    del chat.facts[gone]

    assert gone not in {hit.id for hit in chat.recall("妈妈的生日是哪天？").hits}


def test_the_limit_is_kept_and_the_parts_add_up_to_the_score(chat: Chat) -> None:
    hits = chat.recall("5月6号我读了什么书？", limit=3).hits

    assert len(hits) == 3
    for hit in hits:
        assert sum(hit.parts.values()) == pytest.approx(hit.score)


def test_tail_commit_and_rebuild_recall_the_same(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = LexicalIndex.open(path, writable=True)
    chat = Chat(index)
    for at, text in TALK * 3:
        chat.say(at, text)

    def found() -> list[tuple[int, float]]:
        asked = ["妈妈的生日？", "cat name?", "5月6号我读了什么书？", "画展里睡莲怎么样？昨天呢？"]
        return [(hit.id, round(hit.score, 3)) for text in asked for hit in chat.recall(text).hits]

    in_the_tail = found()
    index.commit()
    committed = found()
    index.close()
    prepare_rebuild(path, [chat.entry(at) for at in chat.facts])
    swap_rebuilt(path)
    chat.index = LexicalIndex.open(path, writable=False)

    assert in_the_tail == committed == found()


def test_a_pasted_page_is_asked_for_within_bounds(chat: Chat) -> None:
    page = "妈妈的生日 " + " ".join(f"word{number}" for number in range(20_000))

    assert chat.recall(page).hits == chat.recall(page[:4000]).hits


@given(st.text(st.characters(exclude_categories=())), st.dates(date(1, 1, 1), date(9999, 12, 31)))
def test_any_text_names_only_days_that_exist_and_are_past(text: str, today: date) -> None:
    for named in named_days(text, today):
        assert 1 <= named.first <= named.last
        assert named.first <= today.toordinal()


@pytest.mark.parametrize(
    ("text", "first", "count"),
    [
        ("五月六號", "2024-05-06", 1),
        ("2023年12月31日", "2023-12-31", 1),
        ("２０２４-０５-０１", "2024-05-01", 1),
        ("二月二十九日", "2024-02-29", 1),
        ("十二月", "2023-12-01", 31),
        ("上周三", "2024-05-01", 1),
        ("周三", "2024-05-01", 1),
        ("这周一", "2024-05-06", 1),
        ("上上周五", "2024-04-26", 1),
        ("三天前", "2024-05-05", 1),
        ("大前天", "2024-05-05", 1),
        ("5号", "2024-05-05", 1),
        ("31号", "2024-03-31", 1),
        ("上个月", "2024-04-01", 30),
        ("yesterday", "2024-05-07", 1),
        ("the day before yesterday", "2024-05-06", 1),
        ("last Friday", "2024-05-03", 1),
        ("on Monday", "2024-05-06", 1),
        ("two weeks ago", "2024-04-22", 5),
        ("last weekend", "2024-05-04", 2),
        ("6th of May, 2022", "2022-05-06", 1),
        ("in June", "2023-06-01", 30),
    ],
)
def test_named_days_are_resolved_on_the_owners_calendar(text: str, first: str, count: int) -> None:
    [named] = named_days(text, date(2024, 5, 8))

    assert (date.fromordinal(named.first).isoformat(), named.count) == (first, count)


@pytest.mark.parametrize(
    "text",
    [
        "明天",
        "13月5日",
        "2月30日",
        "0月0日",
        "0号",
        "9999-99-99",
        "三个月",
        "我住3号楼",
        "坐5号线",
        "may I?",
        "sun",
        "march on",
    ],
)
def test_what_is_no_past_day_names_none(text: str) -> None:
    assert named_days(text, date(2024, 5, 8)) == ()


def test_a_session_ends_after_three_hours_of_silence() -> None:
    assert starts_session(None, Instant(0))
    assert not starts_session(Instant(0), Instant(SILENCE_MS - 1))
    assert starts_session(Instant(0), Instant(SILENCE_MS))


def test_at_most_three_questions_of_a_message_are_asked() -> None:
    assert len(clauses("what? " * 50)) == MOST_CLAUSES
