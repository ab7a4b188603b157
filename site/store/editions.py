"""Editions: numbers of what the public sees. A new one begins whenever something public changes."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, func, insert, select

from core.clock import Instant
from core.store import Store
from core.store.engine import is_sqlite, sqlite_path

from .content import editions

_NEWEST = select(func.coalesce(func.max(editions.c.id), 0))
_BEGIN = insert(editions).returning(editions.c.id)


def newest_edition(conn: Connection) -> int:
    """0 while nothing was ever published."""
    return int(conn.execute(_NEWEST).scalar_one())


def begin_edition(conn: Connection, reason: str, now: Instant) -> int:
    """Call it in the transaction that changes what readers see; caches and the search index follow the number."""
    return int(conn.execute(_BEGIN, {"reason": reason, "at_ms": now}).scalar_one())


class EditionWatch:
    """The newest edition, cheap enough to be asked for before every page.

    SQLite tells in a microsecond whether any connection has written (`PRAGMA data_version`); only then is the number
    read. Other databases are asked each time.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._conn = _watching(sqlite_path(store.url)) if is_sqlite(store.url) else None
        self._seen = -1
        self._edition = 0

    async def current(self) -> int:
        if self._conn is None:
            return await self._store.read(newest_edition)
        (version,) = self._conn.execute("PRAGMA data_version").fetchone()
        if version != self._seen:
            (self._edition,) = self._conn.execute("SELECT coalesce(max(id), 0) FROM editions").fetchone()
            self._seen = version
        return self._edition

    def close(self) -> None:
        if self._conn is not None:
            self._conn.close()


def _watching(path: Path) -> sqlite3.Connection:
    # Only the writer may checkpoint; see core/store/engine.py.
    conn = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, isolation_level=None, check_same_thread=False)
    conn.execute("PRAGMA query_only=ON")
    conn.execute("PRAGMA wal_autocheckpoint=0")
    return conn
