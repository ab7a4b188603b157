"""After a power cut at any moment, all that was acknowledged is there; after a disk fault everybody is told."""

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.pool import ConnectionPoolEntry

from core.errors import StoreBroken, StoreFull
from core.store import Schema, Store, open_store, sqlite_url
from core.store.engine import open_engine
from core.store.writer import Writer

from .powercut import (
    FULL,
    IOERR_FSYNC,
    IOERR_WRITE,
    Acknowledged,
    Disk,
    Operation,
    Recorder,
    Survives,
    Sync,
    Write,
    library,
    none_survive,
    sectors_survive,
    some_survive,
)
from .store_world import a_schema, add, keys

MEMORY = Path("/dev/shm")
SEED = 20_260_806
SENDERS, NOTES_EACH = 3, 80

WriteNote = Callable[[str], Awaitable[object]]


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    return a_schema(tmp_path / "revisions")


@pytest.fixture
def folder() -> Iterator[Path]:
    """In memory: a power cut is played by us, so a real disk would only be slow."""
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None, prefix="penfriend-powercut-") as folder:
        yield Path(folder).resolve()


@pytest.fixture
def template(folder: Path, schema: Schema) -> Path:
    """An empty store, closed in order."""
    path = folder / "template.db"
    open_store(sqlite_url(path), schema).close()
    return path


@dataclass(frozen=True)
class Verdict:
    images: int
    lost: int
    corrupt: int


def judge(operations: Sequence[Operation], before: dict[str, bytes], folder: Path) -> Verdict:
    """Cuts the power after every operation, three times each, and looks at what is left."""
    chance = random.Random(SEED)
    ways: tuple[Survives, ...] = (none_survive, some_survive(chance), sectors_survive(chance))
    disk, acknowledged = Disk(before), set[str]()
    images = lost = corrupt = 0
    for operation in operations:
        if isinstance(operation, Acknowledged):
            acknowledged.add(operation.key)
            continue
        disk.apply(operation)
        for survives in ways:
            found = surviving_keys(disk.after_a_cut(survives), folder)
            images += 1
            corrupt += found is None
            lost += found is not None and not acknowledged <= found
    return Verdict(images, lost, corrupt)


def surviving_keys(image: dict[str, bytes], folder: Path) -> set[str] | None:
    """The notes that a fresh start finds, or None where the file is damaged."""
    (folder / "image").mkdir()
    try:
        for name, content in image.items():
            (folder / "image" / Path(name).name).write_bytes(content)
        with closing(sqlite3.connect(folder / "image" / "notes.db")) as conn:
            if conn.execute("PRAGMA quick_check").fetchone() != ("ok",):
                return None
            return {key for (key,) in conn.execute("SELECT key FROM notes")}
    except sqlite3.DatabaseError:
        return None
    finally:
        shutil.rmtree(folder / "image")


def checkpoint_often(conn: Connection) -> None:
    """So that the images also show the log being emptied into the file and begun anew."""
    conn.exec_driver_sql("PRAGMA wal_autocheckpoint=40").close()


async def send_some(recorder: Recorder, write: WriteNote, sender: int) -> None:
    for number in range(NOTES_EACH):
        key = f"{sender}-{number} 早上好"
        await write(key)
        recorder.acknowledge(key)


async def send_notes(recorder: Recorder, write: WriteNote) -> None:
    await asyncio.gather(*(send_some(recorder, write, sender) for sender in range(SENDERS)))


def test_the_library_under_test_is_the_one_the_store_uses(capsys: pytest.CaptureFixture[str]) -> None:
    loaded, path = library()

    assert loaded.sqlite3_libversion().decode() == sqlite3.sqlite_version
    with capsys.disabled():
        print(f"\nSQLite {sqlite3.sqlite_version} at {path}")


async def test_no_power_cut_loses_what_was_acknowledged(folder: Path, template: Path, schema: Schema) -> None:
    path = Path(shutil.copy(template, folder / "notes.db"))
    with Recorder(folder) as recorder:
        async with open_store(sqlite_url(path), schema) as store:
            await store.write(checkpoint_often)
            await send_notes(recorder, lambda key: store.write(add, key))

    verdict = judge(recorder.operations, {str(path): template.read_bytes()}, folder)

    assert verdict.images >= 1000
    assert (verdict.lost, verdict.corrupt) == (0, 0)


async def test_the_harness_sees_the_loss_when_commits_are_not_synced(folder: Path, template: Path) -> None:
    path = Path(shutil.copy(template, folder / "notes.db"))
    with Recorder(folder) as recorder:
        await _send_notes_without_sync(recorder, path)

    verdict = judge(recorder.operations, {str(path): template.read_bytes()}, folder)

    assert verdict.images >= 1000
    assert verdict.lost > verdict.images // 2
    assert verdict.corrupt == 0


async def _send_notes_without_sync(recorder: Recorder, path: Path) -> None:
    engine = open_engine(sqlite_url(path))

    @event.listens_for(engine, "connect")
    def make_the_mistake(driver: DBAPIConnection, _entry: ConnectionPoolEntry) -> None:
        driver.cursor().execute("PRAGMA synchronous=NORMAL")

    writer = Writer(engine)

    async def write(key: str) -> object:
        answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        writer.submit(add, (key,), answer)
        return await answer

    await send_notes(recorder, write)
    writer.close()
    engine.dispose()


FAULTS = [
    *((Write, number, FULL if number % 2 else IOERR_WRITE) for number in (*range(1, 31), *range(33, 250, 33))),
    *((Sync, number, IOERR_FSYNC) for number in range(1, 31)),
]


@pytest.mark.parametrize(("kind", "number", "code"), FAULTS)
async def test_a_disk_fault_is_told_closes_the_store_for_writing_and_loses_nothing(
    kind: type[Operation], number: int, code: int, folder: Path, template: Path, schema: Schema
) -> None:
    path = Path(shutil.copy(template, folder / "notes.db"))
    with Recorder(folder) as recorder:
        async with open_store(sqlite_url(path), schema) as store:
            await store.write(checkpoint_often)
            recorder.fail_once(kind, number, code)
            told = await send_until_told(recorder, store)
            await check_closed(store, told, StoreFull if code == FULL else StoreBroken)

    acknowledged = {done.key for done in recorder.operations if isinstance(done, Acknowledged)}
    assert recorder.failed is not None
    assert told or not (kind is Write and recorder.failed.endswith("-wal"))  # emptying the log may fail without loss
    disk = Disk({str(path): template.read_bytes()})
    for operation in recorder.operations:
        disk.apply(operation)
    for image in (disk.after_a_cut(none_survive), on_disk(path)):
        assert acknowledged <= (surviving_keys(image, folder) or set())


def on_disk(path: Path) -> dict[str, bytes]:
    files = (path, path.with_name(path.name + "-wal"))
    return {str(file): file.read_bytes() for file in files if file.exists()}


async def send_until_told(recorder: Recorder, store: Store) -> list[BaseException]:
    """The errors that the senders got; each of them stops at its first."""

    async def write(key: str) -> object:
        return await store.write(add, key)

    sending = (send_some(recorder, write, sender) for sender in range(SENDERS))
    outcomes = await asyncio.gather(*sending, return_exceptions=True)
    return [outcome for outcome in outcomes if outcome is not None]


async def check_closed(store: Store, told: list[BaseException], kind: type[StoreBroken]) -> None:
    assert {type(error) for error in told} <= {kind}
    assert len(told) in (0, SENDERS)
    assert (store.broken is not None) == bool(told)
    if told:
        with pytest.raises(kind):
            await store.write(add, "one more")
    assert await store.read(keys) is not None
