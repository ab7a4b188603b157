"""The store a program opens once and hands to its parts."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, TypeVarTuple

from sqlalchemy import Connection, Engine

from core.errors import StoreBroken, StoreClosed

from .engine import is_sqlite, open_engine, sqlite_path
from .lock import WriterLock
from .migrate import Schema, migrate
from .writer import GROUP, Writer

Args = TypeVarTuple("Args")
T = TypeVar("T")

READERS = 2


class Store:
    """Write and read whole transactions. A context manager: leaving it answers or fails every waiter.

    Errors: StoreBroken once the disk failed, StoreClosed while leaving, StoreUnavailable when a database server is
    gone; whatever the function raised itself comes back unchanged, with nothing of it written.
    """

    def __init__(self, url: str, lock: WriterLock | None, *, group: int = GROUP, inline: bool = False) -> None:
        self.url = url
        self._lock = lock
        self._inline = inline
        self._writing: Engine = open_engine(url)
        self._reading: Engine = open_engine(url, read_only=True)
        self._writer = Writer(self._writing, group=group, inline=inline)
        self._readers = ThreadPoolExecutor(READERS, "store-read")
        self._closed = False

    @property
    def broken(self) -> StoreBroken | None:
        """Why nothing more can be written, or None while all is well."""
        return self._writer.broken

    async def write(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        """Runs `fn(conn, *args)` as one transaction and answers after its COMMIT.

        Cancelling the caller drops the answer, not the transaction: it runs to its end.
        """
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._writer.submit(fn, args, answer)
        return await answer

    async def read(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        """Runs `fn(conn, *args)` on one snapshot that refuses writes. Keep it short: a long one pins the log."""
        if self._closed:
            raise StoreClosed("the store is closed: the program is stopping")
        if self._inline:
            return self.read_now(fn, *args)
        return await asyncio.get_running_loop().run_in_executor(self._readers, lambda: self.read_now(fn, *args))

    def read_now(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        """The same read in the caller's thread, for threads of our own and for commands without a loop."""
        with self._reading.connect() as conn:
            driver: Any = conn.connection.driver_connection
            begin = "BEGIN" if is_sqlite(self.url) else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            driver.execute(begin)
            try:
                return fn(conn, *args)
            finally:
                driver.execute("ROLLBACK")

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self._readers.shutdown()
        self._writing.dispose()
        self._reading.dispose()
        if self._lock:
            self._lock.release()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # On a thread, so that the loop can still take the answers of what is committed on the way out.
        await asyncio.shield(asyncio.get_running_loop().run_in_executor(None, self.close))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def open_store(url: str, schema: Schema, *, group: int = GROUP, inline: bool = False) -> Store:
    """Locks, migrates and opens the store at `url`.

    Errors: StoreLocked (names the pid), StoreTooNew, StoreBroken for a damaged file, SettingsError for a bad address.
    """
    if not is_sqlite(url):
        migrate(url, schema)
        return Store(url, None, group=group, inline=inline)
    path = sqlite_path(url)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = WriterLock(path)
    try:
        _private(path)
        migrate(url, schema)
        return Store(url, lock, group=group, inline=inline)
    except BaseException:
        lock.release()
        raise


def _private(path: Path) -> None:
    """Private talk: only the owner's account may read the file."""
    path.touch(mode=0o600, exist_ok=True)
    path.chmod(0o600)
