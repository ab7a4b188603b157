"""What every transaction may rely on, on both databases."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from core.errors import StoreClosed
from core.store import Store, open_store, sqlite_url
from core.store.engine import is_sqlite, sqlite_path

from .store_world import Held, a_schema, add, answer_nobody, count, keys


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "data" / "notes.db")
    return str(request.getfixturevalue("postgres").new_store())


@pytest.fixture
async def store(url: str, tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(url, a_schema(tmp_path / "revisions")) as store:
        yield store


@pytest.fixture(params=["on its thread", "inline"])
async def either(request: pytest.FixtureRequest, url: str, tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(url, a_schema(tmp_path / "revisions"), inline=request.param == "inline") as store:
        yield store


async def test_a_write_returns_what_its_body_returned_and_a_read_sees_it(either: Store) -> None:
    first = await either.write(add, "first")
    second = await either.write(add, "第二")

    assert second == first + 1
    assert await either.read(keys) == ["first", "第二"]
    assert either.read_now(count) == 2


async def test_an_error_in_a_body_reaches_its_caller_unchanged_and_leaves_nothing(either: Store) -> None:
    def stumble(conn: Connection) -> None:
        add(conn, "half")
        raise LookupError("no such note")

    with pytest.raises(LookupError, match="no such note"):
        await either.write(stumble)

    assert await either.write(add, "next")
    assert await either.read(keys) == ["next"]


async def test_a_constraint_that_fails_at_commit_is_the_same_error_as_one_in_a_statement(either: Store) -> None:
    await either.write(add, "taken")

    for body in (add, answer_nobody):
        with pytest.raises(IntegrityError):
            await either.write(body, "taken" if body is add else "orphan")

    assert await either.read(keys) == ["taken"]


ENDINGS: dict[str, Callable[[Connection], object]] = {
    "conn.commit()": lambda conn: conn.commit(),
    "conn.rollback()": lambda conn: conn.rollback(),
    "commit text": lambda conn: conn.exec_driver_sql("COMMIT"),
    "end text": lambda conn: conn.execute(text(" end")),
    "rollback text": lambda conn: conn.exec_driver_sql("rollback;"),
    "begin text": lambda conn: conn.exec_driver_sql("BEGIN"),
    "conn.close()": lambda conn: conn.close(),
    "a cursor as answer": lambda conn: conn.exec_driver_sql("SELECT 1"),
}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_body_that_ends_its_transaction_is_refused_alone(store: Store, ending: str) -> None:
    def end_it(conn: Connection) -> object:
        add(conn, "half")
        return ENDINGS[ending](conn)

    held = Held()
    first = asyncio.create_task(store.write(held.add, "first"))
    await held.entered()
    everybody = asyncio.gather(
        first, store.write(add, "a"), store.write(end_it), store.write(add, "b"), return_exceptions=True
    )
    await asyncio.sleep(0)
    held.go()
    outcomes = await everybody

    assert [type(outcome) for outcome in outcomes if isinstance(outcome, Exception)] in ([RuntimeError], [TypeError])
    assert isinstance(outcomes[2], Exception)
    assert await store.read(keys) == ["first", "a", "b"]
    assert store.broken is None


async def test_a_body_may_use_a_savepoint_of_its_own(either: Store) -> None:
    def add_if_free(conn: Connection, key: str) -> bool:
        try:
            with conn.begin_nested():
                add(conn, key)
        except IntegrityError:
            return False
        return True

    assert await either.write(add_if_free, "one") is True
    assert await either.write(add_if_free, "one") is False

    assert await either.read(keys) == ["one"]


async def test_a_body_that_goes_on_after_a_failed_statement_is_never_told_a_lie(store: Store) -> None:
    def swallow(conn: Connection) -> None:
        add(conn, "before")
        try:
            add(conn, "before")
        except IntegrityError:
            pass

    if is_sqlite(store.url):
        await store.write(swallow)
        assert await store.read(keys) == ["before"]
    else:  # PostgreSQL would answer this COMMIT with a silent rollback
        with pytest.raises(RuntimeError, match="ON CONFLICT"):
            await store.write(swallow)
        assert await store.read(keys) == []


async def test_nobody_is_answered_before_the_commit(store: Store) -> None:
    held, last = Held(), Held()
    first = asyncio.create_task(store.write(held.add, "first"))
    await held.entered()
    neighbour = asyncio.create_task(store.write(add, "neighbour"))
    slow = asyncio.create_task(store.write(last.add, "slow"))
    await asyncio.sleep(0)

    held.go()
    await last.entered()

    for task, key in ((first, "first"), (neighbour, "neighbour"), (slow, "slow")):
        assert not task.done() or key in await store.read(keys)
    assert not slow.done()
    last.go()
    await asyncio.gather(first, neighbour, slow)
    assert await store.read(keys) == ["first", "neighbour", "slow"]


async def test_one_failing_body_does_not_fail_its_neighbours(store: Store) -> None:
    held = Held()
    first = asyncio.create_task(store.write(held.add, "first"))
    await held.entered()
    group = [asyncio.create_task(store.write(add, key)) for key in ("a", "first", "b", "a", "c")]
    await asyncio.sleep(0)

    held.go()
    outcomes = await asyncio.gather(first, *group, return_exceptions=True)

    assert [isinstance(outcome, IntegrityError) for outcome in outcomes] == [False, False, True, False, True, False]
    assert await store.read(keys) == ["first", "a", "b", "c"]


async def test_a_commit_that_fails_is_its_cause_alone_and_the_others_are_committed_by_repetition(store: Store) -> None:
    held = Held()
    first = asyncio.create_task(store.write(held.add, "first"))
    await held.entered()
    group = [
        asyncio.create_task(store.write(add, "a")),
        asyncio.create_task(store.write(answer_nobody, "orphan")),
        asyncio.create_task(store.write(add, "b")),
    ]
    await asyncio.sleep(0)

    held.go()
    outcomes = await asyncio.gather(first, *group, return_exceptions=True)

    assert isinstance(outcomes[2], IntegrityError)
    assert [isinstance(outcome, int) for outcome in outcomes] == [True, True, False, True]
    assert await store.read(keys) == ["first", "a", "b"]


@pytest.mark.parametrize("raised", [SystemExit, StopIteration, asyncio.CancelledError])
async def test_an_odd_exception_in_a_body_neither_ends_the_writer_nor_leaves_a_neighbour_waiting(
    either: Store, raised: type[BaseException]
) -> None:
    def odd(conn: Connection) -> None:
        add(conn, "odd")
        raise raised

    outcomes = await asyncio.gather(
        either.write(add, "a"), either.write(odd), either.write(add, "b"), return_exceptions=True
    )

    assert [type(outcome) for outcome in outcomes] == [int, RuntimeError, int]
    assert await either.read(keys) == ["a", "b"]


async def test_a_cancelled_write_runs_to_its_end_and_leaves_no_transaction_open(store: Store) -> None:
    held = Held()
    running = asyncio.create_task(store.write(held.add, "running"))
    await held.entered()
    waiting = asyncio.create_task(store.write(add, "waiting"))
    await asyncio.sleep(0)

    running.cancel()
    waiting.cancel()
    held.go()
    outcomes = await asyncio.gather(running, waiting, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError, asyncio.CancelledError]
    assert await store.write(add, "next")
    assert await store.read(keys) == ["running", "waiting", "next"]


async def test_a_read_is_one_snapshot_however_much_is_written_meanwhile(store: Store) -> None:
    await store.write(add, "before")
    held = Held()
    reading = asyncio.create_task(store.read(held.count_twice))
    await held.entered()

    await store.write(add, "meanwhile")
    held.go()

    assert await reading == (1, 1)
    assert await store.read(count) == 2


async def test_a_read_cannot_write(either: Store) -> None:
    with pytest.raises(DBAPIError):
        await either.read(add, "sneaked in")

    assert await either.write(add, "next")
    assert await either.read(keys) == ["next"]
    assert either.broken is None


@pytest.mark.parametrize("ending", ["conn.commit()", "commit text", "rollback text"])
async def test_a_read_cannot_leave_its_snapshot(either: Store, ending: str) -> None:
    def leave(conn: Connection) -> None:
        count(conn)
        ENDINGS[ending](conn)

    with pytest.raises(RuntimeError, match="must not begin, commit or roll back"):
        await either.read(leave)

    assert await either.read(count) == 0


async def test_a_cancelled_read_does_not_hold_its_snapshot(store: Store) -> None:
    held = Held()
    reading = asyncio.create_task(store.read(held.count_twice))
    await held.entered()

    reading.cancel()
    held.go()
    await asyncio.gather(reading, return_exceptions=True)
    for number in range(20):
        await store.write(add, str(number))
    await store.read(count)

    assert _snapshots_held(store) == 0


def _snapshots_held(store: Store) -> int:
    if not is_sqlite(store.url):
        idle = "SELECT count(*) FROM pg_stat_activity WHERE application_name = current_setting('application_name') AND state LIKE 'idle in %%'"
        return int(store.read_now(lambda conn: conn.exec_driver_sql(idle).scalar_one()))
    with sqlite3.connect(sqlite_path(store.url)) as conn:
        busy, _, _ = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    conn.close()
    return int(busy)


async def test_leaving_the_store_answers_everybody_who_waits_and_refuses_who_comes_later(
    url: str, tmp_path: Path
) -> None:
    store = open_store(url, a_schema(tmp_path / "revisions"))
    held, reading = Held(), Held()
    waiting = [asyncio.create_task(store.write(held.add, "first"))]
    await held.entered()
    waiting += [asyncio.create_task(store.write(add, str(number))) for number in range(200)]
    slow_read = asyncio.create_task(store.read(reading.count_twice))
    await reading.entered()

    leaving = asyncio.create_task(store.__aexit__(None, None, None))
    await asyncio.sleep(0.05)
    for late in (store.write(add, "late"), store.read(count)):
        with pytest.raises(StoreClosed):
            await late
    held.go()
    reading.go()
    await leaving

    assert all(isinstance(note, int) for note in await asyncio.wait_for(asyncio.gather(*waiting), 5))
    assert await slow_read == (0, 0)
    with open_store(url, a_schema(tmp_path / "revisions")) as again:
        assert again.read_now(count) == 201


async def test_a_store_left_twice_and_by_two_threads_is_closed_once(store: Store) -> None:
    leaving = [asyncio.to_thread(store.close) for _ in range(3)]
    await asyncio.gather(*leaving)
    store.close()

    with pytest.raises(StoreClosed):
        await store.write(add, "late")
    with pytest.raises(StoreClosed):
        store.read_now(count)


def test_a_loop_that_ended_before_its_answer_does_not_stop_the_writer(url: str, tmp_path: Path) -> None:
    with open_store(url, a_schema(tmp_path / "revisions")) as store:
        held = Held()

        async def ask_and_leave() -> None:
            asking = asyncio.create_task(store.write(held.add, "unheard"))
            await held.entered()
            asking.cancel()

        asyncio.run(ask_and_leave())
        held.go()

        assert asyncio.run(store.write(add, "heard"))
        assert store.read_now(keys) == ["unheard", "heard"]


async def test_text_in_a_number_is_refused(either: Store) -> None:
    def wrong_type(conn: Connection) -> None:
        conn.exec_driver_sql("INSERT INTO notes (key, size) VALUES ('a', 'many')")

    def wrong_flag(conn: Connection) -> None:
        conn.exec_driver_sql("INSERT INTO notes (key, read) VALUES ('a', 2)")

    for body in (wrong_type, wrong_flag):
        with pytest.raises(DBAPIError):
            await either.write(body)

    assert await either.read(count) == 0


async def test_two_hundred_senders_are_all_answered(store: Store) -> None:
    answers = await asyncio.gather(*(store.write(add, f"{number}") for number in range(200)))

    assert len(set(answers)) == 200
    assert await store.read(count) == 200
