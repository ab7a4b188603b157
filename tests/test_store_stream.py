"""Long reads that let go when they are left, and backups while the writer writes."""

import asyncio
import gc
import resource
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import bindparam, func, select, text

from core.errors import BadInput, StoreBroken, StoreError, StoreUnavailable
from core.store import Schema, Store, backup, open_store, sqlite_url, stream
from core.store.engine import is_sqlite, sqlite_path

from .store_world import NOTES, a_schema, add, count
from .test_store_compiled import ADD_SILENTLY

ALL = select(NOTES.c.id, NOTES.c.key).order_by(NOTES.c.id)
MANY = 2_000


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    return a_schema(tmp_path / "revisions")


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, schema: Schema) -> AsyncIterator[Store]:
    sqlite = request.param == "sqlite"
    url = sqlite_url(tmp_path / "notes.db") if sqlite else str(request.getfixturevalue("postgres").new_store())
    async with open_store(url, schema) as store:
        await store.write(ADD_SILENTLY.run_many, [{"key": str(number)} for number in range(MANY)])
        yield store


@pytest.fixture
async def embedded(tmp_path: Path, schema: Schema) -> AsyncIterator[Store]:
    async with open_store(sqlite_url(tmp_path / "notes.db"), schema) as store:
        await store.write(ADD_SILENTLY.run_many, [{"key": str(number)} for number in range(MANY)])
        yield store


@contextmanager
def without_garbage_collector() -> Iterator[None]:
    """What lets go only when the collector happens to run does not let go."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


async def log_can_be_emptied(store: Store) -> bool:
    """Whether no snapshot holds the log; on PostgreSQL, whether no transaction is left open."""
    await store.write(add, f"later than {await store.read(count)}")
    if not is_sqlite(store.url):
        return await _nothing_idle(store)
    with closing(sqlite3.connect(sqlite_path(store.url), timeout=0)) as conn:
        busy, left, moved = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(busy == 0 and left == moved)


async def _nothing_idle(store: Store) -> bool:
    name = "current_setting('application_name')"
    others = f"FROM pg_stat_activity WHERE application_name = {name} AND state LIKE 'idle in%%'"
    for _ in range(50):  # the server notices a closed connection in its own time
        if await store.read(lambda conn: conn.exec_driver_sql(f"SELECT count(*) {others}").scalar()) == 0:
            return True
        await asyncio.sleep(0.02)
    return False


async def test_a_stream_yields_every_row_of_one_snapshot(store: Store) -> None:
    found: list[str] = []
    async with stream(store.url, ALL) as rows:
        async for _, key in rows:
            if not found:
                await store.write(add, "too late for this snapshot")
            found.append(key)

    assert found == [str(number) for number in range(MANY)]
    assert await log_can_be_emptied(store)


async def test_a_stream_takes_values(store: Store) -> None:
    query = select(NOTES.c.key).where(NOTES.c.id > bindparam("after")).order_by(NOTES.c.id)

    async with stream(store.url, query, {"after": MANY - 2}) as rows:
        assert [row async for row in rows] == [(str(MANY - 2),), (str(MANY - 1),)]


async def test_a_stream_that_is_left_early_lets_go_at_once(store: Store) -> None:
    with without_garbage_collector():
        async with stream(store.url, ALL) as rows:
            async for _ in rows:
                break

        assert await log_can_be_emptied(store)


async def test_a_stream_that_is_cancelled_lets_go_at_once(store: Store) -> None:
    reading = asyncio.Event()

    async def read_slowly() -> None:
        async with stream(store.url, ALL) as rows:
            async for _ in rows:
                reading.set()
                await asyncio.sleep(60)

    with without_garbage_collector():
        task = asyncio.create_task(read_slowly())
        await reading.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert await log_can_be_emptied(store)


@pytest.mark.parametrize("delay_us", [0, *range(50, 4000, 250)])
async def test_a_stream_may_be_cancelled_at_any_moment(embedded: Store, delay_us: int) -> None:
    async def read_all() -> int:
        async with stream(embedded.url, ALL) as rows:
            return len([row async for row in rows])

    with without_garbage_collector():
        task = asyncio.create_task(read_all())
        await asyncio.sleep(delay_us / 1_000_000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        assert await log_can_be_emptied(embedded)


async def test_cancelling_stops_a_query_that_would_run_for_minutes(embedded: Store) -> None:
    endless = select(func.count()).select_from(
        text("(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000000) SELECT i FROM n)")
    )

    async def read_endless() -> None:
        async with stream(embedded.url, endless) as rows:
            async for _ in rows:
                pass

    task = asyncio.create_task(read_endless())
    await asyncio.sleep(0.1)
    task.cancel()
    await asyncio.wait_for(asyncio.gather(task, return_exceptions=True), 5)

    assert await log_can_be_emptied(embedded)


async def test_a_stream_of_a_missing_store_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store to read"):
        async with stream(sqlite_url(tmp_path / "none.db"), ALL):
            pass

    assert list(tmp_path.iterdir()) == []


async def test_a_stream_from_a_silent_server_is_unavailable() -> None:
    with pytest.raises(StoreUnavailable, match="read may be tried again"):
        async with stream("postgresql+psycopg://ann@127.0.0.1:1/pen", ALL):
            pass


async def test_a_stream_over_damage_says_so(embedded: Store) -> None:
    embedded.close()
    path = sqlite_path(embedded.url)
    whole = path.read_bytes()
    path.write_bytes(whole[: 4096 * 4] + b"\x07" * (len(whole) - 4096 * 4))

    with pytest.raises(StoreBroken, match="damaged"):
        async with stream(embedded.url, ALL) as rows:
            [row async for row in rows]


async def test_a_backup_is_made_and_checked_while_the_writer_writes(embedded: Store, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    done = asyncio.Event()

    async def keep_writing() -> int:
        number = 0
        while not done.is_set():
            await embedded.write(add, f"meanwhile {number}")
            number += 1
        return number

    writing = asyncio.create_task(keep_writing())
    for _ in range(5):
        await backup(embedded.url, target)
    done.set()

    assert await writing > 5
    assert target.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db"]
    with closing(sqlite3.connect(target)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert copy.execute("SELECT count(*) FROM notes WHERE key NOT LIKE 'mean%'").fetchone() == (MANY,)


async def test_a_backup_opens_as_a_store(embedded: Store, tmp_path: Path, schema: Schema) -> None:
    target = await backup(embedded.url, tmp_path / "copy.db")

    async with open_store(sqlite_url(target), schema) as copy:
        assert await copy.read(count) == MANY
        assert await copy.write(add, "goes on")


async def test_a_backup_of_a_damaged_store_fails_and_keeps_the_former_one(embedded: Store, tmp_path: Path) -> None:
    target = await backup(embedded.url, tmp_path / "copy.db")
    good = target.read_bytes()
    embedded.close()
    path = sqlite_path(embedded.url)
    whole = path.read_bytes()
    path.write_bytes(whole[: 4096 * 4] + b"\x07" * (len(whole) - 4096 * 4))

    with pytest.raises(StoreBroken, match="damaged"):
        await backup(embedded.url, target)

    assert target.read_bytes() == good
    assert sorted(file.name for file in tmp_path.glob("copy*")) == ["copy.db"]


@pytest.mark.parametrize("place", ["missing folder/copy.db", "a folder", "notes.db/copy.db"])
async def test_a_backup_to_an_impossible_place_is_named(embedded: Store, tmp_path: Path, place: str) -> None:
    (tmp_path / "a folder").mkdir()

    with pytest.raises(StoreError, match="could not be written"):
        await backup(embedded.url, tmp_path / place)

    assert await embedded.write(add, "the store itself goes on")


@contextmanager
def files_end_at(size_bytes: int) -> Iterator[None]:
    """What a full disk does to a growing file, without a disk to fill."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def test_a_backup_that_runs_out_of_disk_leaves_nothing_half_made(embedded: Store, tmp_path: Path) -> None:
    (tmp_path / "backups").mkdir()

    with files_end_at(40_000), pytest.raises(StoreError, match="could not be written"):
        await backup(embedded.url, tmp_path / "backups" / "copy.db")

    assert list((tmp_path / "backups").iterdir()) == []
    assert await embedded.write(add, "the store itself goes on")


async def test_a_backup_of_nothing_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no store"):
        await backup(sqlite_url(tmp_path / "none.db"), tmp_path / "copy.db")


async def test_a_backup_of_a_server_names_its_own_tool(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="pg_dump"):
        await backup("postgresql+psycopg://ann@127.0.0.1/pen", tmp_path / "copy.db")
