"""Engines with the pragmas our promises rest on. We write BEGIN, SAVEPOINT and COMMIT ourselves (AUTOCOMMIT here).

FULL is set and read back: with synchronous=NORMAL a power cut loses acknowledged rows.
"""

import sqlite3
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.engine.url import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import ConnectionPoolEntry

from core.errors import SettingsError, StoreError

BUSY_TIMEOUT_S = 5.0
JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024

SQLITE = "sqlite:///"
POSTGRESQL = "postgresql+psycopg://"

_EVERYWHERE = (
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA journal_size_limit={JOURNAL_LIMIT_BYTES}",
    "PRAGMA secure_delete=ON",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",
)
# Only the writer checkpoints: two connections doing it at once may corrupt SQLite before 3.51.3.
READING = ("PRAGMA query_only=ON", "PRAGMA wal_autocheckpoint=0")

# A server that vanished without a word must not hold the writer for the kernel's two hours.
_POSTGRES_PATIENCE = {"connect_timeout": 5, "tcp_user_timeout": 15_000}


def sqlite_url(path: Path) -> str:
    return f"{SQLITE}{path}"


def sqlite_path(url: str) -> Path:
    return Path(url.removeprefix(SQLITE))


def is_sqlite(url: str) -> bool:
    """Whether `url` is the embedded store's.

    Errors: SettingsError for an address that no store can have.
    """
    if url.startswith(POSTGRESQL):
        return False
    if url.startswith(SQLITE) and url.removeprefix(SQLITE) not in ("", ":memory:"):
        return True
    raise SettingsError(
        f"the database address {without_password(url)!r} is none that a store can have: use {SQLITE}PATH or "
        f"{POSTGRESQL}USER@HOST/NAME, or leave db_url out"
    )


def without_password(url: str) -> str:
    """The address as it may be shown and logged.

    >>> without_password("postgresql+psycopg://ann:secret@db/pen")
    'postgresql+psycopg://ann:***@db/pen'
    >>> without_password("postgresql+psycopg://ann:secret@db:no-port/pen")
    'postgresql+psycopg://…'
    """
    if url.startswith("sqlite:"):
        return url
    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return url.partition(":")[0] + "://…"


def open_engine(url: str, *, read_only: bool = False) -> Engine:
    """An engine for the store at `url`; nothing is connected yet.

    Errors: SettingsError for a bad address or a missing driver. Connecting raises StoreError where the disk cannot keep
    our promises.
    """
    if is_sqlite(url):
        return _sqlite_engine(sqlite_path(url), read_only=read_only)
    return _postgres_engine(url)


def file_uri(path: Path, *, read_only: bool) -> str:
    """SQLite's own form of a file's address."""
    return f"file:{quote(str(path))}" + ("?mode=ro" if read_only else "")


def _sqlite_engine(path: Path, *, read_only: bool) -> Engine:
    separator = "&" if read_only else "?"
    engine = create_engine(
        f"sqlite:///{file_uri(path, read_only=read_only)}{separator}uri=true",
        isolation_level="AUTOCOMMIT",
        pool_size=2,
        max_overflow=0,
        hide_parameters=True,  # an error is logged, and what was said must not be
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
    for pragma in (*_EVERYWHERE, *(READING if read_only else ())):
        driver.execute(pragma)
    if driver.execute("PRAGMA synchronous").fetchone() != (2,):
        raise StoreError(
            f"SQLite {sqlite3.sqlite_version} did not accept synchronous=FULL for {path}: use another build"
        )


def _postgres_engine(url: str) -> Engine:
    try:
        address = make_url(url)
        patience = {name: value for name, value in _POSTGRES_PATIENCE.items() if name not in address.query}
        return create_engine(
            address,
            isolation_level="AUTOCOMMIT",
            pool_size=3,
            max_overflow=0,
            hide_parameters=True,
            connect_args=patience,
        )
    except (ArgumentError, ValueError) as wrong:
        raise SettingsError(
            f"the database address {without_password(url)!r} cannot be read: it has the form "
            f"{POSTGRESQL}USER@HOST:PORT/NAME, with a number as port and special characters written as %XX"
        ) from wrong
    except ModuleNotFoundError as missing:
        raise SettingsError("PostgreSQL needs an extra package: pip install 'penfriend[postgres]'") from missing
