"""Opening a store: addresses, rights, the lock, the schema, damage."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from core.errors import SettingsError, StoreBroken, StoreError, StoreLocked, StoreTooNew
from core.store import open_store, sqlite_url
from core.store.engine import is_sqlite, prepare_sqlite, sqlite_path

from .postgres import find_programs
from .store_world import FIRST, a_schema, add, count, keys

SECOND = 'op.add_column("notes", Column("mood", Text, nullable=True))'
REBUILD = 'with op.batch_alter_table("notes", recreate="always") as notes: notes.add_column(Column("mood", Text))'
BROKEN = 'op.add_column("notes", Column("mood", Text)); op.execute("INSERT INTO nowhere VALUES (1)")'


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_url(tmp_path / "notes.db")
    return str(request.getfixturevalue("postgres").new_store())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "notes.db"


def written(url: str, folder: Path, *notes: str) -> None:
    """A store with these notes, closed again."""

    async def write_all() -> None:
        async with open_store(url, a_schema(folder)) as store:
            for note in notes:
                await store.write(add, note)

    asyncio.run(write_all())


@pytest.mark.parametrize(
    "address",
    [
        "",
        "notes.db",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "mysql://ann:secret@db/pen",
        "postgresql://ann:secret@db/pen",
        "postgresql+psycopg://ann:secret@db:no-port/pen",
    ],
)
def test_an_address_that_no_store_can_have_is_a_setting_to_correct(address: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as refused:
        open_store(address, a_schema(tmp_path / "revisions"))

    assert "sqlite:///PATH" in str(refused.value) or "USER@HOST" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_the_files_of_a_store_are_its_owners_alone(path: Path, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with open_store(sqlite_url(path), a_schema(tmp_path / "revisions")) as store:
            asyncio.run(store.write(add, "private"))
            rights = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    finally:
        os.umask(before)

    assert rights == dict.fromkeys(("notes.db", "notes.db-wal", "notes.db-shm", "notes.db.lock"), 0o600)
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_store_left_in_order_is_one_file_without_a_log(path: Path, tmp_path: Path) -> None:
    written(sqlite_url(path), tmp_path / "revisions", "a")

    assert sorted(file.name for file in path.parent.iterdir()) == ["notes.db", "notes.db.lock"]


def test_the_writer_itself_says_that_it_runs_full(path: Path, tmp_path: Path) -> None:
    pragmas = {"synchronous": 2, "foreign_keys": 1, "journal_mode": "wal", "secure_delete": 1, "trusted_schema": 0}

    with open_store(sqlite_url(path), a_schema(tmp_path / "revisions"), inline=True) as store:
        for name, value in pragmas.items():
            text = f"PRAGMA {name}"
            assert asyncio.run(store.write(lambda conn, text=text: conn.exec_driver_sql(text).scalar())) == value  # type: ignore[misc]
        with pytest.raises(DBAPIError):
            asyncio.run(store.write(lambda conn: conn.exec_driver_sql("PRAGMA synchronous=NORMAL").close()))


class NeverFull(sqlite3.Connection):
    """A build of SQLite that does not do what it is asked."""

    def execute(self, statement: str, values: object = ()) -> sqlite3.Cursor:
        return super().execute(statement.replace("synchronous=FULL", "synchronous=NORMAL"), values)  # type: ignore[arg-type]


class NeverWal(sqlite3.Connection):
    def execute(self, statement: str, values: object = ()) -> sqlite3.Cursor:
        return super().execute(statement.replace("journal_mode=WAL", "journal_mode=DELETE"), values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("build", "named"), [(NeverFull, "synchronous=FULL"), (NeverWal, "write-ahead log")])
def test_a_database_that_cannot_keep_the_promise_is_refused(
    build: type[sqlite3.Connection], named: str, tmp_path: Path
) -> None:
    path = tmp_path / "notes.db"

    with closing(sqlite3.connect(path, factory=build)) as driver, pytest.raises(StoreError, match=named):
        prepare_sqlite(driver, path, read_only=False)


def test_a_second_writer_is_refused_and_told_who_the_first_is(path: Path, tmp_path: Path) -> None:
    other_name = tmp_path / "alias.db"
    with open_store(sqlite_url(path), a_schema(tmp_path / "revisions")):
        other_name.symlink_to(path)
        for name in (path, other_name):
            with pytest.raises(StoreLocked, match=f"process {os.getpid()}"):
                open_store(sqlite_url(name), a_schema(tmp_path / "revisions"))

    open_store(sqlite_url(path), a_schema(tmp_path / "revisions")).close()


HOLDER = """
import sys, time
from pathlib import Path
from core.store import open_store, sqlite_url
from tests.store_world import METADATA, Schema
store = open_store(sqlite_url(Path(sys.argv[1])), Schema(METADATA, Path(sys.argv[2])))
print("open", flush=True)
time.sleep(60)
"""


@pytest.fixture
def holder(path: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    a_schema(tmp_path / "revisions")
    command = [sys.executable, "-c", HOLDER, str(path), str(tmp_path / "revisions")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def test_the_lock_ends_with_its_process_however_that_ends(
    holder: subprocess.Popen[str], path: Path, tmp_path: Path
) -> None:
    with pytest.raises(StoreLocked, match=f"process {holder.pid}"):
        open_store(sqlite_url(path), a_schema(tmp_path / "revisions"))

    holder.send_signal(signal.SIGKILL)
    holder.wait()

    open_store(sqlite_url(path), a_schema(tmp_path / "revisions")).close()


@pytest.mark.parametrize("place", ["a file where the folder should be", "a folder where the file should be"])
def test_a_place_where_no_file_can_be_is_named(place: str, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a letter")
    (tmp_path / "folder.db").mkdir()
    path = tmp_path / "taken" / "notes.db" if place.startswith("a file") else tmp_path / "folder.db"

    with pytest.raises(StoreError, match=r"cannot be (opened|written)") as refused:
        open_store(sqlite_url(path), a_schema(tmp_path / "revisions"))

    assert "data_dir" in str(refused.value)


def test_an_older_program_refuses_a_newer_store(url: str, tmp_path: Path) -> None:
    open_store(url, a_schema(tmp_path / "new", FIRST, SECOND)).close()

    with pytest.raises(StoreTooNew, match="schema 0002") as refused:
        open_store(url, a_schema(tmp_path / "old", FIRST))

    assert "secret" not in str(refused.value)
    open_store(url, a_schema(tmp_path / "new", FIRST, SECOND)).close()


def test_a_step_over_existing_notes_keeps_them_and_first_makes_a_checked_backup(url: str, tmp_path: Path) -> None:
    written(url, tmp_path / "old", "kept", "also kept")

    with open_store(url, a_schema(tmp_path / "new", FIRST, SECOND)) as store:
        assert store.read_now(keys) == ["kept", "also kept"]
        assert store.read_now(lambda conn: conn.exec_driver_sql("SELECT mood FROM notes").scalars().all()) == [
            None,
            None,
        ]

    if is_sqlite(url):
        backup = sqlite_path(url).with_name("notes-before-0001.backup")
        assert backup.stat().st_mode & 0o777 == 0o600
        with closing(sqlite3.connect(backup)) as copy:
            assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert copy.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)
            assert copy.execute("SELECT count(*) FROM notes").fetchone() == (2,)


def test_a_step_that_fails_changes_nothing(url: str, tmp_path: Path) -> None:
    written(url, tmp_path / "old", "kept")

    with pytest.raises(DBAPIError, match="nowhere"):
        open_store(url, a_schema(tmp_path / "broken", FIRST, BROKEN))

    with open_store(url, a_schema(tmp_path / "good", FIRST, SECOND)) as store:
        assert store.read_now(keys) == ["kept"]


def test_building_a_table_anew_keeps_the_rows_that_refer_to_it(path: Path, tmp_path: Path) -> None:
    written(sqlite_url(path), tmp_path / "old", "note")
    with closing(sqlite3.connect(path)) as driver, driver:
        driver.execute("INSERT INTO answers (note_id) VALUES (1)")

    with open_store(sqlite_url(path), a_schema(tmp_path / "new", FIRST, REBUILD)) as store:
        assert store.read_now(lambda conn: conn.exec_driver_sql("SELECT note_id FROM answers").scalars().all()) == [1]


def test_a_step_that_would_leave_a_row_without_its_parent_changes_nothing(path: Path, tmp_path: Path) -> None:
    written(sqlite_url(path), tmp_path / "old", "note")
    orphaning = 'op.execute("INSERT INTO answers (note_id) VALUES (77)")'

    with pytest.raises(StoreError, match="row of answers without its row in notes"):
        open_store(sqlite_url(path), a_schema(tmp_path / "new", FIRST, orphaning))

    with open_store(sqlite_url(path), a_schema(tmp_path / "old")) as store:
        assert store.read_now(count) == 1


def test_a_folder_with_a_percent_sign_is_a_folder(tmp_path: Path) -> None:
    odd = tmp_path / "100% 小明?#"
    odd.mkdir()

    written(sqlite_url(odd / "notes.db"), odd / "revisions", "a")

    assert (odd / "notes.db").is_file()


def test_a_file_that_is_no_database_is_called_damaged(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"Dear diary, " * 1000)

    with pytest.raises(StoreBroken, match=r"damaged.*penfriend restore"):
        open_store(sqlite_url(path), a_schema(tmp_path / "revisions"))

    assert path.read_bytes() == b"Dear diary, " * 1000


@pytest.mark.parametrize("damage", ["overwritten in the middle", "cut off"])
def test_a_damaged_store_is_found_when_it_is_opened_not_when_it_is_needed(
    damage: str, path: Path, tmp_path: Path
) -> None:
    written(sqlite_url(path), tmp_path / "revisions", *(f"{number} " + "x" * 2000 for number in range(40)))
    whole = path.read_bytes()
    middle = len(whole) // 2 // 4096 * 4096
    path.write_bytes(
        whole[:middle] if damage == "cut off" else whole[:middle] + b"\x07" * 4096 + whole[middle + 4096 :]
    )

    with pytest.raises(StoreBroken, match=r"damaged.*penfriend restore"):
        open_store(sqlite_url(path), a_schema(tmp_path / "revisions"))


def test_damage_that_a_read_finds_closes_the_store_for_writing(path: Path, tmp_path: Path) -> None:
    written(sqlite_url(path), tmp_path / "revisions", *(f"{number} " + "x" * 2000 for number in range(40)))
    with open_store(sqlite_url(path), a_schema(tmp_path / "revisions")) as store:
        whole = path.read_bytes()
        path.write_bytes(whole[: 4096 * 2] + b"\x07" * (len(whole) - 4096 * 2))

        with pytest.raises(StoreBroken, match="damaged"):
            store.read_now(keys)
        with pytest.raises(StoreBroken, match="damaged"):
            asyncio.run(store.write(add, "after"))


def test_a_missing_server_program_is_a_sentence_that_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match="apt-get install postgresql"):
        find_programs(tmp_path, path=str(tmp_path))


def test_the_newest_of_several_servers_is_taken(tmp_path: Path) -> None:
    for version in ("9.6", "15", "13"):
        program = tmp_path / version / "bin" / "postgres"
        program.parent.mkdir(parents=True)
        program.touch()

    assert find_programs(tmp_path) == tmp_path / "15" / "bin"
