"""What was said, to be searched and forgotten. What the bridge made of it lives with the bridge."""

from typing import Annotated

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromQuery, Parameter
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant

from ..inbox import forgetting
from ..owner.door import AnyRequest, fields_of
from ..owner.pages import DeskPages
from ..owner.pairing import Ids, new_ids
from ..parts import Parts
from ..store import audit, sources
from ..store.sessions import Session

MEMORY = "/owner/memory"
A_PAGE = 50
MAX_WORDS = 200
EVER = 2**62


@get("/memory")
async def memory_page(
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    q: FromQuery[str] = "",
    before: Annotated[int, Parameter(ge=0, le=EVER)] = EVER,
    before_id: FromQuery[str] = "",
) -> Response[str]:
    words = q.strip()[:MAX_WORDS]
    found = await parts.store.read(sources.search, words, A_PAGE + 1, Instant(before), before_id)
    return desk.page("memory.html", session, words=words, said=found[:A_PAGE], more=len(found) > A_PAGE)


@get("/memory/exchange")
async def exchange_page(
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    source: FromQuery[str],
) -> Response[str]:
    exchange = await parts.store.read(forgetting.exchange_of, source)
    if exchange is None:
        raise NotFoundException
    return desk.page("exchange.html", session, exchange=exchange, source=source)


@post("/memory/forget", status_code=200)
async def forget(request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session]) -> Redirect:
    source = (await fields_of(request)).get("source", "")
    ids = new_ids(parts.clock(), parts.random_bytes)
    await parts.store.write(_forget, session, source, ids)
    return Redirect(f"{MEMORY}/exchange", status_code=303, query_params={"source": source})


def _forget(conn: Connection, session: Session, source: str, ids: Ids) -> None:
    """The audit line names the exchange by its key; what was said is in no line."""
    forgetting.forget(conn, source, ids.id, ids.now)
    audit.write(conn, audit.Deed("owner", session.address, "forgot_exchange", source[:80]), ids.now)


HANDLERS = [memory_page, exchange_page, forget]
