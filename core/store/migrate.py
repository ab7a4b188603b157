"""Brings a store to the newest schema. Steps are Alembic revisions in the folder of the program that owns the store.

An older program refuses a newer schema. A step over existing data first takes a backup that was checked.
"""

from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.script.revision import ResolutionError
from alembic.util import CommandError
from sqlalchemy import Connection, MetaData

from core.errors import StoreError, StoreTooNew

from .backup import check, copy_checked
from .engine import is_sqlite, open_engine, sqlite_path, without_password
from .faults import broken_by, server_gone, unavailable
from .transaction import driver_of, transaction_state

_MIGRATION_LOCK = 7_365_011  # any constant of ours: PostgreSQL's advisory lock for one migration at a time


@dataclass(frozen=True)
class Schema:
    """The tables of one store, and the folder with the revisions that lead to them."""

    metadata: MetaData
    revisions: Path


def migrate(url: str, schema: Schema) -> None:
    """Checks the store at `url` and takes it to the newest schema, in one transaction.

    Errors: StoreBroken for a damaged file, StoreTooNew, StoreUnavailable when no server answers.
    """
    engine = open_engine(url)
    try:
        with engine.connect() as conn:
            if is_sqlite(url):
                check(driver_of(conn), sqlite_path(url))
            _upgrade(conn, url, schema)
    except Exception as error:
        if broken := broken_by(error):
            raise broken from error
        if server_gone(error):
            raise unavailable(error, f"start the one named in {without_password(url)}, or correct db_url") from error
        raise
    finally:
        engine.dispose()


def _upgrade(conn: Connection, url: str, schema: Schema) -> None:
    config = _config(schema, conn)
    script = ScriptDirectory.from_config(config)
    current, head = MigrationContext.configure(conn).get_current_revision(), script.get_current_head()
    if current == head:
        return
    if current is not None:
        _known(script, current, url)
        if is_sqlite(url):
            backup_before(sqlite_path(url), current)
    _in_one_transaction(conn, config, url)


def _in_one_transaction(conn: Connection, config: Config, url: str) -> None:
    if is_sqlite(url):
        # SQLite changes a table by building it anew, and dropping the old one would delete what refers to it.
        conn.exec_driver_sql("PRAGMA foreign_keys=OFF")
        conn.exec_driver_sql("BEGIN IMMEDIATE")
    else:
        conn.exec_driver_sql("BEGIN")
    try:
        if not is_sqlite(url):
            conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        command.upgrade(config, "head")
        _check_references(conn)
        conn.exec_driver_sql("COMMIT")
    except BaseException:
        if (
            not conn.invalidated and transaction_state(driver_of(conn)) != "none"
        ):  # a full disk has already rolled it back
            conn.exec_driver_sql("ROLLBACK")
        raise


def _check_references(conn: Connection) -> None:
    if conn.dialect.name != "sqlite":
        return
    if orphan := conn.exec_driver_sql("PRAGMA foreign_key_check").first():
        raise StoreError(
            f"the schema change would leave a row of {orphan[0]} without its row in {orphan[2]}: nothing was changed; "
            "report this fault"
        )


def _config(schema: Schema, conn: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", _escaped(Path(__file__).parent / "alembic"))
    config.set_main_option("version_locations", _escaped(schema.revisions))
    config.set_main_option("path_separator", "newline")
    config.attributes["connection"] = conn
    return config


def _escaped(path: Path) -> str:
    """Alembic's settings give `%` a meaning, and a folder may carry one."""
    return str(path).replace("%", "%%")


def _known(script: ScriptDirectory, current: str, url: str) -> None:
    try:
        script.get_revision(current)
    except (CommandError, ResolutionError) as unknown:
        raise StoreTooNew(
            f"{without_password(url)} was written by a newer Penfriend (schema {current}): start that version again, or "
            "restore the backup it made before it changed the schema"
        ) from unknown


def backup_before(path: Path, revision: str) -> Path:
    """Copies the store beside itself and checks the copy."""
    return copy_checked(path, path.with_name(f"{path.stem}-before-{revision}.backup"))
