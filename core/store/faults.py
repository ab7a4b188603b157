"""What a driver's error means to us: which ones close the store for writing, which say that a server is gone, and which
ask for another try. Nothing here acts on it.
"""

import sqlite3

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from core.errors import StoreBroken, StoreError, StoreFull, StoreUnavailable

# SQLite's primary result codes, https://sqlite.org/rescode.html
_BUSY, _READONLY, _IOERR, _CORRUPT, _FULL, _CANTOPEN, _NOTADB = 5, 8, 10, 11, 13, 14, 26

_FULL_SENTENCE = "the store is full ({}): what was acknowledged is kept; free disk space, then start again"
_DISK_SENTENCE = (
    "the disk under the store reports an error ({}): nothing more is written; check the disk, then start again"
)
_DAMAGED_SENTENCE = (
    "the store is damaged ({}): nothing more is written; run `penfriend restore` with the last good backup"
)
_CLOSED_FILE_SENTENCE = (
    "the store's file cannot be written ({}): give this account write access to data_dir, then start again"
)

_CLOSES_THE_STORE: dict[int | str, tuple[type[StoreBroken], str]] = {
    _FULL: (StoreFull, _FULL_SENTENCE),
    _IOERR: (StoreBroken, _DISK_SENTENCE),
    _CORRUPT: (StoreBroken, _DAMAGED_SENTENCE),
    _NOTADB: (StoreBroken, _DAMAGED_SENTENCE),
    _READONLY: (StoreBroken, _CLOSED_FILE_SENTENCE),
    _CANTOPEN: (StoreBroken, _CLOSED_FILE_SENTENCE),
    # PostgreSQL's, https://www.postgresql.org/docs/15/errcodes-appendix.html
    "53100": (StoreFull, _FULL_SENTENCE),
    "58030": (StoreBroken, _DISK_SENTENCE),
    "XX001": (StoreBroken, _DAMAGED_SENTENCE),
    "XX002": (StoreBroken, _DAMAGED_SENTENCE),
}

_SERVER_GONE = ("08", "57P0", "53300", "25P03")  # connection lost, shut down or starting, no slot left, idle too long
_TRY_AGAIN = ("40001", "40P01")  # serialization failure, deadlock


def driver_error(error: BaseException) -> BaseException:
    """SQLAlchemy keeps the driver's own error in `orig`."""
    return getattr(error, "orig", None) or error


def _code(error: BaseException) -> int | str | None:
    """SQLite's primary result code, PostgreSQL's SQLSTATE, or None."""
    cause = driver_error(error)
    if isinstance(cause, sqlite3.Error):
        code: int | None = getattr(cause, "sqlite_errorcode", None)  # absent where Python itself raised it
        return None if code is None else code & 255
    state: str | None = getattr(cause, "sqlstate", None)
    return state


def broken_by(error: BaseException) -> StoreBroken | None:
    """The error that closes the store for writing, or None.

    After a failed write or fsync nothing is tried again: the kernel may have dropped the pages it could not write, so
    a second fsync that succeeds proves nothing.
    """
    if isinstance(error, StoreBroken):
        return error
    code = _code(error)
    if code not in _CLOSES_THE_STORE:
        return None
    kind, sentence = _CLOSES_THE_STORE[code]
    return kind(sentence.format(_first_line(driver_error(error))))


def is_damage(error: BaseException) -> bool:
    """Whether the file's content is wrong, and not only its disk or its rights."""
    return _code(error) in (_CORRUPT, _NOTADB, "XX001", "XX002")


def is_busy(error: BaseException) -> bool:
    return isinstance(driver_error(error), sqlite3.Error) and _code(error) == _BUSY


def server_gone(error: BaseException) -> bool:
    """A lost PostgreSQL server, told apart from a statement that failed."""
    cause = driver_error(error)
    if isinstance(cause, (sqlite3.Error, StoreError)):
        return False
    if getattr(error, "connection_invalidated", False):
        return True
    state = _code(error)
    if isinstance(state, str):
        return state.startswith(_SERVER_GONE)
    # libpq gives no SQLSTATE when the connection itself failed. The package is optional, so it is known by name.
    return type(cause).__module__.startswith("psycopg") and type(cause).__name__ == "OperationalError"


def read_fault(error: BaseException) -> StoreError | None:
    """Ours for the driver's error in a read, or None where it already says what it is.

    A refused write is there the reader's own mistake and closes nothing.
    """
    if server_gone(error):
        return unavailable(error, "nothing was changed; the read may be tried again")
    return None if _code(error) == _READONLY else broken_by(error)


def worth_repeating(error: BaseException) -> bool:
    """PostgreSQL chose this transaction as the one to give way; the same body may be run again."""
    return _code(error) in _TRY_AGAIN


def unavailable(error: BaseException, consequence: str) -> StoreUnavailable:
    """`consequence` says what this means for what was asked, and what to do."""
    return StoreUnavailable(f"the database server does not answer ({_first_line(driver_error(error))}): {consequence}")


def uniform(error: BaseException, conn: Connection) -> BaseException:
    """A driver's own error (from BEGIN, COMMIT or compiled text) as the SQLAlchemy error a body would have seen."""
    driver = conn.dialect.loaded_dbapi.Error
    if not isinstance(error, driver):
        return error
    return DBAPIError.instance(None, None, error, driver, dialect=conn.dialect)


def again(error: StoreError) -> StoreError:
    """The same error for another waiter: one exception raised in several tasks mixes up their tracebacks."""
    return type(error)(*error.args)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
