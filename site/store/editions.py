"""Editions: numbers of what the public sees. A new one begins whenever something public changes."""

from sqlalchemy import Connection, func, insert, select

from core.clock import Instant

from .content import editions

_NEWEST = select(func.coalesce(func.max(editions.c.id), 0))
_BEGIN = insert(editions).returning(editions.c.id)


def newest_edition(conn: Connection) -> int:
    """0 while nothing was ever published."""
    return int(conn.execute(_NEWEST).scalar_one())


def begin_edition(conn: Connection, reason: str, now: Instant) -> int:
    """Call it in the transaction that changes what readers see; caches and the search index follow the number."""
    return int(conn.execute(_BEGIN, {"reason": reason, "at_ms": now}).scalar_one())
