"""The store a program opens once and hands to its parts."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, TypeVarTuple

from sqlalchemy import Connection

from core.errors import StoreBroken, StoreClosed, StoreError

from .engine import is_sqlite, open_engine, sqlite_path
from .lock import WriterLock
from .migrate import Schema, migrate
from .reading import Reader
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
        self._writing = open_engine(url)
        self._writer = Writer(self._writing, group=group, inline=inline)
        self._reader = Reader(open_engine(url, read_only=True), on_damage=self._writer.close_for)
        self._threads = ThreadPoolExecutor(READERS, "store-read")
        self._leaving = threading.Lock()
        self._closed = False

    @property
    def broken(self) -> StoreBroken | None:
        """Why nothing more can be written, or None while all is well."""
        return self._writer.broken

    async def write(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        """Runs `fn(conn, *args)` as one transaction and answers after its COMMIT.

        Cancelling the caller drops the answer, not the transaction: it runs to its end.
        """
        self._check_open()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._writer.submit(fn, args, answer)
        return await answer

    async def empty_log(self) -> None:
        """After something was erased: its bytes leave the write-ahead log too, unless a reader holds it just now."""
        self._writer.empty_log_next()
        await self.write(_nothing)

    async def read(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        """Runs `fn(conn, *args)` on one snapshot that refuses writes. Keep it short: a long one pins the log."""
        self._check_open()
        if self._inline:
            return self._reader.read(fn, *args)
        try:
            answer = asyncio.get_running_loop().run_in_executor(self._threads, lambda: self._reader.read(fn, *args))
        except RuntimeError as leaving:  # closed by another thread since the check
            raise _closed() from leaving
        return await answer

    def read_now(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        """The same read in the caller's thread, for threads of our own and for commands without a loop."""
        self._check_open()
        return self._reader.read(fn, *args)

    def close(self) -> None:
        """Refuses what comes, finishes what waits. A second caller waits for the first one's end."""
        with self._leaving:
            if self._closed:
                return
            self._closed = True
            try:
                self._threads.shutdown()
                self._reader.close()
                self._writer.close()  # after the readers: the last connection of all empties the log into the file
                self._writing.dispose()
            finally:
                if self._lock:
                    self._lock.release()

    def _check_open(self) -> None:
        if self._closed:
            raise _closed()

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
    """Locks, checks, migrates and opens the store at `url`.

    Errors: StoreLocked (names the pid), StoreTooNew, StoreBroken for a damaged file, StoreUnavailable when no server
    answers, SettingsError for a bad address, StoreError for a place where no file can be made.
    """
    if not is_sqlite(url):
        migrate(url, schema)
        return Store(url, None, group=group, inline=inline)
    path = sqlite_path(url)
    lock = _locked(path)
    try:
        migrate(url, schema)
        return Store(url, lock, group=group, inline=inline)
    except BaseException:
        lock.release()
        raise


def _locked(path: Path) -> WriterLock:
    """Private talk: only the owner's account may read the file. SQLite gives its log the same rights."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = WriterLock(path)
    except OSError as error:
        raise _no_place(path, error) from error
    try:
        path.touch(mode=0o600, exist_ok=True)
        path.chmod(0o600)
    except OSError as error:
        lock.release()
        raise _no_place(path, error) from error
    return lock


def _no_place(path: Path, error: OSError) -> StoreError:
    return StoreError(f"the store {path} cannot be opened ({error.strerror}): correct data_dir or its rights")


def _nothing(_conn: Connection) -> None:
    return None


def _closed() -> StoreClosed:
    return StoreClosed("the store is closed: the program is stopping")
