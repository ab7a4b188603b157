"""Other records of a bridge (a part's state, a context record, a channel's health), the newest body for each key."""

from dataclasses import dataclass

from sqlalchemy import Connection, Row, bindparam, select
from sqlalchemy import text as sql

from core.clock import Instant

from .control import synced


@dataclass(frozen=True)
class Synced:
    """`body` is JSON text; `at` is the moment the bridge says it holds from."""

    kind: str
    key: str
    body: str
    at: Instant


_KEEP_NEWEST = sql(
    "INSERT INTO synced (kind, record_key, body, received_at_ms) VALUES (:kind, :key, :body, :at_ms) "
    "ON CONFLICT (kind, record_key) DO UPDATE SET body = excluded.body, received_at_ms = excluded.received_at_ms "
    "WHERE excluded.received_at_ms >= synced.received_at_ms"
)
_ONE = select(synced).where(synced.c.kind == bindparam("kind"), synced.c.record_key == bindparam("record_key"))
_OF_KIND = (
    select(synced)
    .where(synced.c.kind == bindparam("kind"))
    .order_by(synced.c.received_at_ms.desc(), synced.c.record_key)
    .limit(bindparam("limit"))
)


def keep(conn: Connection, record: Synced) -> None:
    """An older body than the one that is there changes nothing."""
    conn.execute(_KEEP_NEWEST, {"kind": record.kind, "key": record.key, "body": record.body, "at_ms": record.at})


def one(conn: Connection, kind: str, key: str) -> Synced | None:
    row = conn.execute(_ONE, {"kind": kind, "record_key": key}).first()
    return _synced(row) if row else None


def of_kind(conn: Connection, kind: str, limit: int = 200) -> tuple[Synced, ...]:
    """Newest first."""
    return tuple(_synced(row) for row in conn.execute(_OF_KIND, {"kind": kind, "limit": limit}))


def _synced(row: Row[tuple[object, ...]]) -> Synced:
    return Synced(row.kind, row.record_key, row.body, Instant(row.received_at_ms))
