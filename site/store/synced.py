"""Other records of a bridge (a part's state, a context record, a channel's health), the newest body for each key."""

import json
from dataclasses import dataclass

from sqlalchemy import Connection, Row, bindparam, delete, or_, select
from sqlalchemy import text as sql

from core.clock import Instant

from .control import synced

DOUBT = ("unknown", "expired", "held")


@dataclass(frozen=True)
class Synced:
    """`body` is JSON text; `at` is the moment the bridge says it holds from."""

    kind: str
    key: str
    body: str
    at: Instant

    @property
    def fields(self) -> dict[str, object]:
        """The body, which was checked to be a JSON object when it came."""
        found = json.loads(self.body)
        assert isinstance(found, dict), f"{self.kind} {self.key} is no object"
        return found


_KEEP_NEWEST = sql(
    "INSERT INTO synced (kind, record_key, body, received_at_ms) VALUES (:kind, :key, :body, :at_ms) "
    "ON CONFLICT (kind, record_key) DO UPDATE SET body = excluded.body, received_at_ms = excluded.received_at_ms "
    "WHERE excluded.received_at_ms >= synced.received_at_ms"
)
_ONE = select(synced).where(synced.c.kind == bindparam("kind"), synced.c.record_key == bindparam("record_key"))
_REMOVE = delete(synced).where(synced.c.kind == bindparam("of_kind"), synced.c.record_key == bindparam("key"))
_NEWEST = select(synced).order_by(synced.c.received_at_ms.desc(), synced.c.record_key).limit(bindparam("limit"))
_OF_KIND = _NEWEST.where(synced.c.kind == bindparam("kind"))

# The bridge writes the state of a part into its body; nothing here depends on more than these words.
_IN_DOUBT = _NEWEST.where(synced.c.kind == "part_state", or_(*(synced.c.body.contains(f'"{word}"') for word in DOUBT)))


def keep(conn: Connection, record: Synced) -> None:
    """An older body than the one that is there changes nothing."""
    conn.execute(_KEEP_NEWEST, {"kind": record.kind, "key": record.key, "body": record.body, "at_ms": record.at})


def one(conn: Connection, kind: str, key: str) -> Synced | None:
    row = conn.execute(_ONE, {"kind": kind, "record_key": key}).first()
    return _synced(row) if row else None


def of_kind(conn: Connection, kind: str, limit: int = 200) -> tuple[Synced, ...]:
    """Newest first."""
    return tuple(_synced(row) for row in conn.execute(_OF_KIND, {"kind": kind, "limit": limit}))


def parts_in_doubt(conn: Connection, limit: int = 200) -> tuple[Synced, ...]:
    """Parts of replies that the owner must look at, newest first."""
    return tuple(_synced(row) for row in conn.execute(_IN_DOUBT, {"limit": limit}))


def remove(conn: Connection, kind: str, key: str) -> bool:
    """Takes a record away that the owner is done with. A bridge tells each once, so it does not come back."""
    return conn.execute(_REMOVE, {"of_kind": kind, "key": key}).rowcount == 1


def _synced(row: Row[tuple[object, ...]]) -> Synced:
    return Synced(row.kind, row.record_key, row.body, Instant(row.received_at_ms))
