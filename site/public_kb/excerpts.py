"""Marks in search results, and the sentences of a passage that answer best. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate

from core.text.tokens import UNIGRAM_MARK, index_tokens

EXCERPT = 180
"""Characters of a search result's excerpt."""
QUOTED = 260
"""Characters an extractive answer quotes from one source."""

_SENTENCE = re.compile(r".+?(?:[。！？；]|[.!?](?=\s|$)|\n|$)[”」』\"']?", re.DOTALL)
_HAN = "\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+")


@dataclass(frozen=True)
class Marked:
    text: str
    marked: bool


def sentences(text: str) -> list[str]:
    """
    >>> sentences("水温很重要。先烫杯！ Wait 3.5 minutes. Drink.")
    ['水温很重要。', '先烫杯！', 'Wait 3.5 minutes.', 'Drink.']
    """
    return [found for piece in _SENTENCE.findall(text) if (found := piece.strip())]


def best_sentences(text: str, asked: Mapping[str, float], limit: int) -> str:
    """The run of whole sentences, within `limit` characters, that holds most of what was asked; at least one sentence."""
    all_of = sentences(text)
    if not all_of:
        return ""
    value = [worth(sentence, asked) for sentence in all_of]
    start = max(range(len(all_of)), key=lambda at: (value[at], -at))
    first, last = start, start
    while True:
        before = value[first - 1] if first > 0 else -1.0
        after = value[last + 1] if last + 1 < len(all_of) else -1.0
        grown = (first - 1, last) if before > after else (first, last + 1)
        if max(before, after) < 0 or len(_joined(all_of[grown[0] : grown[1] + 1])) > limit:
            return _joined(all_of[first : last + 1])
        first, last = grown


def excerpt(text: str, asked: Mapping[str, float], limit: int = EXCERPT) -> tuple[Marked, ...]:
    """The part of a text that matches best, with what matched marked."""
    return marked(quote(text, asked, limit), asked)


def quote(text: str, asked: Mapping[str, float], limit: int = QUOTED) -> str:
    """The words of a text that answer best, whole sentences unless one of them alone is longer than `limit`."""
    shown = best_sentences(text, asked, limit)
    return _around(shown, asked, limit) if len(shown) > limit else shown


def marked(text: str, asked: Mapping[str, float]) -> tuple[Marked, ...]:
    """
    >>> marked("黑咖啡 and coffees", {"咖啡": 1.0, "coffe": 1.0})
    (Marked(text='黑', marked=False), Marked(text='咖啡', marked=True), Marked(text=' and ', marked=False), Marked(text='coffees', marked=True))
    """
    flags = _flags(text, asked)
    pieces: list[Marked] = []
    for character, flag in zip(text, flags, strict=True):
        if pieces and pieces[-1].marked == flag:
            pieces[-1] = Marked(pieces[-1].text + character, flag)
        else:
            pieces.append(Marked(character, flag))
    return tuple(pieces)


def _flags(text: str, asked: Mapping[str, float]) -> list[bool]:
    """Which characters belong to a word, or to a pair of Chinese characters, that was asked for."""
    flags = [False] * len(text)
    words = list(_WORD.finditer(text))
    wanted = {token for token in asked if not token.startswith(UNIGRAM_MARK)}
    lone = {token for token in asked if token.startswith(UNIGRAM_MARK)} if not wanted else set()
    for at, word in enumerate(words):
        spans = [word.span()]
        if at + 1 < len(words) and words[at + 1].start() == word.end():
            spans.append((word.start(), words[at + 1].end()))
        for start, end in spans:
            if (wanted | lone) & set(index_tokens(text[start:end])):
                flags[start:end] = [True] * (end - start)
    return flags


def worth(sentence: str, asked: Mapping[str, float]) -> float:
    """How much of a question a text holds."""
    held = set(index_tokens(sentence))
    return sum(weight for token, weight in asked.items() if token in held)


def _around(text: str, asked: Mapping[str, float], limit: int) -> str:
    """A window of one long sentence with as many marks as can be."""
    sums = list(accumulate(_flags(text, asked), initial=0))
    start = max(range(len(text) - limit + 1), key=lambda at: (sums[at + limit] - sums[at], -at))
    return ("…" if start else "") + text[start : start + limit] + ("…" if start + limit < len(text) else "")


def _joined(pieces: list[str]) -> str:
    """Sentences side by side, with a space where one of them ends in Latin script."""
    text = ""
    for piece in pieces:
        text += (" " if text and text[-1].isascii() else "") + piece
    return text
