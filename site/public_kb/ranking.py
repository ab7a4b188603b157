"""From scored passages to articles, and the floor: what share of a question an article must cover to count. Pure.

BM25 scores have no scale of their own, so the floor asks something else: how much of what the question is about, weighed
by how rare each word is here, occurs in the article at all. A question about what was never written has rare words that
occur nowhere, and falls below it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.lexical.bm25 import idf
from core.lexical.entry import Hit

MOST_SOURCES = 3
FLOOR = 0.42
"""Share of the question's weight; measured on `bench/answerable.py`'s questions in zh and en."""
FLOOR_ON_PAGE = 0.25
"""The same for the article the reader has open: "how long does it take?" is about that one."""
ON_PAGE = 1.2
SECOND_PASSAGE = 0.15
"""What an article's further passages add to its best one."""


@dataclass(frozen=True)
class Found:
    """An article with the numbers of its matching passages, best first. `covered` is between 0 and 1."""

    article: int
    chunks: tuple[int, ...]
    score: float
    covered: float


def group_by_article(hits: Iterable[Hit], page: int | None = None) -> list[Found]:
    """Articles, best first. `Hit.session` is the article's number, `Hit.id` the passage's."""
    passages: dict[int, list[Hit]] = {}
    for hit in hits:
        passages.setdefault(hit.session, []).append(hit)
    found = [_article(number, group, page) for number, group in passages.items()]
    return sorted(found, key=lambda one: (-one.score, one.article))


def _article(number: int, hits: Sequence[Hit], page: int | None) -> Found:
    best, *rest = sorted(hits, key=lambda hit: -hit.score)
    score = best.score + SECOND_PASSAGE * sum(hit.score for hit in rest[:2])
    return Found(number, tuple(hit.id for hit in (best, *rest)), score * (ON_PAGE if number == page else 1), 0.0)


def coverage(asked: Mapping[str, float], holding: Mapping[str, int], texts: int, held: Iterable[str]) -> float:
    """The share of a question's weight that a text's tokens hold; `holding` says in how many of `texts` each occurs.

    >>> round(coverage({"tea": 1.0, "zebra": 1.0}, {"tea": 50, "zebra": 0}, 100, {"tea"}), 2)
    0.13
    """
    weights = {token: weight * idf(texts, min(holding.get(token, 0), texts)) for token, weight in asked.items()}
    total = sum(weights.values())
    return sum(weight for token, weight in weights.items() if token in set(held)) / total if total else 0.0


def above_floor(found: Sequence[Found], page: int | None = None) -> list[Found]:
    """At most three, none of which covers too little."""
    kept = [one for one in found if one.covered >= (FLOOR_ON_PAGE if one.article == page else FLOOR)]
    return kept[:MOST_SOURCES]
