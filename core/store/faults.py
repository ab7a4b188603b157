"""What a driver's error means to us: which ones close the store for writing, and which say that a server is gone."""

import sqlite3

from core.errors import StoreBroken, StoreError, StoreFull, StoreUnavailable

_IOERR, _CORRUPT, _FULL, _NOTADB = 10, 11, 13, 26


def driver_error(error: BaseException) -> BaseException:
    """SQLAlchemy keeps the driver's own error in `orig`."""
    return getattr(error, "orig", None) or error


def broken_by(error: BaseException) -> StoreBroken | None:
    """The error that closes the store for writing, or None.

    After a failed write or fsync nothing is tried again: the kernel may have dropped the pages it could not write, so
    a second fsync that succeeds proves nothing.
    """
    if isinstance(error, StoreBroken):
        return error
    cause = driver_error(error)
    code = (
        cause.sqlite_errorcode & 255
        if isinstance(cause, sqlite3.Error) and hasattr(cause, "sqlite_errorcode")
        else None
    )
    if code == _FULL:
        return StoreFull(
            f"the store is full ({cause}): nothing was lost; free disk space or raise max_store_bytes, then start again"
        )
    if code == _IOERR:
        return StoreBroken(
            f"the disk under the store reports an error ({cause}): nothing more is written; check the disk, then start again"
        )
    if code in (_CORRUPT, _NOTADB):
        return StoreBroken(
            f"the store is damaged ({cause}): nothing more is written; run `penfriend restore` with the last good backup"
        )
    return None


def unavailable(error: BaseException) -> StoreError | None:
    """A lost PostgreSQL server, told apart from a statement that failed."""
    if getattr(error, "connection_invalidated", False) or type(driver_error(error)).__name__ in (
        "AdminShutdown",
        "OperationalError",
    ):
        return StoreUnavailable(
            f"the database server went away ({type(driver_error(error)).__name__}): the write did not happen or is unknown; it reconnects on the next one"
        )
    return None
