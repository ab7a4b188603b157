"""Whether the site lives, and whether it can do its work."""

from litestar import Response, get
from litestar.di import NamedDependency
from sqlalchemy import Connection
from sqlalchemy import text as sql

from ..parts import Parts


@get("/healthz")
async def healthz() -> dict[str, str]:
    return {"status": "alive"}


@get("/readyz")
async def readyz(parts: NamedDependency[Parts]) -> Response[dict[str, str]]:
    """200 when the store can be read and written, 503 with the reason when it cannot."""
    if parts.store.broken:
        return Response({"status": "not ready", "reason": str(parts.store.broken)}, status_code=503)
    await parts.store.read(_anything)
    return Response({"status": "ready"})


def _anything(conn: Connection) -> int:
    return int(conn.execute(sql("SELECT 1")).scalar_one())


HANDLERS = [healthz, readyz]
