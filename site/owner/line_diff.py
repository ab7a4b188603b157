"""What changed between two texts, for the owner's eyes: by lines, and inside a changed line by words or characters.

Pure. The result is data; the template makes `ins` and `del` of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Kind = Literal["same", "gone", "new", "gap"]

CONTEXT = 2
"""Unchanged lines shown on each side of a change."""
FINE = 4_000
"""Characters up to which a changed passage is compared word by word: the comparison is quadratic."""
MOST_LINES = 3_000
"""Lines up to which two texts are compared line by line, for the same reason."""

# A Latin word, one Chinese character, or one other sign.
_WORD = re.compile(r"[A-Za-z0-9_'’]+|\s+|.", re.DOTALL)


@dataclass(frozen=True)
class Span:
    """A run of text that is the same in both, or only in the old one (`gone`), or only in the new one; `gap` is left out."""

    kind: Kind
    text: str


def compare(old: str, new: str) -> tuple[Span, ...]:
    """
    >>> [(span.kind, span.text) for span in compare("a cat\\nends", "a dog\\nends")]
    [('same', 'a '), ('gone', 'cat'), ('new', 'dog'), ('same', '\\nends')]
    >>> compare("x", "x")
    ()
    """
    if old == new:
        return ()
    before, after = _lines(old), _lines(new)
    if len(before) + len(after) > MOST_LINES:
        return _joined(iter((Span("gone", old), Span("new", new))))
    return _joined(_shortened(list(_by_line(before, after))))


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _by_line(before: list[str], after: list[str]) -> Iterator[Span]:
    for what, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        gone, new = "".join(before[a:b]), "".join(after[c:d])
        if what == "equal":
            yield Span("same", gone)
        elif what == "replace" and len(gone) + len(new) <= FINE:
            yield from _by_word(gone, new)
        else:
            yield from (Span("gone", gone), Span("new", new))


def _by_word(gone: str, new: str) -> Iterator[Span]:
    before, after = _WORD.findall(gone), _WORD.findall(new)
    for what, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            yield Span("same", "".join(before[a:b]))
        else:
            yield from (Span("gone", "".join(before[a:b])), Span("new", "".join(after[c:d])))


def _shortened(spans: list[Span]) -> Iterator[Span]:
    """Long unchanged passages keep the lines next to a change."""
    for index, span in enumerate(spans):
        lines = _lines(span.text)
        head = 0 if index == 0 else CONTEXT
        tail = 0 if index == len(spans) - 1 else CONTEXT
        if span.kind != "same" or len(lines) <= head + tail + 1:
            yield span
            continue
        yield Span("same", "".join(lines[:head]))
        yield Span("gap", "")
        yield Span("same", "".join(lines[len(lines) - tail :]))


def _joined(spans: Iterator[Span]) -> tuple[Span, ...]:
    """Without empty runs; neighbours of one kind are one run."""
    done: list[Span] = []
    for span in spans:
        if not span.text and span.kind != "gap":
            continue
        if done and done[-1].kind == span.kind:
            done[-1] = Span(span.kind, done[-1].text + span.text)
        else:
            done.append(span)
    return tuple(done)
