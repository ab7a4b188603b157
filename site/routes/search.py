"""Search over everything published, with what matched marked. Works without JavaScript."""

import asyncio
from dataclasses import dataclass

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.params import FromQuery

from core.text.tokens import query_weights

from ..conditional import WebRequest
from ..pages import Pages
from ..public_kb.excerpts import Marked, excerpt
from ..public_kb.knowledge import Knowledge
from ..public_kb.sources import best_piece
from ..store.articles import Language

MOST_RESULTS = 20
LONGEST_QUERY = 200


@dataclass(frozen=True)
class Result:
    path: str
    title: str
    language: Language
    excerpt: tuple[Marked, ...]


@get("/search")
async def search(
    request: WebRequest, pages: NamedDependency[Pages], knowledge: NamedDependency[Knowledge], q: FromQuery[str] = ""
) -> Response[bytes]:
    words = " ".join(q.split())[:LONGEST_QUERY]
    results: list[Result] = []
    if words:
        await knowledge.refresh()
        results = await asyncio.to_thread(_results, knowledge, words)
    return pages.page(request, "search.html", q=words, results=results)


def _results(knowledge: Knowledge, words: str) -> list[Result]:
    asked = query_weights(words)
    results = []
    for found in knowledge.search(words, MOST_RESULTS):
        teaser = knowledge.publication(found.article).teaser
        shown = excerpt(best_piece(knowledge.chunk(found.chunks[0]), asked).text, asked)
        results.append(Result(teaser.path, teaser.title, teaser.language, shown))
    return results


HANDLERS = [search]
