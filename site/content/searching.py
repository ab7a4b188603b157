"""`content search --batch`: JSON lines in, JSON lines out, so that anybody can measure recall with their own questions.

In: `{"id", "query", "previous": […]?, "limit"?}`. Out: `{"id", "hits": [{"slug", "block", "score", "parts": {…}}]}`.
It answers as the assistant would: at most three sources and none below the floor, unless `limit` asks for a ranking.
"""

import json
from collections.abc import Iterable, Iterator

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import BadInput
from core.text.tokens import query_weights

from ..public_kb.knowledge import Knowledge
from ..public_kb.ranking import Found
from ..public_kb.sources import best_piece


class Query(BaseModel):
    """`previous` are earlier questions, oldest first; the last two count. `limit` above 3 ranks without the floor."""

    model_config = ConfigDict(extra="ignore")

    id: str | int
    query: str
    previous: tuple[str, ...] = ()
    limit: int | None = Field(None, ge=1, le=1000)


def search_lines(knowledge: Knowledge, lines: Iterable[str]) -> Iterator[str]:
    """One answer a question, in order; `await knowledge.refresh()` first. Errors: BadInput names the line."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield json.dumps(_answered(knowledge, _query(line, number)), ensure_ascii=False)


def _query(line: str, number: int) -> Query:
    try:
        return Query.model_validate_json(line)
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the line"
        raise BadInput(
            f'line {number}: {where}: {first["msg"]}. Write one JSON object a line, such as {{"id": 1, "query": "…"}}'
        ) from problem


def _answered(knowledge: Knowledge, query: Query) -> dict[str, object]:
    earlier = query.previous[-2:]
    if query.limit is None or query.limit <= 3:
        found = knowledge.find(query.query, None, earlier)[: query.limit]
    else:
        found = knowledge.search(query.query, query.limit, earlier)
    return {"id": query.id, "hits": [_hit(knowledge, one, query.query) for one in found]}


def _hit(knowledge: Knowledge, found: Found, query: str) -> dict[str, object]:
    piece = best_piece(knowledge.chunk(found.chunks[0]), query_weights(query))
    return {
        "slug": knowledge.publication(found.article).teaser.slug,
        "block": piece.block,
        "score": round(found.score, 4),
        "parts": {"near": round(found.near, 3), "passages": len(found.chunks)},
    }
