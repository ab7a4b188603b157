"""What in a draft the owner should look at before it is public: long runs of the chat as it was said, and things that
look like a phone number, an address, a key, a card or an identity number.

Pure, and a help only: it finds shapes, not secrets. It warns; whether a text is published is the owner's decision.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["verbatim", "phone", "mail", "place", "key", "card", "identity"]

GRAM = 16
"""Characters, spaces apart, from which on a run is followed."""
LONG = 60
"""Weight from which on a run is told: a Chinese character weighs 3, any other 1."""
MOST = 12

_SHAPES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("key", re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:sk|pk|ghp|gho|xox[abp])[-_][A-Za-z0-9_-]{16,}|\bAKIA[A-Z0-9]{16}\b")),
    ("key", re.compile(r"(?i)\b(?:password|passwd|token|secret|api[ _-]?key)\b\s*(?:is|[:=])\s*\S{4,}|(?:密码|口令|密钥)\s*(?:是|为|[:：])\s*\S{4,}")),
    ("key", re.compile(r"\b(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Z])(?=[A-Za-z0-9_-]*[a-z])[A-Za-z0-9_-]{28,}\b")),
    ("mail", re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\b")),
    ("identity", re.compile(r"(?<!\d)\d{6}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?!\d)")),
    ("card", re.compile(r"(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)")),
    ("phone", re.compile(r"(?<![\d.])1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\d)|\+\d{1,3}[ -]?(?:\(?\d{1,4}\)?[ -]?){2,5}\d{2,}|(?<!\d)\(?0\d{2,4}\)?[ -]\d{6,8}(?!\d)")),
    ("place", re.compile(r"[\u4e00-\u9fff]{2,12}(?:路|街|巷|弄|大道|胡同)\s?\d{1,5}\s?(?:号|弄)(?:[\u4e00-\u9fff\d-]{0,12}(?:室|楼|单元|栋))?|[\u4e00-\u9fff]{2,10}小区\d{1,3}(?:栋|号楼|幢)")),
    ("place", re.compile(r"\b\d{1,5} (?:[A-Z][a-z]+ ){1,3}(?:Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Square|Boulevard|Blvd)\b")),
)  # fmt: skip


@dataclass(frozen=True)
class Leak:
    kind: Kind
    words: str


def leaks(text: str, talk: Iterable[str]) -> tuple[Leak, ...]:
    """At most `MOST`, shapes first, each once.

    >>> leaks("Call 138 0013 8000 about it.", [])
    (Leak(kind='phone', words='138 0013 8000'),)
    >>> leaks("On 2026-03-14 we walked 12,000 steps.", ["We walked."])
    ()
    """
    found = dict.fromkeys((*_shapes(text), *(Leak("verbatim", run) for run in _runs(text, talk))))
    return tuple(found)[:MOST]


def _shapes(text: str) -> Iterator[Leak]:
    taken: list[tuple[int, int]] = []
    for kind, pattern in _SHAPES:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < after and before < end for before, after in taken):
                continue
            if kind == "card" and not _is_card(match[0]):
                continue
            taken.append((start, end))
            yield Leak(kind, match[0])


def _is_card(words: str) -> bool:
    """The check digit of payment cards (Luhn, ISO/IEC 7812)."""
    digits = [int(sign) for sign in words if sign.isdigit()]
    doubled = [digit if at % 2 == 0 else sum(divmod(2 * digit, 10)) for at, digit in enumerate(reversed(digits))]
    return sum(doubled) % 10 == 0


def _runs(text: str, talk: Iterable[str]) -> Iterator[str]:
    """Pieces of the text that stand in the talk, spaces and case apart, longer than a phrase."""
    grams = {said[at : at + GRAM] for said in map(_bare, talk) for at in range(len(said) - GRAM + 1)}
    places = [at for at, sign in enumerate(text) if not sign.isspace()]
    bare = _bare(text)
    at = 0
    while at + GRAM <= len(bare):
        end = at
        while bare[end : end + GRAM] in grams and end + GRAM <= len(bare):
            end += 1
        if end == at:
            at += 1
            continue
        last = end + GRAM - 2
        if _weight(bare[at : last + 1]) >= LONG:
            yield " ".join(text[places[at] : places[last] + 1].split())
        at = last + 1


def _bare(text: str) -> str:
    # Sign by sign, so that places in the bare text are places in the text: `lower` may give two for one.
    return "".join(sign.lower()[0] for sign in text if not sign.isspace())


def _weight(bare: str) -> int:
    return sum(3 if "\u3400" <= sign <= "\u9fff" else 1 for sign in bare)
