"""The one thread that writes, with group commit.

Transactions that wait while another commits share the next COMMIT, each inside its own SAVEPOINT, so that one failing
does not fail its neighbours. A group whose COMMIT fails (a deferred constraint) is repeated one by one: bodies may run
twice. Disk full, I/O error and corruption fail every waiter and close the store for writing; see `faults.broken_by`.

On PostgreSQL a group is one transaction: grouped ones hold row locks in order of arrival and deadlock between processes.
"""

import asyncio
import logging
import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, event

from core.errors import StoreBroken, StoreClosed, StoreError

from .faults import broken_by, unavailable

log = logging.getLogger(__name__)

GROUP = 64

Body = Callable[..., Any]  # a transaction returns whatever plain data it likes; `Store.write` gives it its type back


class Job(NamedTuple):
    body: Body
    args: tuple[Any, ...]
    answer: "asyncio.Future[Any]"


class Done(NamedTuple):
    answer: "asyncio.Future[Any]"
    value: Any
    error: BaseException | None


class Writer:
    """Owns the writing connection. `inline=True` runs each transaction in the caller's thread, with the same code."""

    def __init__(self, engine: Engine, *, group: int = GROUP, inline: bool = False) -> None:
        self._engine = engine
        self._sqlite = engine.dialect.name == "sqlite"
        self._begin = "BEGIN IMMEDIATE" if self._sqlite else "BEGIN"
        self._group = group if self._sqlite else 1
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closing = False
        self.broken: StoreBroken | None = None
        for name in ("commit", "rollback"):
            event.listen(engine, name, _refuse_commit)
        self._conn = engine.connect()
        self._thread = None if inline else threading.Thread(target=self._run, name="store-write", daemon=True)
        if self._thread:
            self._thread.start()

    def submit(self, body: Body, args: tuple[Any, ...], answer: "asyncio.Future[Any]") -> None:
        job = Job(body, args, answer)
        with self._gate:
            if self._closing:
                raise StoreClosed("the store is closed: the program is stopping")
            if self.broken:
                raise self.broken
            if self._thread:
                self._jobs.put(job)
                return
        _answer(self._commit([job]))

    def close(self) -> None:
        """Commits what waits, then ends the thread. Waiters are answered; later callers get StoreClosed."""
        with self._gate:
            already, self._closing = self._closing, True
        if already:
            return
        if self._thread:
            self._jobs.put(None)
            self._thread.join()
        _drop(self._conn)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch = [job]
            while len(batch) < self._group and not self._jobs.empty():
                if (more := self._jobs.get()) is None:
                    self._jobs.put(None)
                    break
                batch.append(more)
            _wake(self._commit(batch))

    def _commit(self, batch: list[Job]) -> list[Done]:
        done = self._together(batch)
        if done is None:
            done = [one for job in batch for one in self._together([job]) or []]
        return done

    def _together(self, batch: list[Job]) -> list[Done] | None:
        """One transaction for the batch; None asks the caller to repeat it one by one."""
        try:
            if self.broken:
                raise self.broken
            self._connect()
            run = _driver(self._conn).execute
            run(self._begin)
            done = [self._one(job) for job in batch] if len(batch) > 1 else [self._alone(batch[0])]
            run("COMMIT")
            return done
        except Exception as error:
            return self._failed(batch, error)

    def _alone(self, job: Job) -> Done:
        return Done(job.answer, job.body(self._conn, *job.args), None)

    def _one(self, job: Job) -> Done:
        run = _driver(self._conn).execute
        run("SAVEPOINT one")
        try:
            done = Done(job.answer, job.body(self._conn, *job.args), None)
        except Exception as error:
            if broken_by(error) or not (_usable(self._conn) and _in_transaction(self._conn)):
                raise
            run("ROLLBACK TO one")
            done = Done(job.answer, None, error)
        run("RELEASE one")
        return done

    def _failed(self, batch: list[Job], error: Exception) -> list[Done] | None:
        # A COMMIT that fails leaves SQLite inside the transaction, while a full disk has already rolled it back: ask.
        try:
            if _usable(self._conn) and _in_transaction(self._conn):
                _driver(self._conn).execute("ROLLBACK")
        except Exception:
            log.warning("rollback failed, the connection is dropped")
            _drop(self._conn)
        if self.broken is None and (broken := broken_by(error)):
            self.broken = broken
            log.error("store closed for writing: %s", broken)
        if self.broken:
            return [Done(job.answer, None, self.broken) for job in batch]
        if len(batch) > 1:
            return None
        lost = None if self._sqlite else unavailable(error)
        if lost:
            lost.__cause__ = error
            _drop(self._conn)
        return [Done(batch[0].answer, None, lost or error)]

    def _connect(self) -> None:
        if _usable(self._conn):
            return
        _drop(self._conn)
        try:
            self._conn = self._engine.connect()
        except Exception as error:
            raise unavailable(error) or StoreError(f"the store cannot be opened: {error}") from error


def _wake(done: Sequence[Done]) -> None:
    """Hands the answers over with one wake-up for each event loop that waits (in a program there is one)."""
    for loop in {one.answer.get_loop() for one in done}:
        mine = [one for one in done if one.answer.get_loop() is loop]
        try:
            loop.call_soon_threadsafe(_answer, mine)
        except RuntimeError:  # the loop is closed: nobody waits any more, and what was committed stays committed
            log.info("%d transactions ended after their caller was gone", len(mine))


def _answer(done: Sequence[Done]) -> None:
    for answer, value, error in done:
        if answer.done():  # a cancelled caller drops the answer; its transaction ran to the end
            continue
        if error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)


def _refuse_commit(_conn: Connection) -> None:
    raise RuntimeError("a store function must not commit or roll back: it is one part of a group")


def _driver(conn: Connection) -> Any:  # sqlite3.Connection or psycopg.Connection: they share execute()
    return conn.connection.driver_connection


def _drop(conn: Connection) -> None:
    if not conn.closed and not conn.invalidated:
        conn.invalidate()  # closes the driver's connection, which rolls back, without a "rollback" event
    conn.close()


def _usable(conn: Connection) -> bool:
    if conn.closed or conn.invalidated:
        return False
    transaction = conn.get_transaction()
    return not getattr(_driver(conn), "closed", False) and (transaction is None or transaction.is_active)


def _in_transaction(conn: Connection) -> bool:
    driver = _driver(conn)
    if conn.dialect.name == "sqlite":
        return bool(driver.in_transaction)
    return driver.info.transaction_status.name in ("INTRANS", "INERROR")
