"""The one thread that writes: it gathers what waits, has it committed together, and wakes each event loop once.

On PostgreSQL a group is one transaction: grouped ones hold row locks in order of arrival and deadlock between processes.
"""

import asyncio
import logging
import queue
import sqlite3
import threading
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine

from core.errors import StoreBroken, StoreClosed

from .faults import again
from .transaction import Body, Done, Job, Transactions

log = logging.getLogger(__name__)

GROUP = 64


class Writer:
    """Owns the writing connection. `inline=True` runs each transaction in the caller's thread, with the same code."""

    def __init__(self, engine: Engine, *, group: int = GROUP, inline: bool = False) -> None:
        self._transactions = Transactions(engine)
        self._group = group if engine.dialect.name == "sqlite" else 1
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closing = False
        self._empty_log = threading.Event()
        self._thread = None if inline else threading.Thread(target=self._run, name="store-write", daemon=True)
        if self._thread:
            self._thread.start()

    @property
    def broken(self) -> StoreBroken | None:
        return self._transactions.broken

    def close_for(self, damage: StoreBroken) -> None:
        """A reader found damage: nothing more is written."""
        self._transactions.broken = self._transactions.broken or damage

    def submit(self, body: Body, args: tuple[Any, ...], answer: "asyncio.Future[Any]") -> None:
        job = Job(body, args, answer)
        with self._gate:
            if self._closing:
                raise StoreClosed("the store is closed: the program is stopping")
            if self.broken:
                raise again(self.broken)
            if self._thread:
                self._jobs.put(job)
                return
        _answer(self._committed([job]))

    def empty_log_next(self) -> None:
        """With the transaction that comes next, before it is answered."""
        self._empty_log.set()

    def close(self) -> None:
        """Commits what waits, then ends the thread. Waiters are answered; later callers get StoreClosed."""
        with self._gate:
            already, self._closing = self._closing, True
        if already:
            return
        if self._thread:
            self._jobs.put(None)
            self._thread.join()
        self._transactions.close()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            _wake(self._committed(self._gathered(job)))

    def _committed(self, batch: Sequence[Job]) -> list[Done]:
        done = self._transactions.commit(batch)
        if self._empty_log.is_set():
            self._empty_log.clear()
            try:
                self._transactions.empty_log()
            except sqlite3.Error as problem:  # what was committed stays so, and the next one that asks tries again
                log.warning("the write-ahead log was not emptied: %s", problem)
        return done

    def _gathered(self, first: Job) -> list[Job]:
        batch = [first]
        while len(batch) < self._group and not self._jobs.empty():
            if (more := self._jobs.get()) is None:
                self._jobs.put(None)
                break
            batch.append(more)
        return batch


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
        elif isinstance(error, Exception) and not isinstance(error, StopIteration):
            answer.set_exception(error)
        else:  # sys.exit() would end the loop from inside, and a future refuses StopIteration: the others would wait
            answer.set_exception(RuntimeError(f"a store function raised {error!r}: raise an error instead"))
