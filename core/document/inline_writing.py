"""Rich text to Markdown: the natural spelling, escaped no more than needed.

It does not promise that every text reads back (marks that begin inside a word and overlap have no Markdown); `writing`
reads the result and falls back to a `:::block`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from .model import Link, Run

Emphasis = Literal["*", "_"]

_SPECIAL = re.compile(
    r"[\\`*\[\]$]"  # always
    r"|(?<![0-9A-Za-z])_|_(?![0-9A-Za-z])"  # not in snake_case
    r"|~(?=~|$)|(?<=~)~|^~|!$"  # where a neighbour could make it a mark or an image
    r"|<(?![\s=])"  # an address in angle brackets
    r"|&(?=#?[0-9A-Za-z]{1,32};)"
)
_LINE_START = re.compile(
    r"\A(?:(?P<sign>#(?=#{0,5}(?:\s|$))|[-+](?![0-9A-Za-z])|[=>:|])"
    r"|\d{1,9}(?=[.)](?:\s|$))"  # a backslash goes before what follows
    r"|\[\^[^\s\[\]]{1,64}\](?=:))"
)
_ENTITY = re.compile(r"&(?=#?[0-9A-Za-z]{1,32};)")
_PLAIN_ADDRESS = re.compile(r"[^\s<>()\\\x00-\x1f\x7f]+")
_AUTOLINK = re.compile(r"https?://[^\s<>\x00-\x1f\x7f]*")


def write_text(runs: Sequence[Run], emphasis: Emphasis = "*") -> str:
    """A paragraph's text: line breaks become a backslash at the line's end.

    >>> write_text([Run(text="1. see "), Run(text="C*", bold=True), Run(text="\\n# no heading")])
    '1\\\\. see **C\\\\***\\\\\\n\\\\# no heading'
    """
    lines = _guard_ends(_spans(runs, emphasis).replace("\n", "\\\n")).split("\n")
    return "\n".join(_LINE_START.sub(_escape_start, _guard_start(line), count=1) if line else line for line in lines)


def write_line(runs: Sequence[Run], emphasis: Emphasis = "*") -> str:
    """The text of a heading or a cell, which stay on one line."""
    return _guard_ends(_spans(runs, emphasis).replace("\n", "&#10;"))


def write_image(alt: str, image: Link) -> str:
    return f"![{_escape(alt)}]({_target(image)})"


@dataclass(frozen=True, slots=True)
class _Mark:
    of: Callable[[Run], object]
    without: dict[str, object]


_MARKS = (
    _Mark(lambda run: run.link, {"link": None}),
    _Mark(lambda run: run.bold, {"bold": False}),
    _Mark(lambda run: run.italic, {"italic": False}),
    _Mark(lambda run: run.strike, {"strike": False}),
)


def _spans(runs: Sequence[Run], emphasis: Emphasis) -> str:
    """Flat runs as nested marks: at each place the mark that lasts longest goes outermost."""
    parts = []
    start = 0
    while start < len(runs):
        length, mark = max(((_reach(runs, start, m), m) for m in _MARKS), key=lambda pair: pair[0])
        if length == 0:
            parts.append(_leaf(runs[start]))
            start += 1
            continue
        covered = runs[start : start + length]
        inner = [run.model_copy(update=mark.without) for run in covered]
        parts.append(_marked(covered[0], mark, inner, emphasis))
        start += length
    return "".join(parts)


def _reach(runs: Sequence[Run], start: int, mark: _Mark) -> int:
    value = mark.of(runs[start])
    end = start
    while value and end < len(runs) and mark.of(runs[end]) == value:
        end += 1
    return end - start


def _marked(first: Run, mark: _Mark, inner: Sequence[Run], emphasis: Emphasis) -> str:
    if "link" in mark.without:
        assert first.link is not None
        return _linked(first.link, inner, emphasis)
    sign = {"bold": "**", "italic": emphasis, "strike": "~~"}[next(iter(mark.without))]
    return sign + _guard_ends(_spans(inner, emphasis)) + sign


def _linked(link: Link, inner: Sequence[Run], emphasis: Emphasis) -> str:
    bare = not link.title and len(inner) == 1 and inner[0] == Run(text=link.href)
    if bare and _AUTOLINK.fullmatch(link.href):
        return f"<{link.href}>"
    return f"[{_spans(inner, emphasis)}]({_target(link)})"


def _leaf(run: Run) -> str:
    match run.kind:
        case "code":
            return _code(run.text)
        case "math":
            return f"${run.text}$"
        case "note":
            return f"[^{run.text}]"
        case "image":
            assert run.image is not None
            return write_image(run.text, run.image)
    return _escape(run.text)


def _escape(text: str) -> str:
    return _SPECIAL.sub(lambda found: "\\" + found.group(), text)


def _code(text: str) -> str:
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    spaced = text.startswith(" ") and text.endswith(" ") and bool(text.strip(" "))
    pad = " " if spaced or text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _target(link: Link) -> str:
    address = _ENTITY.sub("&amp;", link.href)
    if not _PLAIN_ADDRESS.fullmatch(link.href):
        address = "<" + re.sub(r"([\\<>])", r"\\\1", address) + ">"
    if not link.title:
        return address
    title = re.sub(r'([\\"])', r"\\\1", _ENTITY.sub("&amp;", link.title))
    return f'{address} "{title}"'


def _guard_ends(written: str) -> str:
    """Keeps white space and line breaks at the ends from being stripped: the outermost one is spelled as an entity."""
    written = re.sub(r"\A\\\n", "&#10;", written)
    written = re.sub(r"\\\n\Z", "&#10;", written)
    if written and written[-1].isspace():
        written = f"{written[:-1]}&#{ord(written[-1])};"
    return _guard_start(written)


def _guard_start(line: str) -> str:
    return f"&#{ord(line[0])};{line[1:]}" if line and line[0].isspace() else line


def _escape_start(found: re.Match[str]) -> str:
    return f"\\{found['sign']}" if found["sign"] else f"{found.group()}\\"
