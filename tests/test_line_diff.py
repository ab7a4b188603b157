"""What changed between two texts."""

from hypothesis import given
from hypothesis import strategies as st

from website.owner.line_diff import MOST_LINES, compare

TEXTS = st.lists(st.sampled_from(["a cat\n", "a dog\n", "一只猫\n", "\n", "end", "x " * 40 + "\n"]), max_size=14).map(
    "".join
)


def side(old: str, new: str, without: str) -> str:
    return "".join(span.text for span in compare(old, new) if span.kind != without)


@given(TEXTS, TEXTS)
def test_the_changed_words_are_all_there_and_in_order(old: str, new: str) -> None:
    spans = compare(old, new)

    if not any(span.kind == "gap" for span in spans) and old != new:
        assert side(old, new, "new") == old
        assert side(old, new, "gone") == new
    assert (old == new) == (spans == ())


def test_only_the_characters_that_differ_are_marked_in_chinese() -> None:
    spans = compare("今天去看了老桥。", "昨天去看了老桥。")

    assert [(span.kind, span.text) for span in spans] == [("gone", "今"), ("new", "昨"), ("same", "天去看了老桥。")]


def test_a_long_unchanged_passage_shrinks_to_the_lines_beside_a_change() -> None:
    lines = [f"line {number}\n" for number in range(100)]

    spans = compare("".join(lines), "".join([*lines[:50], "inserted\n", *lines[50:]]))

    assert [span.kind for span in spans] == ["gap", "same", "new", "same", "gap"]
    assert spans[1].text == "line 48\nline 49\n" and spans[3].text == "line 50\nline 51\n"


def test_texts_too_long_to_compare_are_shown_whole() -> None:
    spans = compare("a\n" * MOST_LINES, "b\n" * MOST_LINES)

    assert [span.kind for span in spans] == ["gone", "new"]
