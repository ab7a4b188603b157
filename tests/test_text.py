"""Promises of `core/text`: texts that mean the same get the same tokens, and no text can crash it."""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.text.normalise import normalise
from core.text.tokens import UNIGRAM_MARK, UNIGRAM_WEIGHT, index_tokens, query_tokens, query_weights


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("軟體著作權", "软体著作权"),
        ("ＡＢＣ　１２３", "abc 123"),
        ("Café NAÏVE", "cafe naive"),
        ("iPhone15", "iphone 15"),
        ("she bought children's books", "buy child book"),
        ("1,200", "1200"),
        ("don’t run", "don't runs"),
        ("soft\u00adware", "software"),
        ("喝\u200b咖啡", "喝咖啡"),
    ],
)
def test_texts_that_mean_the_same_have_the_same_tokens(one: str, other: str) -> None:
    assert index_tokens(one) == index_tokens(other)


def test_kana_keep_their_voicing() -> None:
    assert index_tokens("がか") != index_tokens("かか")


def test_a_single_chinese_character_can_be_asked_for() -> None:
    assert index_tokens("茶") == ["_茶"]
    assert query_tokens("茶") == ["_茶"]


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("我推荐过什么电影？", {"推荐", "电影"}),
        ("什么时候去北京", {"去北", "北京"}),
        ("她是谁", set()),
        ("你怎么学游泳的呢", {"学游", "游泳"}),
        ("那個人是誰", {"个人"}),
    ],
)
def test_what_only_makes_a_chinese_question_is_not_asked_for(question: str, subject: set[str]) -> None:
    pairs = {token for token in query_tokens(question) if not token.startswith(UNIGRAM_MARK)}

    assert subject <= pairs
    assert not any(set("什么怎谁") & set(token) for token in query_tokens(question))


def test_what_only_makes_an_english_question_is_not_asked_for() -> None:
    assert query_tokens("What did you say about when we were in Paris?") == ["say", "pari"]


def test_single_characters_weigh_little_beside_pairs_and_words() -> None:
    weights = query_weights("黑咖啡 espresso")

    assert weights["咖啡"] == weights["espresso"] == 1.0
    assert weights["_咖"] == UNIGRAM_WEIGHT < 1.0


def test_a_word_without_end_is_kept_to_its_first_characters() -> None:
    assert [len(token) for token in index_tokens("x" * 100_000)] == [64]
    assert [len(token) for token in index_tokens("7" * 100_000)] == [64]


def test_control_characters_and_lone_surrogates_do_no_harm() -> None:
    assert index_tokens("a\x00b \ud83d咖啡\udc00") == ["b", "咖啡", "_咖", "_啡"]
    assert normalise("\ud83d") == "\ufffd"


@given(st.text(st.characters(exclude_categories=())))
def test_every_text_gives_tokens_that_an_index_can_keep(text: str) -> None:
    for token in [*index_tokens(text), *query_tokens(text)]:
        assert token.split() == [token] and not token.startswith("@")
        token.encode()


@given(st.text())
def test_a_normalised_text_stays_as_it_is(text: str) -> None:
    assert index_tokens(normalise(text)) == index_tokens(text)


def test_threads_may_share_it() -> None:
    expected = index_tokens("她買了書 running quickly 著作權")
    seen: list[list[str]] = []
    threads = [
        threading.Thread(
            target=lambda: seen.extend(index_tokens("她買了書 running quickly 著作權") for _ in range(200))
        )
        for _ in range(4)
    ]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert seen == [expected] * 800
