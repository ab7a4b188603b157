"""What goes into the lexical index and what comes out, and how both are spelled as index terms.

A term is `scope|token`: words of different scopes are different terms, so a search in one scope cannot touch a posting
of another, document frequencies are those of the scope, and no filter slows the pruned traversal down.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.errors import PenfriendError

FILLER = "|"
"""The padding term, of no scope: see PADDING."""

PADDING = 26
"""Filler tokens added to every text. tantivy's b is fixed at .75; padding turns it into .75 × average / (average +
padding), about .40 for chat of thirty tokens a message. It is a constant of the format, so that a rebuilt index scores
as the old one did."""

_DAY = "@"


class LexicalError(PenfriendError):
    """The index cannot be used as asked. Everything in it can be rebuilt, so callers go on without it."""

    exit_code = 3


class LexicalLocked(LexicalError):
    """Another process, or another object of this one, writes to the index."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One text to be found. `seq` is its change number, `day` a proleptic ordinal (0: none), `flags` the caller's bits.

    Tokens hold no white space and do not start with `@`; a token that counts twice is given twice.
    """

    seq: int
    id: int
    scope: str
    tokens: Sequence[str]
    session: int = 0
    day: int = 0
    flags: int = 0


class Hit(NamedTuple):
    id: int
    score: float
    session: int
    day: int
    flags: int


class Weight(NamedTuple):
    total: float
    rarest: float


def scoped(scope: str, token: str) -> str:
    """
    >>> scoped("12", "tea")
    '12|tea'
    """
    return f"{scope}|{token}"


def scope_term(scope: str) -> str:
    """In every text of the scope: its document frequency is the number of texts there."""
    return scoped(scope, "")


def day_term(scope: str, day: int) -> str:
    return scoped(scope, f"{_DAY}{day}")


def check_scope(scope: str) -> None:
    if not scope or "|" in scope or scope.split() != [scope]:
        raise LexicalError(f"{scope!r} is no scope: it must not be empty nor hold white space or '|'")


def check_entry(entry: Entry) -> None:
    check_scope(entry.scope)
    if min(entry.seq, entry.id, entry.session, entry.day, entry.flags) < 0:
        raise LexicalError(f"entry {entry.id} has a negative number: seq, id, session, day and flags are unsigned")
    if len(" ".join(entry.tokens).split()) != len(entry.tokens):
        raise LexicalError(f"entry {entry.id} has an empty token or one with white space: use core.text.tokens")
    if any(token.startswith(_DAY) for token in entry.tokens):
        raise LexicalError(f"entry {entry.id} has a token that starts with '@', which is kept for days")


def terms(entry: Entry) -> list[str]:
    """Every term of the entry, with repetitions; its length is the length BM25 sees."""
    own = [scoped(entry.scope, token) for token in entry.tokens]
    return [*own, scope_term(entry.scope), day_term(entry.scope, entry.day), *[FILLER] * PADDING]
