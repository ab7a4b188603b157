"""Promises of the store that no crash of ours would show: each probe returns what is broken, or nothing."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.errors import PenfriendError
from core.store import Store, sqlite_url
from tests.powercut import (
    FULL,
    IOERR_FSYNC,
    Acknowledged,
    Disk,
    Recorder,
    Sync,
    Write,
    none_survive,
    sectors_survive,
    some_survive,
)

from .scenarios import LONG, MANY, play
from .world import Watch, World, copied

Probe = Callable[[Path, Path], list[str]]
SEED = 20_261_130


def power_cut(template: Path, scratch: Path) -> list[str]:
    """Cuts the power after every operation of the disk: what the world outside was told must be in every image.

    A confirmed update is kept; before the platform or the provider hears anything, the store says so.
    """
    folder = copied(template, scratch).resolve()
    before = {str(folder / "bridge.db"): (folder / "bridge.db").read_bytes()}
    with Recorder(folder) as recorder:
        world = World(folder, Watch(), LONG.script)
        world.platform.polls.note = _then(world.platform.polls.note, recorder, "update", "after")  # type: ignore[method-assign]
        world.platform.sends.note = _then(world.platform.sends.note, recorder, "send", "transaction")  # type: ignore[method-assign]
        world.model.calls.note = _then(world.model.calls.note, recorder, "call", "number")  # type: ignore[method-assign]
        asyncio.run(play(world, LONG))
        world.close()
    return _judge_cuts(recorder, before, scratch.with_name("cut"))


def _then(note: Callable[..., None], recorder: Recorder, what: str, field: str) -> Callable[..., None]:
    def noted(**entry: object) -> None:
        note(**entry)
        recorder.acknowledge(f"{what} {entry[field]}")

    return noted


def _judge_cuts(recorder: Recorder, before: dict[str, bytes], folder: Path) -> list[str]:
    ways = (none_survive, some_survive(Random(SEED)), sectors_survive(Random(SEED)))
    disk, told, broken, images = Disk(before), list[str](), set[str](), 0
    for operation in recorder.operations:
        if isinstance(operation, Acknowledged):
            told.append(operation.key)
            continue
        disk.apply(operation)
        for survives in ways:
            images += 1
            broken.update(_missing(disk.after_a_cut(survives), told, folder))
    return sorted(broken) if images else ["no power was cut"]


TOLD = {
    "update": "SELECT count(*) FROM events",
    "send": "SELECT count(*) FROM parts WHERE state <> 'intent' AND transaction_id = ?",
    "call": "SELECT count(*) FROM attempts",
}


def _missing(image: dict[str, bytes], told: list[str], folder: Path) -> list[str]:
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    for name, content in image.items():
        if Path(name).name.startswith("bridge.db"):
            (folder / Path(name).name).write_bytes(content)
    try:
        with closing(sqlite3.connect(folder / "bridge.db")) as conn:
            if conn.execute("PRAGMA quick_check").fetchone() != ("ok",):
                return ["the store is damaged"]
            return [f"a cut lost what was told: {what.split()[0]}" for what in told if not _holds(conn, what)]
    except sqlite3.DatabaseError:
        return ["the store cannot be read"]


def _holds(conn: sqlite3.Connection, what: str) -> bool:
    kind, _, which = what.partition(" ")
    found = int(conn.execute(TOLD[kind], (which,) if kind == "send" else ()).fetchone()[0])
    return found >= {"update": int(which), "call": int(which) + 1, "send": 1}[kind] if kind != "send" else found == 1


def full_disk(template: Path, scratch: Path) -> list[str]:
    """The store may hold no more, at every size: who was answered is kept, nobody is answered falsely, it says so."""
    broken: list[str] = []
    for room in range(0, 40, 4):
        folder = copied(template, scratch / str(room))
        world = World(folder, Watch(), MANY.script)
        pages = world.store.read_now(_pages)
        asyncio.run(world.store.write(_allow, pages + room))
        try:
            asyncio.run(play(world, MANY))
        except PenfriendError:
            pass
        closed = world.store.broken is not None
        kept = {row[0] for row in world.rows("SELECT event_key FROM events")}
        lost = [
            one for one in world.platform.updates.read()[: world.platform.confirmed] if one["event_key"] not in kept
        ]
        broken += [f"with {room} pages left {one['event_key']} was confirmed and is lost" for one in lost]
        if not closed and room == 0:
            broken.append("a full disk did not close the store for writing")
        world.close()
    return broken


def _pages(conn: Connection) -> int:
    return int(conn.execute(sql("PRAGMA page_count")).scalar_one())


def _allow(conn: Connection, pages: int) -> None:
    conn.execute(sql(f"PRAGMA max_page_count = {pages}")).close()


def after_a_failed_sync(template: Path, scratch: Path) -> list[str]:
    """The kernel may have dropped the pages: nothing may be written after it."""
    folder = copied(template, scratch).resolve()
    with Recorder(folder) as recorder:
        store = Store(sqlite_url(folder / "bridge.db"), None, inline=True)
        recorder.fail_once(Sync, 1, IOERR_FSYNC)
        answers = [_answer(store, number) for number in range(3)]
        store.close()
    return [] if answers == ["failed"] * 3 else [f"after a failed sync the store answered {answers}"]


def after_a_full_disk(template: Path, scratch: Path) -> list[str]:
    folder = copied(template, scratch).resolve()
    with Recorder(folder) as recorder:
        store = Store(sqlite_url(folder / "bridge.db"), None, inline=True)
        recorder.fail_once(Write, 1, FULL)
        answers = [_answer(store, number) for number in range(3)]
        store.close()
    return [] if answers == ["failed"] * 3 else [f"after a full disk the store answered {answers}"]


def after_a_failed_commit(template: Path, scratch: Path) -> list[str]:
    """One caller's fault at COMMIT is that caller's only."""
    store = Store(sqlite_url(copied(template, scratch) / "bridge.db"), None, inline=True)

    def break_at_commit(conn: Connection) -> None:
        conn.execute(sql("PRAGMA defer_foreign_keys = ON")).close()
        conn.execute(sql("INSERT INTO conflicts (event_id, body_hash, received_at_ms) VALUES (999, 'x', 1)"))

    try:
        asyncio.run(store.write(break_at_commit))
        return ["a COMMIT that failed was answered as done"]
    except Exception:
        after = _answer(store, 1)
    store.close()
    return [] if after == "done" else ["after a failed COMMIT the next caller failed too"]


def beside_another_writer(template: Path, scratch: Path) -> list[str]:
    """A body reads and then writes: nobody may write in between, or it would decide on what is no longer so."""
    path = copied(template, scratch) / "bridge.db"
    store = Store(sqlite_url(path), None, inline=True)

    def read_then_write(conn: Connection) -> str:
        conn.execute(sql("SELECT count(*) FROM counters")).close()
        with closing(sqlite3.connect(path, timeout=0, isolation_level=None)) as other:
            try:
                other.execute("INSERT INTO counters (name, value) VALUES ('other', 1)")
                came_between = True
            except sqlite3.OperationalError:
                came_between = False
        conn.execute(sql("INSERT INTO counters (name, value) VALUES ('ours', 1)"))
        return "somebody wrote between our reading and our writing" if came_between else ""

    try:
        broken = asyncio.run(store.write(read_then_write))
    except Exception as error:
        broken = f"a writer failed because of another one: {type(error).__name__}"
    store.close()
    return [broken] if broken else []


def bodies_that_run_twice(template: Path, scratch: Path) -> list[str]:
    """A group whose COMMIT failed is repeated: the world must be the same, in the store and beside it."""
    world = World(copied(template, scratch), Watch(), MANY.script)
    world.store.twice = True
    asyncio.run(play(world, MANY))
    accepted = len(world.rows("SELECT id FROM events WHERE outcome = 'accepted'"))
    counted, texts = world.gateway.counted["accepted"], world.platform.texts
    broken = [] if counted == accepted else [f"{accepted} updates were accepted and {counted} counted"]
    broken += [] if len(texts) == len(set(texts)) + _repeated_lines(texts) else ["a body that ran twice answered twice"]
    world.close()
    return broken


def _repeated_lines(texts: list[str]) -> int:
    """Fixed lines may come more than once; answers may not."""
    fixed = [text for text in texts if not text.startswith("answer to")]
    return len(fixed) - len(set(fixed))


def _answer(store: Store, number: int) -> str:
    def count(conn: Connection) -> None:
        conn.execute(sql("INSERT INTO counters (name, value) VALUES (:name, 1)"), {"name": f"n{number}"})

    try:
        asyncio.run(store.write(count))
        return "done"
    except Exception:
        return "failed"


PROBES: dict[str, Probe] = {
    "power cut": power_cut,
    "full disk": full_disk,
    "failed sync": after_a_failed_sync,
    "disk that was full once": after_a_full_disk,
    "failed COMMIT": after_a_failed_commit,
    "another writer": beside_another_writer,
    "bodies run twice": bodies_that_run_twice,
}


def probe(name: str, template: Path, scratch: Path) -> list[str]:
    scratch.mkdir(parents=True)
    try:
        return PROBES[name](template, scratch / "probe")
    finally:
        shutil.rmtree(scratch)
