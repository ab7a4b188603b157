"""How the surroundings of a candidate change its score: one table of numpy columns, no index and no store. Pure.

Measured on five English and seven Chinese chats (see `bench/recall.py`); what a rule brings is said at its weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Tuning:
    """Weights of the rules, all relative to the BM25 score of words."""

    question: float = 0.8
    """Of the words of a turn that asks: it seldom answers."""
    previous: float = 0.3
    next: float = 0.25
    previous_asks: float = 0.3
    """Beside `previous`, when the turn before is a question: then this one is its answer."""
    second_previous: float = 0.2
    second_next: float = 0.1
    session: float = 0.4
    """Of the length of the vector of all scores in the session."""
    day: float = 1.0
    """Of the best score, for a turn of the very day that was named."""
    wide_days: float = 0.5
    """Of `day`, when a week or a month was named."""
    borrowed_least: float = 0.08
    borrowed_most: float = 0.85
    borrowed_blind: float = 0.5
    """Share of the previous message's scores: for a new subject, for a clear follow-up, for one of hardly any words."""


@dataclass(frozen=True, slots=True)
class Table:
    """One row a message. `previous` and `next` are rows in the same session, or the last row, which is empty."""

    words: Floats
    asks: Floats
    previous: Places
    next: Places
    session: Floats


def neighbour_parts(table: Table, tuning: Tuning) -> dict[str, Floats]:
    """What neighbours and session add to each row but the last, empty one."""
    words, before, after = table.words, table.previous, table.next
    share = tuning.previous + tuning.previous_asks * table.asks[before]
    parts = {
        "previous": share * words[before] + tuning.second_previous * words[before[before]],
        "next": tuning.next * words[after] + tuning.second_next * words[after[after]],
        "session": tuning.session * table.session,
    }
    return {name: part[:-1] for name, part in parts.items()}


def session_strength(sessions: Sequence[int], words: Floats) -> dict[int, float]:
    """For each session the root of the sum of squares of its scores: several good turns beat one, many poor do not.

    >>> session_strength([7, 7, 9], np.array([3.0, 4.0, 2.0]))
    {7: 5.0, 9: 2.0}
    """
    names, which = np.unique(np.array(sessions, dtype=np.int64), return_inverse=True)
    strength = np.sqrt(np.bincount(which, words * words))
    return dict(zip(names.tolist(), strength.tolist(), strict=True))


def borrowed_share(own: Mapping[int, float], earlier: Mapping[int, float], rareness: float, tuning: Tuning) -> float:
    """How much of the earlier message's scores a message borrows: the gate between a follow-up and a new subject.

    A follow-up's own words, few as they are, still touch what the earlier message was about; those of a new subject do
    not. `rareness` is how many words that occur once would weigh as much as the message's own.

    >>> borrowed_share({1: 9.0, 2: 1.0}, {1: 20.0}, 6.0, Tuning())
    0.85
    >>> borrowed_share({1: 9.0}, {2: 20.0}, 6.0, Tuning())
    0.08
    >>> borrowed_share({1: 9.0}, {2: 20.0}, 1.5, Tuning())
    0.5
    """
    if not own or not earlier:
        return 1.0
    best_own, best_earlier = max(own.values()), max(earlier.values())
    shared = max((own[at] / best_own * earlier[at] / best_earlier for at in own.keys() & earlier.keys()), default=0.0)
    opened = min(1.0, max(0.0, (shared - 0.1) / 0.4))
    share = tuning.borrowed_least + (tuning.borrowed_most - tuning.borrowed_least) * opened
    return max(share, tuning.borrowed_blind) if rareness < 2.5 else share


def fuse_ranks(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Reciprocal ranks (k = 10) of several questions in one message: each one's best comes before anybody's second.

    >>> fuse_ranks([[1, 2, 3], [4, 2]])
    [2, 1, 4, 3]
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, at in enumerate(ranking):
            scores[at] = scores.get(at, 0.0) + 1 / (10 + rank)
    return sorted(scores, key=lambda at: -scores[at])
