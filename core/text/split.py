"""Cutting a reply into parts that a platform takes, at places where a reader would pause.

The laws, each of which has a property test:

1. Every part, formatted and measured in the platform's unit, is within the limit.
2. The bodies joined give back the text, character for character.
3. No cut is inside a grapheme or an address, unless that alone is longer than a part.
4. A code block that is cut is closed at the end of a part and opened again in the next; every part is whole Markdown.
5. The number of parts is bounded by the length: a cut leaves no part emptier than a third without need.

What a platform's markup looks like is the channel's knowledge, so the formatting comes in as a function.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from ..errors import BadInput
from .fences import Fence, fence_lines, open_fence
from .graphemes import grapheme_ends

MIN_LIMIT = 64
"""Below this a reopened code block would leave no room for the code."""


class Unit(StrEnum):
    CODE_POINTS = "code_points"
    UTF16 = "utf16"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class Part:
    """`text` is what is sent; `body` is its piece of the original, without the fences added around it."""

    body: str
    opening: str = ""
    closing: str = ""

    @property
    def text(self) -> str:
        return self.opening + self.body + self.closing

    @property
    def blank(self) -> bool:
        """Nothing but space: platforms refuse to send it, and nobody misses it."""
        return not self.text.strip()


class _Pause(IntEnum):
    """How good a place is for a cut, better ones above."""

    INSIDE_GRAPHEME = 0
    INSIDE_ADDRESS_OR_FENCE = 1
    GRAPHEME = 2
    WORD = 3
    SENTENCE = 4
    LINE = 5
    PARAGRAPH = 6


# How full a part must be for a cut at such a pause to be worth it: else the next worse pause is tried.
_WORTH = {
    _Pause.PARAGRAPH: 0.5,
    _Pause.LINE: 0.4,
    _Pause.SENTENCE: 0.4,
    _Pause.WORD: 0.34,
    _Pause.GRAPHEME: 0.0,
    _Pause.INSIDE_ADDRESS_OR_FENCE: 0.0,
}

_PAUSES = (
    (_Pause.WORD, re.compile(r"[ \t\u3000]+|[，、：]")),
    (_Pause.SENTENCE, re.compile(r"[.!?…]+[\"”’)]*[ \t]+|[。！？；…]+[”’」』）]*")),
    (_Pause.LINE, re.compile(r"\r\n|\n|\r")),
    (_Pause.PARAGRAPH, re.compile(r"(?:\r\n|\n|\r)(?:[ \t]*(?:\r\n|\n|\r))+")),
)
_ADDRESS = re.compile(r"(?:https?://|www\.)[!#-;=?-_a-z~]+", re.IGNORECASE)


def length_in(unit: Unit, text: str) -> int:
    """
    >>> [length_in(unit, "好😀") for unit in Unit]
    [2, 3, 7]
    """
    if unit is Unit.CODE_POINTS:
        return len(text)
    return len(text.encode("utf-16-le")) // 2 if unit is Unit.UTF16 else len(text.encode())


def split(
    text: str,
    limit: int,
    unit: Unit,
    formatted: Callable[[str], str] = str,
    max_parts: int | None = None,
) -> list[Part]:
    """The parts of a reply, in order; none for an empty text.

    `formatted` gives the form in which a part goes over the wire; it is measured, not stored. BadInput for a lone
    surrogate, which no platform takes, for a limit too small, and when more than `max_parts` would be needed.
    """
    _check(text, limit)
    cutter = _Cutter(text, lambda part: length_in(unit, formatted(part)) <= limit)
    parts = cutter.parts()
    if max_parts is not None and len(parts) > max_parts:
        raise BadInput(f"the text needs {len(parts)} parts of {limit} {unit}, {max_parts} may be sent: shorten it")
    return parts


def _check(text: str, limit: int) -> None:
    if limit < MIN_LIMIT:
        raise BadInput(f"a limit of {limit} is too small to cut a text for: {MIN_LIMIT} or more are needed")
    torn = re.search("[\ud800-\udfff]", text)
    if torn is not None:
        raise BadInput(f"the text holds half a character (U+{ord(torn[0]):04X} at {torn.start()}): decode it again")


class _Cutter:
    def __init__(self, text: str, fits: Callable[[str], bool]) -> None:
        self.text = text
        self.fits = fits
        self.pauses = _pauses(text)

    def parts(self) -> list[Part]:
        parts: list[Part] = []
        start, fence = 0, None
        while start < len(self.text):
            part = self._part(start, fence.opening if fence else "")
            parts.append(part)
            start += len(part.body)
            fence = open_fence(part.opening + part.body) if start < len(self.text) else None
        return parts

    def _part(self, start: int, opening: str) -> Part:
        rest = Part(self.text[start:], opening)
        if self.fits(rest.text):
            return rest
        end = self._furthest(start, opening)
        while end > start:
            cut = self._best_cut(start, end)
            part = self._piece(start, cut, opening)
            if self.fits(part.text):
                return part
            end = cut - 1
        if opening:
            # Not even one character fits beside the fence: let the block go on without it.
            return self._part(start, "")
        raise BadInput(f"{self.text[start]!r} alone is over the limit once it is formatted: raise the limit")

    def _piece(self, start: int, end: int, opening: str) -> Part:
        body = self.text[start:end]
        fence: Fence | None = open_fence(opening + body)
        return Part(body, opening, fence.closing_after(body) if fence else "")

    def _furthest(self, start: int, opening: str) -> int:
        """The last end that fits, found by halving; formatting may bend the curve, so the caller looks once more."""
        low, high = start, len(self.text)
        while low < high:
            middle = (low + high + 1) // 2
            if self.fits(self._piece(start, middle, opening).text):
                low = middle
            else:
                high = middle - 1
        return max(low, start + 1)

    def _best_cut(self, start: int, end: int) -> int:
        for pause, worth in _WORTH.items():
            lowest = start + int((end - start) * worth)
            for cut in range(end, lowest, -1):
                if self.pauses[cut] >= pause:
                    return cut
        return end


def _pauses(text: str) -> list[_Pause]:
    """For every index of the text how good a cut before it is."""
    pauses = [_Pause.INSIDE_GRAPHEME] * (len(text) + 1)
    for index in grapheme_ends(text):
        pauses[index] = _Pause.GRAPHEME
    for pause, pattern in _PAUSES:
        for match in pattern.finditer(text):
            if pauses[match.end()] is not _Pause.INSIDE_GRAPHEME:
                pauses[match.end()] = pause
    for start, end in _kept_whole(text):
        for index in range(start, end):
            pauses[index] = min(pauses[index], _Pause.INSIDE_ADDRESS_OR_FENCE)
    return pauses


def _kept_whole(text: str) -> Iterator[tuple[int, int]]:
    """Ranges of indexes before which there should be no cut: in addresses, and where a block would be left empty."""
    for match in _ADDRESS.finditer(text):
        yield match.start() + 1, match.end()
    for line in fence_lines(text):
        yield (line.start + 1, line.next_start + 1) if line.opened else (line.start, line.end)
