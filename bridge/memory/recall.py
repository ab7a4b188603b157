"""From an incoming message to the old messages that answer it: index candidates, rescored by their surroundings.

Pure but for its two arguments that fetch, the index and `MessageFacts`. The rules and what each brings are in
`rescore.py`, days in `dates.py`, question clauses in `question.py`. Nothing later than the message being answered is
used, and nothing of conversations that the query does not name: the index is asked for these scopes only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from zoneinfo import ZoneInfo

import numpy as np

from core.clock import Instant, local_time
from core.lexical.entry import Hit
from core.lexical.index import LexicalIndex
from core.text.tokens import query_weights

from .dates import NamedDays, named_days
from .question import clauses
from .rescore import Floats, Table, Tuning, borrowed_share, fuse_ranks, neighbour_parts, session_strength
from .sessions import QUESTION, day_number

CANDIDATES = 100
"""Texts that the index is asked for; more bring nothing (`bench/recall.py`)."""

SURROUNDED = 40
"""The best of them, whose neighbours are looked at."""

MOST_TOKENS = 64
"""Tokens of one clause that are asked for: a pasted page is no question."""

EARLIER_WEIGHTS = (1.0, 0.5)
"""Of the words of the person's last message and the one before it, when a follow-up borrows them."""

FLOOR = 0.25
"""The least score of the best text, as a share of what the question's words could score in all; under it nothing was
found, unless a named day was one of talk. Of questions about other people's talk it turns away three in ten, and of
those that have an answer fewer than one in a hundred."""

TUNING = Tuning()


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
    """`scope` is the conversation, `also` others that may be recalled in it; `at` the time of the message being answered and `before_id` its id, when it has one;
    `previous` the person's messages before it, newest first; `known` the messages that the context holds already."""

    text: str
    scope: str
    at: Instant
    zone: ZoneInfo
    previous: tuple[str, ...] = ()
    limit: int = 12
    before_id: int | None = None
    known: frozenset[int] = frozenset()
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RecallHit:
    """`parts` are what the score is the sum of: words, borrowed, previous, next, session, day."""

    id: int
    score: float
    parts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Recalled:
    hits: tuple[RecallHit, ...]
    nothing_found: bool


@dataclass(frozen=True, slots=True)
class Candidates:
    """What the index found: own scores of the clause, scores borrowed from earlier messages, texts of named days."""

    hits: Mapping[int, Hit]
    own: Mapping[int, float]
    borrowed: Mapping[int, float]
    days: tuple[NamedDays, ...]
    weight: float
    """What the words of the clause could score in all."""


def recall(index: LexicalIndex, facts: MessageFacts, query: RecallQuery, tuning: Tuning = TUNING) -> Recalled:
    """At most `query.limit` messages of the conversation, best first. Raises LexicalError when the index fails."""
    rankings = [_ranked(index, facts, query, clause, tuning) for clause in clauses(query.text)]
    ranked = rankings[0] if len(rankings) == 1 else _fused(rankings)
    hits = tuple(hit for hit in ranked if hit.id not in query.known)[: query.limit]
    return Recalled(hits, nothing_found=not hits)


def _fused(rankings: Sequence[list[RecallHit]]) -> list[RecallHit]:
    """Each question gets its share of the places; a message found for several keeps its best parts."""
    best: dict[int, RecallHit] = {}
    for hit in (hit for ranking in rankings for hit in ranking):
        if hit.id not in best or hit.score > best[hit.id].score:
            best[hit.id] = hit
    return [best[at] for at in fuse_ranks([[hit.id for hit in ranking] for ranking in rankings])]


def _ranked(
    index: LexicalIndex, facts: MessageFacts, query: RecallQuery, clause: str, tuning: Tuning
) -> list[RecallHit]:
    found = _candidates(index, query, clause, tuning)
    if not found.hits:
        return []
    ids = list(found.hits)
    words = _words(ids, found, tuning)
    strength = session_strength([found.hits[at].session for at in ids], words)
    first = words + tuning.session * np.array([strength[found.hits[at].session] for at in ids])
    first += _day_part([found.hits[at].day for at in ids], found.days, first, tuning)
    best = [ids[row] for row in np.argsort(-first, kind="stable")[:SURROUNDED]]
    return _rescored(_surroundings(facts, query, best), found, strength, query, tuning)


def _candidates(index: LexicalIndex, query: RecallQuery, clause: str, tuning: Tuning) -> Candidates:
    scope = [query.scope, *query.also]
    tokens = _asked(clause)
    hits = {hit.id: hit for hit in index.search(scope, tokens, CANDIDATES)}
    own = {at: hit.score for at, hit in hits.items()}
    weight = index.weigh(scope, tokens)
    borrowed: dict[int, float] = {}
    if query.previous:
        earlier = {hit.id: hit for hit in index.search(scope, _earlier(query.previous), CANDIDATES)}
        scores = {at: hit.score for at, hit in earlier.items()}
        share = borrowed_share(own, scores, weight.total / weight.rarest, tuning)
        borrowed = {at: share * score for at, score in scores.items()}
        hits = earlier | hits
    days = named_days(clause, local_time(query.at, query.zone).date())
    if days:
        hits, days = _with_days(index, scope, tokens, hits, days)
    return Candidates(hits, own, borrowed, days, weight.total)


def _asked(clause: str) -> dict[str, float]:
    return dict(list(query_weights(clause).items())[:MOST_TOKENS])


def _earlier(previous: Sequence[str]) -> dict[str, float]:
    tokens: dict[str, float] = {}
    for text, weight in zip(previous, EARLIER_WEIGHTS, strict=False):
        for token, own in _asked(text).items():
            tokens.setdefault(token, own * weight)
    return tokens


def _with_days(
    index: LexicalIndex,
    scope: list[str],
    tokens: Mapping[str, float],
    hits: Mapping[int, Hit],
    days: Sequence[NamedDays],
) -> tuple[dict[int, Hit], tuple[NamedDays, ...]]:
    """Texts of the named days too, and of each day the year in which there was talk."""
    wanted = {day for named in days for year in (named, *named.earlier) for day in range(year.first, year.last + 1)}
    there = {hit.id: hit for hit in index.search(scope, tokens, CANDIDATES, days=wanted)}
    talked = {hit.day for hit in there.values()}
    chosen = tuple(
        next((year for year in (named, *named.earlier) if any(year.first <= day <= year.last for day in talked)), named)
        for named in days
    )
    return there | dict(hits), chosen


def _words(ids: Sequence[int], found: Candidates, tuning: Tuning) -> Floats:
    scores = np.array([found.own.get(at, 0.0) + found.borrowed.get(at, 0.0) for at in ids])
    asks = np.array([bool(found.hits[at].flags & QUESTION) for at in ids])
    return scores * np.where(asks, tuning.question, 1.0)


def _day_part(days: Sequence[int], named: Sequence[NamedDays], scores: Floats, tuning: Tuning) -> Floats:
    """The boost of each row for being of a named day, in proportion to the best score, or to 1 when no word matches."""
    if not named:
        return np.zeros(len(days))
    day = np.array(days)
    share = np.zeros(len(days))
    for one in named:
        weight = 1.0 if one.count == 1 else tuning.wide_days
        share = np.maximum(share, np.where((one.first <= day) & (day <= one.last), weight, 0.0))
    return tuning.day * max(float(scores.max()), 1.0) * share


def _surroundings(facts: MessageFacts, query: RecallQuery, ids: Sequence[int]) -> dict[int, MessageFact]:
    """Facts of these messages and of their neighbours, without any that is not before the message being answered."""
    own = facts.of(ids)
    around = {at for fact in own.values() for at in (fact.previous, fact.next) if at is not None} - own.keys()
    known = {**own, **facts.of(sorted(around))}
    return {at: fact for at, fact in known.items() if _is_earlier(fact, query)}


def _is_earlier(fact: MessageFact, query: RecallQuery) -> bool:
    return fact.at <= query.at and (query.before_id is None or fact.id < query.before_id)


def _rescored(
    known: Mapping[int, MessageFact],
    found: Candidates,
    strength: Mapping[int, float],
    query: RecallQuery,
    tuning: Tuning,
) -> list[RecallHit]:
    if not known:
        return []
    rows = list(known)
    damp = np.array([tuning.question if fact.question else 1.0 for fact in known.values()])
    parts = {
        "words": np.array([found.own.get(at, 0.0) for at in rows]) * damp,
        "borrowed": np.array([found.borrowed.get(at, 0.0) for at in rows]) * damp,
    }
    parts |= neighbour_parts(_table(known, parts["words"] + parts["borrowed"], strength), tuning)
    total = np.sum(list(parts.values()), axis=0)
    if found.days:
        days = [day_number(fact.at, query.zone) for fact in known.values()]
        parts["day"] = _day_part(days, found.days, total, tuning)
        total += parts["day"]
    if float(total.max()) < FLOOR * found.weight and not ("day" in parts and parts["day"].any()):
        return []
    best = np.lexsort((-np.array(rows), -np.round(total, 4)))[: query.limit + len(query.known)]
    return [_hit(rows[row], row, float(total[row]), parts) for row in best.tolist() if total[row] > 0]


def _hit(at: int, row: int, score: float, parts: Mapping[str, Floats]) -> RecallHit:
    return RecallHit(at, score, {name: float(part[row]) for name, part in parts.items() if part[row]})


def _table(known: Mapping[int, MessageFact], words: Floats, strength: Mapping[int, float]) -> Table:
    row = {at: number for number, at in enumerate(known)}
    nowhere = len(row)

    def neighbour(fact: MessageFact, at: int | None) -> int:
        return row[at] if at in row and known[at].session == fact.session else nowhere

    facts = list(known.values())
    return Table(
        words=np.append(words, 0.0),
        asks=np.array([fact.question for fact in facts] + [False], dtype=np.float64),
        previous=np.array([neighbour(fact, fact.previous) for fact in facts] + [nowhere]),
        next=np.array([neighbour(fact, fact.next) for fact in facts] + [nowhere]),
        session=np.array([strength.get(fact.session, 0.0) for fact in facts] + [0.0]),
    )
