"""The splitter's laws: within the limit, nothing lost, nothing torn, code blocks whole, few parts."""

import html
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import BadInput
from core.text.fences import open_fence
from core.text.graphemes import grapheme_ends
from core.text.split import MIN_LIMIT, Part, Unit, length_in, split

FAMILY = "👩‍👩‍👧‍👦"
PIECES = [
    "好", "，", "。", "今天跑了十二公里。", "word ", "A sentence. ", "\n", "\n\n", "\r\n", "\t", "  ", "x" * 30,
    "```python\n", "```\n", "\n```\n", "~~~\n", "````md\n", "`code` ", "```inline``` ",
    "https://example.org/a/b?c=d&e=%E4%BD%A0 ", "https://example.org/" + "p" * 90, "www.example.org，",
    FAMILY, "👍🏽", "🇨🇳🇯🇵", "e\u0301", "한국어", "각", "नमस्ते", "का", "<b>&amp;</b>", "\u2028", "\x0b",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=60).map("".join)
FORMATS: dict[str, Callable[[str], str]] = {"as it is": str, "escaped": html.escape}


def joined(parts: list[Part]) -> str:
    return "".join(part.body for part in parts)


def cuts(parts: list[Part]) -> list[int]:
    return [len(joined(parts[: number + 1])) for number in range(len(parts) - 1)]


@given(TEXTS, st.integers(MIN_LIMIT, 300), st.sampled_from(Unit), st.sampled_from(sorted(FORMATS)))
def test_the_laws_hold_for_any_text(text: str, limit: int, unit: Unit, name: str) -> None:
    formatted = FORMATS[name]

    parts = split(text, limit, unit, formatted)

    assert joined(parts) == text
    assert all(part.body for part in parts)
    assert all(length_in(unit, formatted(part.text)) <= limit for part in parts)
    assert all(open_fence(part.text) is None for part in parts[:-1])
    # A part is at least a third full, but for the room its fences take and for one long address or fence line.
    assert len(parts) <= 3 + 5 * length_in(unit, formatted(text)) // limit + text.count("http") + text.count("``")


LONGEST_FENCES = 64


@given(TEXTS, st.integers(150, 300), st.sampled_from(Unit))
def test_no_grapheme_is_torn_unless_it_alone_is_longer_than_a_part(text: str, limit: int, unit: Unit) -> None:
    ends = [0, *grapheme_ends(text)]
    longest = max((length_in(unit, text[start:end]) for start, end in pairwise(ends)), default=0)

    parts = split(text, limit, unit)

    assert set(cuts(parts)) <= set(ends) or longest > limit - LONGEST_FENCES


@given(st.integers(0, 400), st.integers(0, 400), st.integers(100, 300))
def test_an_address_that_fits_a_part_is_never_cut(before: int, after: int, limit: int) -> None:
    address = "https://example.org/journal/2026-03-05?from=chat#top"

    parts = split("好" * before + address + "好" * after, limit, Unit.CODE_POINTS)

    assert any(address in part.body for part in parts)


@pytest.mark.parametrize("grapheme", [FAMILY, "👍🏽", "🇨🇳", "e\u0301\u0323", "क्षि", "\u1112\u1161\u11ab"])
def test_a_run_of_graphemes_without_a_pause_is_cut_between_them(grapheme: str) -> None:
    parts = split("x" + grapheme * 200, 100, Unit.CODE_POINTS)

    assert parts[0].body == "x" + grapheme * (99 // len(grapheme))
    assert all(len(part.body) % len(grapheme) == 0 for part in parts[1:])


@pytest.mark.parametrize("text", ["", "好", "a" * 100, FAMILY * 10, "```\n" + "x" * 90])
def test_a_text_within_the_limit_is_one_part_as_it_is(text: str) -> None:
    assert [part.text for part in split(text, 100, Unit.CODE_POINTS)] == ([text] if text else [])


@pytest.mark.parametrize(("unit", "count"), [(Unit.CODE_POINTS, 100), (Unit.UTF16, 50), (Unit.BYTES, 25)])
def test_the_limit_is_in_the_platforms_unit(unit: Unit, count: int) -> None:
    parts = split("😀" * 150, 100, unit)

    assert len(parts[0].body) == count


def test_the_limit_is_measured_after_formatting() -> None:
    parts = split("<" * 100, 100, Unit.CODE_POINTS, html.escape)

    assert [len(part.body) for part in parts] == [25, 25, 25, 25]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a" * 60 + "\n\n" + "b" * 20 + "\n" + "c" * 60, "a" * 60 + "\n\n"),
        ("a" * 60 + "\r\n\r\n" + "b" * 60, "a" * 60 + "\r\n\r\n"),
        ("a" * 60 + "\n" + "b " * 60, "a" * 60 + "\n"),
        ("跑" * 60 + "。" + "步，" * 60, "跑" * 60 + "。"),
        ("One two. " * 30, "One two. " * 11),
        ("word " * 50, "word " * 20),
        ("跑" * 250, "跑" * 100),
        ("x" * 250, "x" * 100),
        ("a\n\n" + "x" * 250, "a\n\n" + "x" * 97),
        ("说“好。”" * 30, "说“好。”" * 20),
    ],
)
def test_a_cut_is_where_a_reader_would_pause(text: str, first: str) -> None:
    assert split(text, 100, Unit.CODE_POINTS)[0].body == first


def test_a_code_block_is_closed_and_opened_again_with_its_language() -> None:
    code = "".join(f"line_{number} = {number}\n" for number in range(20))

    parts = split(f"Look:\n```python\n{code}```\nDone.", 120, Unit.CODE_POINTS)

    assert len(parts) > 2
    for part in parts[1:-1]:
        assert part.text.startswith("```python\nline_") and part.text.endswith("\n```")
    assert parts[-1].text.endswith("```\nDone.")
    assert not any("```python\n```" in part.text for part in parts)


@pytest.mark.parametrize("fence", ["````", "~~~", "~~~~~"])
def test_a_block_is_closed_with_the_marks_it_was_opened_with(fence: str) -> None:
    inner = "```\nnot a fence of this block\n```\n" * 8

    parts = split(f"{fence}md\n{inner}{fence}\n", 100, Unit.CODE_POINTS)

    assert all(part.text.startswith(f"{fence}md\n") for part in parts)
    assert all(part.text.rstrip().endswith(f"\n{fence}") for part in parts)


def test_a_line_of_hundreds_of_marks_and_an_endless_language_do_not_break_the_limit() -> None:
    for text in ("`" * 500 + "\ncode\n" * 40, "```" + "x" * 500 + "\n" + "code\n" * 40):
        parts = split(text, 100, Unit.CODE_POINTS)

        assert joined(parts) == text
        assert all(len(part.text) <= 100 for part in parts)


def test_an_address_longer_than_a_part_is_cut_and_not_lost() -> None:
    text = "见 https://example.org/" + "a" * 300

    parts = split(text, 100, Unit.CODE_POINTS)

    assert joined(parts) == text


def test_a_grapheme_longer_than_a_part_is_cut_between_characters_and_not_lost() -> None:
    text = "e" + "\u0301" * 300

    parts = split(text, 100, Unit.CODE_POINTS)

    assert joined(parts) == text
    assert [len(part.body) for part in parts] == [100, 100, 100, 1]


@pytest.mark.parametrize(
    ("text", "graphemes"),
    [
        ("", []),
        ("ab", ["a", "b"]),
        ("a\r\nb", ["a", "\r\n", "b"]),
        ("\n\u0301", ["\n", "\u0301"]),
        (f"{FAMILY}好", [FAMILY, "好"]),
        ("👍🏽👍", ["👍🏽", "👍"]),
        ("🇨🇳🇯🇵🇰", ["🇨🇳", "🇯🇵", "🇰"]),
        ("\u1112\u1161\u11ab\u1100\u1173", ["\u1112\u1161\u11ab", "\u1100\u1173"]),
        ("한국", ["한", "국"]),
        ("가\u11a8", ["가\u11a8"]),
        ("क्षि", ["क्षि"]),
        ("❤️", ["❤️"]),
        ("1️⃣2", ["1️⃣", "2"]),
        ("🏴󠁧󠁢󠁥󠁮󠁧󠁿", ["🏴󠁧󠁢󠁥󠁮󠁧󠁿"]),
        ("ｶﾞ", ["ｶﾞ"]),
        ("葛󠄀城", ["葛󠄀", "城"]),
    ],
)
def test_a_grapheme_is_what_a_person_sees_as_one_character(text: str, graphemes: list[str]) -> None:
    ends = [0, *grapheme_ends(text)]

    assert [text[start:end] for start, end in pairwise(ends)] == graphemes


def test_half_a_character_is_refused_before_anything_is_cut() -> None:
    with pytest.raises(BadInput, match=r"U\+D83D at 2"):
        split("好 \ud83d", 100, Unit.UTF16)


def test_a_limit_too_small_and_too_many_parts_are_refused_with_their_figures() -> None:
    with pytest.raises(BadInput, match="63"):
        split("a", MIN_LIMIT - 1, Unit.BYTES)
    with pytest.raises(BadInput, match="3 parts of 100 bytes, 2 may be sent"):
        split("a" * 201, 100, Unit.BYTES, max_parts=2)

    assert len(split("a" * 200, 100, Unit.BYTES, max_parts=2)) == 2


def test_a_character_that_formatting_makes_longer_than_a_part_is_refused() -> None:
    with pytest.raises(BadInput, match="'b' alone"):
        split("ab", MIN_LIMIT, Unit.CODE_POINTS, lambda part: part.replace("b", "b" * 100))


def test_a_block_goes_on_without_its_fence_where_one_character_beside_it_is_too_long() -> None:
    text = "```\n" + "a" * 70 + "b" + "a" * 70

    parts = split(text, MIN_LIMIT, Unit.CODE_POINTS, lambda part: part.replace("b", "b" * 60))

    assert joined(parts) == text
    assert [part.opening for part in parts if "b" in part.body] == [""]


def test_a_part_of_nothing_but_space_says_so() -> None:
    parts = split("\n" * 150 + "a", 100, Unit.CODE_POINTS)

    assert [part.blank for part in parts] == [True, False]


def test_a_long_reply_is_cut_in_no_time() -> None:
    text = ("今天跑了十二公里。" * 20 + "\n\n```python\nx = 1\n```\n\n") * 60

    parts = split(text, 1_800, Unit.CODE_POINTS)

    assert joined(parts) == text
    assert len(parts) <= 10
