"""What only a server can do to us: end a connection, stop, deadlock, run out of disk."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection

from core.errors import StoreBroken, StoreFull, StoreUnavailable
from core.store import Store, open_store

from .postgres import Cluster
from .store_world import a_schema, add, count, keys


@pytest.fixture
def url(postgres: Cluster) -> str:
    return postgres.new_store()


@pytest.fixture
async def store(url: str, tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(url, a_schema(tmp_path / "revisions")) as store:
        yield store


def sleep_after_adding(conn: Connection, key: str) -> None:
    add(conn, key)
    conn.exec_driver_sql("SELECT pg_sleep(30)")


def sleep_at_commit(conn: Connection) -> None:
    """From now on every COMMIT that adds an answer takes very long."""
    conn.exec_driver_sql(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(30); RETURN NULL; END'"
    )
    conn.exec_driver_sql(
        "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION slow()"
    )


async def ended(postgres: Cluster, url: str, task: "asyncio.Task[object]") -> None:
    """Kills the store's connections until the transaction that runs on one of them notices."""
    while not task.done():
        await asyncio.sleep(0.05)
        await asyncio.to_thread(postgres.end_backends, url)


async def test_a_killed_backend_fails_the_one_that_waits_and_the_next_write_works(
    store: Store, postgres: Cluster, url: str
) -> None:
    running = asyncio.create_task(store.write(sleep_after_adding, "lost"))
    waiting = asyncio.create_task(store.write(add, "next"))
    await ended(postgres, url, running)

    with pytest.raises(StoreUnavailable, match="did not happen"):
        await running
    assert await waiting
    assert await store.read(keys) == ["next"]


async def test_a_connection_that_died_while_nobody_used_it_is_replaced_unnoticed(
    store: Store, postgres: Cluster, url: str
) -> None:
    await store.write(add, "before")
    assert await asyncio.to_thread(postgres.end_backends, url) >= 1

    assert await store.write(add, "after")
    assert await store.read(keys) == ["before", "after"]


async def test_a_connection_lost_during_commit_is_called_unknown(store: Store, postgres: Cluster, url: str) -> None:
    await store.write(sleep_at_commit)
    running = asyncio.create_task(store.write(add, "perhaps"))
    await ended(postgres, url, running)

    with pytest.raises(StoreUnavailable, match="unknown"):
        await running
    assert store.broken is None


async def test_a_read_whose_backend_is_killed_says_so_and_the_next_read_works(
    store: Store, postgres: Cluster, url: str
) -> None:
    reading = asyncio.create_task(store.read(lambda conn: conn.exec_driver_sql("SELECT pg_sleep(30)").scalar()))
    await ended(postgres, url, reading)

    with pytest.raises(StoreUnavailable, match="read may be tried again"):
        await reading
    assert await store.read(count) == 0


async def test_a_stopped_server_is_said_and_after_its_start_all_goes_on(store: Store, postgres: Cluster) -> None:
    await store.write(add, "before")
    await store.read(count)
    postgres.stop()
    try:
        for ask in (store.write(add, "refused"), store.write(add, "refused"), store.read(count)):
            with pytest.raises(StoreUnavailable, match="does not answer"):
                await ask
    finally:
        postgres.start()

    assert await store.write(add, "after")
    assert await store.read(keys) == ["before", "after"]


def test_a_server_that_does_not_answer_at_the_start_is_named_without_its_password(tmp_path: Path) -> None:
    nowhere = "postgresql+psycopg://ann:secret@127.0.0.1:1/pen"

    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1/pen") as refused:
        open_store(nowhere, a_schema(tmp_path / "revisions"))

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(("state", "meaning"), [("53100", StoreFull), ("58030", StoreBroken), ("XX001", StoreBroken)])
async def test_a_servers_failing_disk_closes_the_store_for_writing(
    store: Store, state: str, meaning: type[StoreBroken]
) -> None:
    def fail(conn: Connection) -> None:
        conn.exec_driver_sql(f"DO $$ BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = '{state}'; END $$")

    await store.write(add, "kept")
    with pytest.raises(meaning, match="no space"):
        await store.write(fail)
    with pytest.raises(meaning):
        await store.write(add, "refused")

    assert await store.read(keys) == ["kept"]


async def test_two_bodies_that_lock_each_other_out_are_both_done_in_the_end(
    store: Store, url: str, tmp_path: Path
) -> None:
    meeting = threading.Barrier(2, timeout=5)
    met: set[str] = set()

    def bump_both(conn: Connection, first: str, second: str) -> None:
        bump = "UPDATE notes SET size = size + 1 WHERE key = %s"
        conn.exec_driver_sql(bump, (first,))
        if first not in met:
            met.add(first)
            meeting.wait()
        conn.exec_driver_sql(bump, (second,))

    await store.write(add, "a")
    await store.write(add, "b")
    async with open_store(url, a_schema(tmp_path / "revisions")) as other:
        await asyncio.gather(store.write(bump_both, "a", "b"), other.write(bump_both, "b", "a"))

    sizes = "SELECT size FROM notes ORDER BY key"
    assert await store.read(lambda conn: conn.exec_driver_sql(sizes).scalars().all()) == [2, 2]


RACER = """
import asyncio, sys
from pathlib import Path
from core.store import open_store
from tests.store_world import METADATA, Schema, add

def spend(conn, account):
    return conn.exec_driver_sql(
        "UPDATE notes SET size = size + 1 WHERE key = %s AND size < 75 RETURNING size", (account,)
    ).scalar()

async def main():
    async with open_store(sys.argv[1], Schema(METADATA, Path(sys.argv[2]))) as store:
        accounts = [("pool", "day")[number % 2] for number in range(200)]
        granted = await asyncio.gather(*(store.write(spend, account) for account in accounts))
        print(sum(grant is not None for grant in granted))

asyncio.run(main())
"""


async def test_two_processes_race_for_the_same_rows_without_deadlock_or_overdraft(
    store: Store, url: str, tmp_path: Path
) -> None:
    for account in ("pool", "day"):
        await store.write(add, account)
    command = [sys.executable, "-c", RACER, url, str(tmp_path / "revisions")]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    outcomes = [await asyncio.to_thread(racer.communicate, timeout=60) for racer in racers]

    assert [errors for _, errors in outcomes] == ["", ""]
    assert sum(int(granted) for granted, _ in outcomes) == 150
    assert await store.read(lambda conn: conn.exec_driver_sql("SELECT sum(size) FROM notes").scalar()) == 150


def test_two_programs_that_start_at_once_migrate_once(url: str, tmp_path: Path) -> None:
    schema = a_schema(tmp_path / "revisions")
    problems: list[BaseException] = []

    def start() -> None:
        try:
            open_store(url, schema).close()
        except BaseException as error:
            problems.append(error)

    starting = [threading.Thread(target=start) for _ in range(3)]
    for thread in starting:
        thread.start()
    for thread in starting:
        thread.join()

    assert problems == []
