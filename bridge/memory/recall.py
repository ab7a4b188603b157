"""From an incoming message to the old messages that answer it: index candidates, rescored by their surroundings.

Pure but for its two arguments that fetch: the index and `MessageFacts`. Measured in `docs/recall.md`; what each rule
brings is in `Tuning`. Nothing later than the message being answered is ever used.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from core.clock import Instant
from core.lexical.entry import Hit
from core.lexical.index import LexicalIndex
from core.text.tokens import query_weights

from .sessions import QUESTION

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MessageFact:
    """What surrounds a message: its neighbours in its conversation, the session's first message, its time."""

    id: int
    previous: int | None
    next: int | None
    session: int
    at: Instant
    question: bool
    person: bool


class MessageFacts(Protocol):
    def of(self, ids: Sequence[int]) -> Mapping[int, MessageFact]:
        """Facts of these messages; those deleted meanwhile are missing, and are not recalled."""
        ...


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """`scope` is the conversation; `previous` the person's messages before this one, newest first; `before_id` the
    message being answered, when it is already indexed."""

    text: str
    scope: str
    at: Instant
    zone: ZoneInfo
    previous: tuple[str, ...] = ()
    limit: int = 12
    before_id: int | None = None


@dataclass(frozen=True, slots=True)
class RecallHit:
    id: int
    score: float
    parts: Mapping[str, float]
    """What the score is the sum of: words, previous, next, session, day."""


@dataclass(frozen=True, slots=True)
class Recalled:
    hits: tuple[RecallHit, ...]
    nothing_found: bool


@dataclass(frozen=True, slots=True)
class Tuning:
    candidates: int = 200
    surroundings: int = 64
    previous: float = 0.4
    next: float = 0.25
    session: float = 0.4
    question: float = 0.7


TUNING = Tuning()


def recall(index: LexicalIndex, facts: MessageFacts, query: RecallQuery, tuning: Tuning = TUNING) -> Recalled:
    """At most `query.limit` messages of the conversation, best first. Raises LexicalError when the index fails."""
    hits = index.search([query.scope], query_weights(query.text), tuning.candidates)
    hits = [hit for hit in hits if query.before_id is None or hit.id < query.before_id]
    found = _rescored(hits, facts, query, tuning)[: query.limit]
    return Recalled(tuple(found), not found)


def _rescored(hits: list[Hit], facts: MessageFacts, query: RecallQuery, tuning: Tuning) -> list[RecallHit]:
    if not hits:
        return []
    words = np.array([hit.score * (tuning.question if hit.flags & QUESTION else 1.0) for hit in hits])
    session = _session_prior(np.array([hit.session for hit in hits]), words) * tuning.session
    best = np.argsort(-(words + session), kind="stable")[: tuning.surroundings]
    known = facts.of([hits[at].id for at in best])
    scores = {hits[at].id: float(words[at]) for at in best}
    found = []
    for at in best:
        fact = known.get(hits[at].id)
        if fact is None or fact.at > query.at:
            continue
        parts = {
            "words": float(words[at]),
            "previous": tuning.previous * scores.get(fact.previous or 0, 0.0),
            "next": tuning.next * scores.get(fact.next or 0, 0.0),
            "session": float(session[at]),
        }
        found.append(RecallHit(fact.id, sum(parts.values()), parts))
    return sorted(found, key=lambda hit: (-hit.score, -hit.id))


def _session_prior(sessions: NDArray[np.int64], words: Floats) -> Floats:
    """For each candidate the best score in its session."""
    _, which = np.unique(sessions, return_inverse=True)
    best = np.zeros(which.max() + 1)
    np.maximum.at(best, which, words)
    return best[which]
