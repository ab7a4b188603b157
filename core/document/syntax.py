"""Which Markdown is understood: the parser, and the rules that are ours.

CommonMark without raw HTML (a tag is text), with tables, strike-through, `$math$`, `$$` blocks, `[^notes]`, and
directives: `:::name rest`, any lines, `:::`. Turning tokens into blocks is `reading`.

Ours because the ready-made ones fall short (probed on mdit-py-plugins 0.7.0):
emphasis   CommonMark leaves `**“你好”**世界` unmarked, since a letter follows punctuation. Here a Chinese, Japanese or
           Korean neighbour counts like a space, as a Chinese writer expects;
directive  the plugin fails on a quote that ends with an open fence;
notes      the plugin takes two minutes over 50,000 times `[^`; a label here has at most 64 characters;
math       the plugin reads the character before position 0 as the last one of the text.
"""

import re
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar, isWhiteSpace
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.state_inline import Delimiter
from mdit_py_plugins.dollarmath.index import math_block_dollar
from mdit_py_plugins.footnote.index import footnote_def

from core.errors import DocumentError

MAX_CHARACTERS = 200_000
"""A book chapter is 30,000. Prose takes 1 to 4 ms a kilobyte to read, 200,000 characters of nothing but
list items 9 s: callers read, write and render off the event loop."""
MAX_BRACKETS = 2_000
"""`[` in one paragraph: matching brackets is quadratic (50,000 of them take seconds)."""
_MAX_NESTING = 64
"""Tokens; a list takes two levels. Above `model.MAX_DEPTH` in any case, so that nothing is dropped unseen."""

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u303f\u3040-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\ufe30-\ufe4f\uff00-\uffef\U0001aff0-\U0001b16f\U0001f200-\U0001f2ff\U00020000-\U0003ffff]"
)
_OPENING = re.compile(r"(:{3,})[ \t]*([A-Za-z][A-Za-z0-9_-]*)(?:[ \t]+(.*))?$")
_NOTE = re.compile(r"\[\^([^\s\[\]]{1,64})\]")
_MATH = re.compile(r"\$(?![\s$])((?:\\.|[^\\$])+)(?<!\s)\$(?!\d)", re.DOTALL)


@lru_cache(maxsize=1)
def parser() -> MarkdownIt:
    """The one parser. It keeps no state between texts, so threads may share it."""
    md = MarkdownIt("commonmark", {"html": False, "maxNesting": _MAX_NESTING}).enable(["table", "strikethrough"])
    md.disable(["html_block", "html_inline"])
    md.block.ruler.before("fence", "directive", _directive, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    md.block.ruler.before("fence", "math_block", math_block_dollar(allow_labels=False, allow_blank_lines=True))
    md.block.ruler.before("reference", "footnote_def", footnote_def, {"alt": ["paragraph", "reference"]})
    md.inline.ruler.before("escape", "math_inline", _math)
    md.inline.ruler.after("image", "note", _note)
    md.inline.ruler.at("emphasis", _emphasis)
    md.inline.ruler.at("strikethrough", _strike)
    md.core.ruler.after("block", "bracket_limit", _limit_brackets)
    # An address stays as the author typed it; percent-encoding is the page's business.
    md.normalizeLink = _as_typed  # type: ignore[method-assign]
    md.normalizeLinkText = _as_typed  # type: ignore[method-assign,assignment]
    return md


def is_cjk(character: str) -> bool:
    """
    >>> [is_cjk(c) for c in "中、ｱ한a“"]
    [True, True, True, True, False, False]
    """
    return _CJK.match(character) is not None


def _as_typed(url: str) -> str:
    return url


def _limit_brackets(state: StateCore) -> None:
    for token in state.tokens:
        if token.type == "inline" and token.content.count("[") > MAX_BRACKETS:
            line = token.map[0] + 1 if token.map else 1
            raise DocumentError(f"the text at line {line} has more than {MAX_BRACKETS} «[»: put it into a code block")


def _directive(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    if state.is_code_block(start):
        return False
    opening = _OPENING.match(_line(state, start))
    if opening is None:
        return False
    if silent:
        return True
    colons, name, rest = opening.groups()
    last, closed = _closing(state, start, end, len(colons))
    state.line = last + closed
    token = state.push("directive", "", 0)
    token.info = name
    token.meta = {"rest": (rest or "").strip()}
    token.content = state.getLines(start + 1, last, state.sCount[start], False)
    token.map = [start, state.line]
    return True


def _closing(state: StateBlock, start: int, end: int, length: int) -> tuple[int, bool]:
    """The line of the closing colons, or the first line that belongs to it no more; and whether it was closed."""
    for number in range(start + 1, end):
        line = _line(state, number)
        if line and state.sCount[number] < state.blkIndent:
            return number, False
        if line.startswith(":::") and not state.is_code_block(number) and re.fullmatch(f":{{{length},}}\\s*", line):
            return number, True
    return end, False


def _line(state: StateBlock, number: int) -> str:
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _note(state: StateInline, silent: bool) -> bool:
    match = _NOTE.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("note", "", 0).content = match.group(1)
    state.pos = match.end()
    return True


def _math(state: StateInline, silent: bool) -> bool:
    match = _MATH.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    if not silent:
        state.push("math_inline", "", 0).content = match.group(1)
    state.pos = match.end()
    return True


def _emphasis(state: StateInline, silent: bool) -> bool:
    marker = state.src[state.pos]
    if silent or marker not in "*_":
        return False
    length = _run_length(state)
    can_open, can_close = _flanks(state, length)
    for _ in range(length):
        _push_delimiter(state, marker, length, can_open, can_close)
    state.pos += length
    return True


def _strike(state: StateInline, silent: bool) -> bool:
    if silent or state.src[state.pos] != "~":
        return False
    length = _run_length(state)
    if length < 2:
        return False
    can_open, can_close = _flanks(state, length)
    if length % 2:
        state.push("text", "", 0).content = "~"
    for _ in range(length // 2):
        _push_delimiter(state, "~~", 0, can_open, can_close)
    state.pos += length
    return True


def _run_length(state: StateInline) -> int:
    rest = state.src[state.pos : state.posMax]
    return len(rest) - len(rest.lstrip(state.src[state.pos]))


def _push_delimiter(state: StateInline, text: str, length: int, can_open: bool, can_close: bool) -> None:
    state.push("text", "", 0).content = text
    at = len(state.tokens) - 1
    delimiter = Delimiter(marker=ord(text[0]), length=length, token=at, end=-1, open=can_open, close=can_close)
    state.delimiters.append(delimiter)


def _flanks(state: StateInline, length: int) -> tuple[bool, bool]:
    """Whether a run of delimiters here may open and may close (CommonMark 6.2, with a CJK neighbour like a space)."""
    end = state.pos + length
    before = state.src[state.pos - 1] if state.pos else " "
    after = state.src[end] if end < state.posMax else " "
    left = not _is_space(after) and (not _is_punctuation(after) or _is_border(before))
    right = not _is_space(before) and (not _is_punctuation(before) or _is_border(after))
    if state.src[state.pos] != "_":
        return left, right
    return left and (not right or _is_punctuation(before)), right and (not left or _is_punctuation(after))


def _is_border(character: str) -> bool:
    return _is_space(character) or _is_punctuation(character) or is_cjk(character)


def _is_space(character: str) -> bool:
    return isWhiteSpace(ord(character))


def _is_punctuation(character: str) -> bool:
    return isMdAsciiPunct(ord(character)) or isPunctChar(character)
