"""Copies of the embedded store that were checked before they carry their name, and the check itself.

The copy is made in ONE step: a copy in pieces starts again whenever the writer commits, and on a busy store never ends.
"""

import asyncio
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from core.errors import BadInput, StoreBroken, StoreError

from .engine import BUSY_TIMEOUT_S, file_uri, is_sqlite, sqlite_path
from .faults import broken_by, is_damage


async def backup(url: str, target: Path) -> Path:
    """Writes a checked copy of the store at `url` to `target` while the program goes on writing.

    A former `target` is replaced only by a good copy. Cancelling the caller lets the copy come to its end unseen.
    Errors: BadInput on PostgreSQL, StoreBroken when the copy is damaged, StoreError when it cannot be written.
    """
    if not is_sqlite(url):
        raise BadInput("a PostgreSQL store is backed up by its own tool: run `pg_dump --format=custom` against db_url")
    return await asyncio.to_thread(copy_checked, sqlite_path(url), target)


def copy_checked(store: Path, target: Path) -> Path:
    """The same at once, in the caller's thread."""
    if not store.is_file():
        raise BadInput(f"there is no store at {store} to copy: check data_dir")
    unfinished = target.with_name(target.name + ".part")
    try:
        os.close(os.open(unfinished, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600))
        unfinished.chmod(0o600)
        _copy(store, unfinished)
        unfinished.replace(target)
        _sync_folder(target.parent)
    except (OSError, sqlite3.Error) as error:
        damage = broken_by(error) if is_damage(error) else None
        raise damage or StoreError(
            f"the backup {target} could not be written ({error}): choose another place"
        ) from error
    finally:
        with suppress(OSError):  # nothing there to remove, or no folder at all
            unfinished.unlink()
    return target


def _copy(store: Path, unfinished: Path) -> None:
    source_uri = file_uri(store, read_only=True)
    with (
        closing(sqlite3.connect(source_uri, uri=True, timeout=BUSY_TIMEOUT_S)) as source,
        closing(sqlite3.connect(unfinished)) as copy,
    ):
        copy.execute("PRAGMA journal_mode=MEMORY")  # nothing to roll back to, and no second file to clear away
        source.backup(copy, pages=-1)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file, so that moving it moves all of it
        check(copy, unfinished)


def check(driver: sqlite3.Connection, path: Path) -> None:
    """Errors: StoreBroken that names the first thing `quick_check` found. About 0.5 s for a million messages."""
    try:
        found = driver.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        if broken := broken_by(error):
            raise broken from error
        raise
    if found != ("ok",):
        raise StoreBroken(
            f"{path} is damaged ({' '.join(found[0].split())}): run `penfriend restore` with the last good backup"
        )


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
