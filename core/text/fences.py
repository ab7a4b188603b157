"""Fenced code blocks of Markdown, as far as cutting a text needs them: which block is open where a piece ends.

The rules are CommonMark's: up to three spaces, then three or more backticks or tildes; a block is closed by a line of
the same character, at least as long, with nothing after it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_OPENING = re.compile(r" {0,3}(?:(`{3,})([^`]*)|(~{3,})(.*))")
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\n|\r|$)")
_LONGEST_FENCE = 20
_LONGEST_INFO = 20


@dataclass(frozen=True, slots=True)
class Fence:
    marks: str
    info: str

    @property
    def opening(self) -> str:
        """The line that opens the block again in the next piece; a long info string is left out."""
        return f"{self.marks}{self.info if len(self.info) <= _LONGEST_INFO else ''}\n"

    def closing_after(self, piece: str) -> str:
        return self.marks if piece.endswith(("\n", "\r")) else f"\n{self.marks}"


@dataclass(frozen=True, slots=True)
class FenceLine:
    """A line that opens or closes a block: from `start` to `end`, its line break after that up to `next_start`."""

    start: int
    end: int
    next_start: int
    opened: Fence | None


def fence_lines(text: str) -> Iterator[FenceLine]:
    fence: Fence | None = None
    # Not splitlines(): it also breaks at characters that end no line in Markdown.
    for line in _LINE.finditer(text):
        if fence is None:
            fence = _opened(line[1])
            if fence is not None:
                yield FenceLine(line.start(), line.end(1), line.end(), fence)
        elif _closes(line[1], fence):
            fence = None
            yield FenceLine(line.start(), line.end(1), line.end(), None)


def open_fence(piece: str) -> Fence | None:
    r"""The block that is still open at the end of a piece.

    >>> open_fence("a\n```python\nx = 1")
    Fence(marks='```', info='python')
    >>> open_fence("```\nx\n```") is None
    True
    """
    fence: Fence | None = None
    for line in fence_lines(piece):
        fence = line.opened
    return fence


def _opened(line: str) -> Fence | None:
    match = _OPENING.fullmatch(line)
    if match is None:
        return None
    marks, info = (match[1], match[2]) if match[1] else (match[3], match[4])
    # A fence of hundreds of marks could not be repeated within a limit: it is left as the text it looks like.
    return Fence(marks, info.strip()) if len(marks) <= _LONGEST_FENCE else None


def _closes(line: str, fence: Fence) -> bool:
    mark = re.escape(fence.marks[0])
    return re.fullmatch(rf" {{0,3}}{mark}{{{len(fence.marks)},}}[ \t]*", line) is not None
