"""The writing connection: runs bodies in one transaction, commits them, and says what became of each.

Transactions that waited together share one COMMIT, each inside its own SAVEPOINT, so that one failing does not fail its
neighbours. A group whose COMMIT fails (a deferred constraint) is repeated one by one: bodies may run twice. Disk full,
I/O error and corruption fail every waiter and close the store for writing; see `faults.broken_by`.

Threads, queues and event loops are not known here; see `writer`.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine

from core.errors import StoreBroken, StoreError, StoreUnavailable

from .faults import again, broken_by, is_busy, server_gone, unavailable, uniform, worth_repeating
from .guard import forbid_commit, forbid_rollback, name_of, refuse_cursor

log = logging.getLogger(__name__)

ATTEMPTS = 3  # of one body, where the database itself asks for another

Body = Callable[..., Any]  # a transaction returns whatever plain data it likes; `Store.write` gives it its type back


class Job(NamedTuple):
    body: Body
    args: tuple[Any, ...]
    answer: "asyncio.Future[Any]"


class Done(NamedTuple):
    answer: "asyncio.Future[Any]"
    value: Any
    error: BaseException | None


class Transactions:
    """Commits batches of jobs, one after the other. One thread at a time; nothing raises out of `commit`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sqlite = engine.dialect.name == "sqlite"
        self._begin_text = "BEGIN IMMEDIATE" if self._sqlite else "BEGIN"
        self.broken: StoreBroken | None = None
        forbid_commit(engine)
        forbid_rollback(engine)
        self._conn = engine.connect()

    def commit(self, batch: Sequence[Job], *, attempts: int = ATTEMPTS) -> list[Done]:
        """What became of each job. Nothing is called done before the COMMIT returned."""
        if self.broken:
            return _all_failed(batch, self.broken)
        try:
            return self._transaction(batch)
        except BaseException as error:  # sys.exit() in a body is that body's failure, not the writer's end
            self._undo()
            if fate := self._fate_of_all(error):
                return _all_failed(batch, fate)
            if len(batch) == 1 and (attempts == 1 or not worth_repeating(error)):
                return [Done(batch[0].answer, None, uniform(error, self._conn))]
        return [done for job in batch for done in self.commit([job], attempts=attempts - 1)]

    def empty_log(self) -> None:
        """Bytes that were overwritten or deleted stay in the write-ahead log until it is emptied. Between transactions."""
        if self._sqlite and not self.broken and usable(self._conn):
            driver_of(self._conn).execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        drop(self._conn)

    def _transaction(self, batch: Sequence[Job]) -> list[Done]:
        self._begin()
        done = [self._in_savepoint(job) for job in batch] if len(batch) > 1 else [self._run(batch[0])]
        try:
            driver_of(self._conn).execute("COMMIT")
        except Exception as error:
            if server_gone(error):
                raise unavailable(error, "whether the write happened is unknown; read before trying again") from error
            raise
        return done

    def _begin(self) -> None:
        """Opens the transaction, on a new connection where the old one died while nobody used it."""
        try:
            self._connect()
            driver_of(self._conn).execute(self._begin_text)
        except Exception as error:
            if is_busy(error):
                raise StoreUnavailable(
                    "another program holds the store's file for writing: close it (a database browser?); the write "
                    "did not happen and may be tried again"
                ) from error
            if not server_gone(error):
                raise
            drop(self._conn)
            self._connect()
            driver_of(self._conn).execute(self._begin_text)

    def _connect(self) -> None:
        if not usable(self._conn):
            drop(self._conn)
            self._conn = self._engine.connect()

    def _run(self, job: Job) -> Done:
        value = job.body(self._conn, *job.args)
        refuse_cursor(job.body, value)
        if not usable(self._conn):
            raise RuntimeError(f"{name_of(job.body)} closed the store's connection: leave it open")
        self._check_still_open(job.body)
        return Done(job.answer, value, None)

    def _check_still_open(self, body: Body) -> None:
        match transaction_state(driver_of(self._conn)):
            case "open":
                return
            case "failed":  # PostgreSQL answers COMMIT with a silent ROLLBACK here
                raise RuntimeError(
                    f"{name_of(body)} went on after a statement failed, which PostgreSQL does not allow: use ON "
                    "CONFLICT, or `with conn.begin_nested()` around that statement"
                )
            case _:
                raise StoreBroken(
                    f"the transaction ended inside {name_of(body)}, so what is on disk is unknown: nothing more is "
                    "written; start again, and report this fault"
                )

    def _in_savepoint(self, job: Job) -> Done:
        execute = driver_of(self._conn).execute
        execute("SAVEPOINT one")
        try:
            done = self._run(job)
        except BaseException as error:
            if broken_by(error) or not usable(self._conn) or transaction_state(driver_of(self._conn)) != "open":
                raise
            execute("ROLLBACK TO one")
            done = Done(job.answer, None, error)
        execute("RELEASE one")
        return done

    def _undo(self) -> None:
        # A COMMIT that fails leaves SQLite inside the transaction, while a full disk has already rolled it back: ask.
        try:
            if usable(self._conn) and transaction_state(driver_of(self._conn)) != "none":
                driver_of(self._conn).execute("ROLLBACK")
        except Exception:
            log.warning("rollback failed, the connection is dropped")
            drop(self._conn)

    def _fate_of_all(self, error: BaseException) -> StoreError | None:
        """The error that every job of the batch gets, or None where each has a fate of its own."""
        if broken := broken_by(error):
            self.broken = broken  # without the driver's error, whose frames would hold the connection open for ever
            log.error("store closed for writing: %s", broken)
            return broken
        if server_gone(error):
            drop(self._conn)
            return unavailable(error, "the write did not happen; it may be tried again, on a new connection")
        return error if isinstance(error, StoreUnavailable) else None


def _all_failed(batch: Sequence[Job], error: StoreError) -> list[Done]:
    return [Done(job.answer, None, again(error)) for job in batch]


def driver_of(conn: Connection) -> Any:  # sqlite3.Connection or psycopg.Connection: they share execute()
    return conn.connection.driver_connection


def transaction_state(driver: Any) -> str:  # of either kind, as above
    """What the driver itself says: "open", "failed" (PostgreSQL, until ROLLBACK) or "none"."""
    if isinstance(driver, sqlite3.Connection):
        return "open" if driver.in_transaction else "none"
    return {2: "open", 3: "failed"}.get(driver.pgconn.transaction_status, "none")  # libpq: PQTRANS_INTRANS, _INERROR


def drop(conn: Connection) -> None:
    """Closes the driver's connection, which rolls back. Not `close()`: that is a rollback to SQLAlchemy, and forbidden."""
    if not conn.closed and not conn.invalidated:
        conn.invalidate()


def usable(conn: Connection) -> bool:
    if conn.closed or conn.invalidated:
        return False
    transaction = conn.get_transaction()
    return not getattr(driver_of(conn), "closed", False) and (transaction is None or transaction.is_active)
