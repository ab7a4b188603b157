"""Engines with the pragmas our promises rest on. We write BEGIN, SAVEPOINT and COMMIT ourselves (AUTOCOMMIT here).

FULL is set and read back: with synchronous=NORMAL a power cut loses acknowledged rows.
"""

import sqlite3
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from core.errors import SettingsError, StoreError

BUSY_TIMEOUT_S = 5.0
JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024

_EVERYWHERE = (
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA journal_size_limit={JOURNAL_LIMIT_BYTES}",
    "PRAGMA secure_delete=ON",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",
)
# Only the writer checkpoints: two connections doing it at once may corrupt SQLite before 3.51.3.
_READER = ("PRAGMA query_only=ON", "PRAGMA wal_autocheckpoint=0")


def sqlite_url(path: Path) -> str:
    return f"sqlite:///{path}"


def sqlite_path(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def is_sqlite(url: str) -> bool:
    return url.startswith("sqlite:///")


def open_engine(url: str, *, read_only: bool = False) -> Engine:
    if is_sqlite(url):
        return _sqlite_engine(sqlite_path(url), read_only=read_only)
    if url.startswith("postgresql+psycopg://"):
        return _postgres_engine(url)
    raise SettingsError(
        f"the database address {url.partition(':')[0]!r}… is of an unknown kind: use sqlite:///PATH or "
        "postgresql+psycopg://USER@HOST/NAME, or leave db_url out"
    )


def _sqlite_engine(path: Path, *, read_only: bool) -> Engine:
    mode = "&mode=ro" if read_only else ""
    engine = create_engine(
        f"sqlite:///file:{quote(str(path))}?uri=true{mode}",
        isolation_level="AUTOCOMMIT",
        pool_size=2,
        max_overflow=0,
        connect_args={"check_same_thread": False, "timeout": BUSY_TIMEOUT_S, "cached_statements": 512},
    )

    @event.listens_for(engine, "connect")
    def set_pragmas(driver: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        assert isinstance(driver, sqlite3.Connection)
        prepare_sqlite(driver, path, read_only=read_only)

    return engine


def prepare_sqlite(driver: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    if not read_only and driver.execute("PRAGMA journal_mode=WAL").fetchone() != ("wal",):
        raise StoreError(
            f"{path} lies on a disk without shared memory for a write-ahead log: move data_dir to a local disk"
        )
    for pragma in (*_EVERYWHERE, *(_READER if read_only else ())):
        driver.execute(pragma)
    if driver.execute("PRAGMA synchronous").fetchone() != (2,):
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} did not accept synchronous=FULL for {path}: use another build"
        )


def _postgres_engine(url: str) -> Engine:
    try:
        return create_engine(url, isolation_level="AUTOCOMMIT", pool_size=3, max_overflow=0, pool_pre_ping=False)
    except ModuleNotFoundError as missing:
        raise SettingsError("PostgreSQL needs an extra package: pip install 'penfriend[postgres]'") from missing
