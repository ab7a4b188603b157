"""The index of everything published, kept in step with the editions of the site.

Before a question is answered the newest edition is asked for; when it changed, exactly the articles that changed are
taken out and put in again, under one lock, so no question sees half a change and a withdrawn text is gone at once.
The index is derived: a start makes it anew.
"""

import asyncio
import logging
import shutil
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from core.errors import DocumentError
from core.lexical.entry import Entry
from core.lexical.index import LexicalIndex
from core.model.offline import language_of
from core.text.tokens import index_tokens, query_weights

from ..store.publications import Changes, Publication, PublicReader, Teaser
from .chunks import Chunk, chunks_of
from .ranking import Found, above_floor, group_by_article, weight_of

log = logging.getLogger(__name__)

SCOPE = "articles"
CANDIDATES = 80
TITLE_COUNTS = 2
COMMIT_AT = 256
FOLLOW_UP = 0.35
"""Weight of an earlier question's words in a later, shorter one (recall.md, section 5)."""
SHORT_QUESTION = 6
"""Tokens. A longer question stands for itself."""


class Knowledge:
    """`await refresh()`, then `search` and `find`. Search runs in any thread."""

    def __init__(self, reader: PublicReader, folder: Path) -> None:
        self._reader = reader
        self._refreshing = asyncio.Lock()
        self._lock = threading.Lock()
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        self._index = LexicalIndex.open(folder, writable=True)
        self._published: dict[int, Publication] = {}
        self._numbers: dict[int, list[int]] = {}
        self._chunks: dict[int, Chunk] = {}
        self._holding: Counter[str] = Counter()
        self._next = 1
        self.edition = -1

    def close(self) -> None:
        self._index.close()

    async def refresh(self) -> int:
        """The edition that is now answered from."""
        async with self._refreshing:
            if await self._reader.edition() != self.edition:
                known = {number: one.edition for number, one in self._published.items()}
                await asyncio.to_thread(self._take, await self._reader.changes(known))
        return self.edition

    def publication(self, article: int) -> Publication:
        return self._published[article]

    def at(self, slug: str) -> Teaser | None:
        """The published article of that slug, looked up here: an address is never fetched."""
        found = (one.teaser for one in self._published.values() if one.teaser.slug == slug)
        return next(found, None)

    def chunk(self, number: int) -> Chunk:
        return self._chunks[number]

    def chunks_in(self, article: int) -> list[Chunk]:
        return [self._chunks[number] for number in self._numbers[article]]

    def find(self, question: str, page: int | None = None, earlier: tuple[str, ...] = ()) -> list[Found]:
        """At most three articles that can answer the question, best first; none when nothing is near enough."""
        asked = with_earlier(query_weights(question), earlier)
        with self._lock:
            return above_floor(self._rank(asked, page), language_of(question, "en"), page)

    def search(self, words: str, limit: int, earlier: tuple[str, ...] = ()) -> list[Found]:
        """Articles that hold the words, best first. Somebody who searches sees weak matches too."""
        with self._lock:
            return self._rank(with_earlier(query_weights(words), earlier), None)[:limit]

    def _rank(self, asked: Mapping[str, float], page: int | None) -> list[Found]:
        ranked = group_by_article(self._index.search([SCOPE], asked, CANDIDATES), page)
        weight = weight_of(asked, self._holding, len(self._chunks))
        return [replace(one, near=one.score / weight if weight else 0.0) for one in ranked]

    def _take(self, changes: Changes) -> None:
        with self._lock:
            for number in (*changes.gone, *(one.teaser.id for one in changes.changed)):
                self._forget(number)
            for publication in changes.changed:
                self._learn(publication, changes.edition)
            if self._index.pending() > COMMIT_AT:
                self._index.commit()
            self.edition = changes.edition

    def _forget(self, article: int) -> None:
        for number in self._numbers.pop(article, []):
            self._index.forget(number)
            self._holding.subtract(set(self._tokens(self._chunks.pop(number))))
        self._published.pop(article, None)

    def _learn(self, publication: Publication, edition: int) -> None:
        article = publication.teaser.id
        self._published[article], self._numbers[article] = publication, []
        for chunk in _passages(publication):
            self._chunks[self._next] = chunk
            tokens = self._tokens(chunk)
            self._index.add(Entry(edition, self._next, SCOPE, tokens, session=article))
            self._holding.update(set(tokens))
            self._numbers[article].append(self._next)
            self._next += 1

    def _tokens(self, chunk: Chunk) -> list[str]:
        """A passage is found by its words, the headings above it, and the article's title, summary and tags."""
        teaser = self._published[chunk.article].teaser
        about = (*[teaser.title] * TITLE_COUNTS, *chunk.headings, teaser.summary, *teaser.tags)
        return index_tokens("\n".join((chunk.text, *about)))


def _passages(publication: Publication) -> list[Chunk]:
    """One unreadable text must not take the search away from all the others."""
    try:
        return chunks_of(publication)
    except DocumentError as problem:
        log.error("article %s cannot be searched: %s", publication.teaser.slug, problem)
        return []


def with_earlier(asked: Mapping[str, float], earlier: tuple[str, ...]) -> dict[str, float]:
    """A short question borrows words from the ones before it on the page.

    >>> with_earlier({"year": 1.0}, ("tea harvest",))
    {'tea': 0.35, 'harvest': 0.35, 'year': 1.0}
    """
    if len(asked) >= SHORT_QUESTION:
        return dict(asked)
    borrowed = {token: FOLLOW_UP * weight for said in earlier for token, weight in query_weights(said).items()}
    return borrowed | dict(asked)
