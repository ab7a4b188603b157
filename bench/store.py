"""What a durable transaction costs, as ratios to plain `sqlite3` in the same run: `python -m bench.store`.

Absolute figures depend on the machine and on who else uses it; ratios and CPU time do not. Every measurement is taken
three times, interleaved, and the best one counts. A row whose floor itself varies more than threefold says so and judges
nothing. Ends with 1 when a goal is missed.
"""

import asyncio
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Connection, bindparam, insert

from core.store import Compiled, Store, sqlite_url
from core.store.columns import new_metadata, number, row_id, table, text
from core.store.engine import open_engine, prepare_sqlite

REPEATS = 3
SENDERS = 200
TRANSACTIONS = 3_000
SLOW_TRANSACTIONS = 1_000  # where each has a COMMIT of its own
STEADY = 3.0
BODY = "今天的风很大，我们在河边走了很久，说起去年冬天的事。" * 3

METADATA = new_metadata()
EVENTS = table(METADATA, "events", row_id(), text("key", unique=True), text("body"), comment="one update")
JOBS = table(METADATA, "jobs", row_id(), number("event_id"), text("state"), comment="one thing to do")

_EVENT = insert(EVENTS).returning(EVENTS.c.id)
_JOB = insert(JOBS)
_EVENT_TEXT = Compiled(insert(EVENTS).values(key=bindparam("key"), body=bindparam("body")).returning(EVENTS.c.id))
_JOB_TEXT = Compiled(insert(JOBS).values(event_id=bindparam("event_id"), state=bindparam("state")))


def accept(conn: Connection, key: str) -> int:
    """The intake transaction in SQLAlchemy Core, its statements built once."""
    event = int(conn.execute(_EVENT, {"key": key, "body": BODY}).scalar_one())
    conn.execute(_JOB, {"event_id": event, "state": "ready"})
    return event


def accept_compiled(conn: Connection, key: str) -> int:
    """The same as text compiled once."""
    event = int(_EVENT_TEXT.run(conn, {"key": key, "body": BODY})[0][0])
    _JOB_TEXT.run(conn, {"event_id": event, "state": "ready"})
    return event


def accept_raw(driver: sqlite3.Connection, key: str) -> None:
    """The floor: the same in plain `sqlite3`, with a COMMIT of its own."""
    driver.execute("BEGIN IMMEDIATE")
    (event,) = driver.execute("INSERT INTO events (key, body) VALUES (?, ?) RETURNING id", (key, BODY)).fetchone()
    driver.execute("INSERT INTO jobs (event_id, state) VALUES (?, 'ready')", (event,))
    driver.execute("COMMIT")


@dataclass(frozen=True)
class Measured:
    per_second: float
    cpu_us: float
    p99_ms: float


Body = Callable[[Connection, str], int]
Write = Callable[[str], Awaitable[object]]


async def _send(write: Write, senders: int, transactions: int) -> list[float]:
    """Seconds that each caller waited."""
    keys = iter(range(transactions))
    waited: list[float] = []

    async def sender() -> None:
        for key in keys:
            begun = time.perf_counter()
            await write(str(key))
            waited.append(time.perf_counter() - begun)

    await asyncio.gather(*(sender() for _ in range(senders)))
    return waited


def _measured(work: Callable[[], list[float]]) -> Measured:
    wall, cpu = time.perf_counter(), time.process_time()
    waited = sorted(work())
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    count = len(waited)
    return Measured(count / seconds, cpu_seconds / count * 1e6, waited[min(count - 1, int(count * 0.99))] * 1e3)


def through_the_store(path: Path, body: Body, *, senders: int, transactions: int, group: int = 64) -> Measured:
    with Store(sqlite_url(path), None, group=group) as store:
        asyncio.run(_send(lambda key: store.write(body, "warm " + key), 1, 20))
        return _measured(lambda: asyncio.run(_send(lambda key: store.write(body, key), senders, transactions)))


def _raw(path: Path) -> sqlite3.Connection:
    driver = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    prepare_sqlite(driver, path, read_only=False)
    return driver


def raw_loop(path: Path, transactions: int) -> Measured:
    """No loop, no thread: one transaction after the other."""

    def work() -> list[float]:
        waited = []
        for key in range(transactions):
            begun = time.perf_counter()
            accept_raw(driver, str(key))
            waited.append(time.perf_counter() - begun)
        return waited

    with closing(_raw(path)) as driver:
        return _measured(work)


def raw_hop(path: Path, transactions: int) -> Measured:
    """One hop from the event loop to a thread for each transaction, which is the least an asyncio program pays."""
    with closing(_raw(path)) as driver, ThreadPoolExecutor(1) as thread:

        async def work() -> list[float]:
            loop = asyncio.get_running_loop()
            return await _send(lambda key: loop.run_in_executor(thread, accept_raw, driver, key), 1, transactions)

        return _measured(lambda: asyncio.run(work()))


MEASUREMENTS: dict[str, Callable[[Path], Measured]] = {
    "raw loop": lambda path: raw_loop(path, TRANSACTIONS),
    "raw hop": lambda path: raw_hop(path, SLOW_TRANSACTIONS),
    "text, 200 senders": lambda path: through_the_store(
        path, accept_compiled, senders=SENDERS, transactions=TRANSACTIONS * 3
    ),
    "text, 200 senders, no group": lambda path: through_the_store(
        path, accept_compiled, senders=SENDERS, transactions=TRANSACTIONS, group=1
    ),
    "core, 200 senders": lambda path: through_the_store(path, accept, senders=SENDERS, transactions=TRANSACTIONS),
    "text, 1 sender": lambda path: through_the_store(path, accept_compiled, senders=1, transactions=SLOW_TRANSACTIONS),
    "core, 1 sender": lambda path: through_the_store(path, accept, senders=1, transactions=SLOW_TRANSACTIONS),
}


def measure_all() -> dict[str, list[Measured]]:
    found: dict[str, list[Measured]] = {name: [] for name in MEASUREMENTS}
    for _ in range(REPEATS):
        for name, measure in MEASUREMENTS.items():
            with TemporaryDirectory(prefix="penfriend-bench-") as folder:
                path = Path(folder) / "bench.db"
                _create(path)
                found[name].append(measure(path))
    return found


def _create(path: Path) -> None:
    engine = open_engine(sqlite_url(path))
    METADATA.create_all(engine)
    engine.dispose()


@dataclass(frozen=True)
class Goal:
    name: str
    figure: Callable[[Measured], float]
    floor: str
    measured: str
    at_least: float | None = None
    at_most: float | None = None


def _speed(one: Measured) -> float:
    return one.per_second


def _wait(one: Measured) -> float:
    return one.p99_ms


def _cpu(one: Measured) -> float:
    return one.cpu_us


GOALS = (
    Goal("G1 intake per second, 200 senders / raw loop", _speed, "raw loop", "text, 200 senders", at_least=2.5),
    Goal(
        "G2 intake p99 ms, 200 senders / without groups",
        _wait,
        "text, 200 senders, no group",
        "text, 200 senders",
        at_most=0.25,
    ),
    Goal("G3 CPU us a transaction, Core, 1 sender / raw hop", _cpu, "raw hop", "core, 1 sender", at_most=4.0),
    Goal("G3 CPU us a transaction, intake, 1 sender / raw hop", _cpu, "raw hop", "text, 1 sender", at_most=1.5),
    Goal("G3 CPU us a transaction, Core, 200 senders / raw hop", _cpu, "raw hop", "core, 200 senders", at_most=4.0),
    Goal("G3 CPU us a transaction, intake, 200 senders / raw hop", _cpu, "raw hop", "text, 200 senders", at_most=1.5),
)


def judge(goal: Goal, found: dict[str, list[Measured]]) -> tuple[str, bool]:
    """A line for the reader, and whether the goal is met (or cannot be judged)."""
    best = max if goal.at_least is not None else min
    floors = [goal.figure(one) for one in found[goal.floor]]
    floor, measured = best(floors), best(goal.figure(one) for one in found[goal.measured])
    ratio = measured / floor
    target = f">= {goal.at_least}" if goal.at_least is not None else f"<= {goal.at_most}"
    line = f"{goal.name:<56} {measured:>9.1f} / {floor:>9.1f} = {ratio:>6.2f}  goal {target}"
    if max(floors) > STEADY * min(floors):
        return f"{line}  not judged: the floor varied {max(floors) / min(floors):.1f}x", True
    met = ratio >= goal.at_least if goal.at_least is not None else ratio <= (goal.at_most or 0)
    return f"{line}  {'met' if met else 'MISSED'}", met


def main() -> int:
    found = measure_all()
    print(f"SQLite {sqlite3.sqlite_version}, FULL, two inserts a transaction; best of {REPEATS}")
    for name, repeats in found.items():
        print(
            f"  {name:<28} {max(one.per_second for one in repeats):>8.0f}/s  p99 {min(one.p99_ms for one in repeats):>7.2f} ms"
            f"  CPU {min(one.cpu_us for one in repeats):>6.1f} us"
        )
    verdicts = [judge(goal, found) for goal in GOALS]
    print("\n".join(line for line, _ in verdicts))
    return 0 if all(met for _, met in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
