"""From scored passages to articles, and the floor: how near an article must be to count as an answer. Pure.

BM25 scores have no scale of their own. Divided by the weight of the whole question, where a word that occurs nowhere
weighs most, they have one: a question about what was never written stays near 0, whatever its common words match.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.lexical.bm25 import idf
from core.lexical.entry import Hit

from ..store.articles import Language

MOST_SOURCES = 3
FLOOR: dict[Language, float] = {"zh": 0.45, "en": 0.65}
"""Chinese questions are lower: pairs of characters across word borders match nothing. On XQuAD and CMRC with half of
the topics left out, 6 % (zh) and 3 % (en) of answerable questions fall below, 6 % and 10 % of the others do not."""
ON_PAGE = 1.2
"""An article that the reader has open is this much nearer, and its floor is half: "how long does it take?" means it."""
SECOND_PASSAGE = 0.15
"""What an article's further passages add to its best one."""


@dataclass(frozen=True)
class Found:
    """An article with the numbers of its matching passages, best first. `near` is 0 to about 2.2, see the top."""

    article: int
    chunks: tuple[int, ...]
    score: float
    near: float = 0.0


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
    return Found(number, tuple(hit.id for hit in (best, *rest)), score * (ON_PAGE if number == page else 1))


def weight_of(asked: Mapping[str, float], holding: Mapping[str, int], texts: int) -> float:
    """What a question weighs; `holding` says in how many of `texts` passages a token occurs.

    >>> round(weight_of({"tea": 1.0, "zebra": 0.5}, {"tea": 50, "zebra": 0}, 100), 2)
    3.35
    """
    return sum(weight * idf(texts, min(holding.get(token, 0), texts)) for token, weight in asked.items())


def above_floor(found: Sequence[Found], language: Language, page: int | None = None) -> list[Found]:
    """At most three, best first, none of them too far off."""
    floor = FLOOR[language]
    kept = [one for one in found if one.near >= (floor / 2 if one.article == page else floor)]
    return kept[:MOST_SOURCES]
