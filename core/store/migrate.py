"""Brings a store to the newest schema. Steps are Alembic revisions in the folder of the program that owns the store.

An older program refuses a newer schema. A step over existing data first takes a backup that was checked.
"""

import sqlite3
from contextlib import closing
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

from .engine import is_sqlite, open_engine, sqlite_path
from .faults import broken_by

_MIGRATION_LOCK = 7_365_011  # any constant of ours: PostgreSQL's advisory lock for one migration at a time


@dataclass(frozen=True)
class Schema:
    """The tables of one store, and the folder with the revisions that lead to them."""

    metadata: MetaData
    revisions: Path


def migrate(url: str, schema: Schema) -> None:
    engine = open_engine(url)
    try:
        with engine.connect() as conn:
            _upgrade(conn, url, schema)
    except Exception as error:
        if broken := broken_by(error):
            raise broken from error
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
    conn.exec_driver_sql("BEGIN IMMEDIATE" if is_sqlite(url) else "BEGIN")
    try:
        if not is_sqlite(url):
            conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})")
        command.upgrade(config, "head")
        conn.exec_driver_sql("COMMIT")
    except BaseException:
        conn.exec_driver_sql("ROLLBACK")
        raise


def _config(schema: Schema, conn: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "alembic"))
    config.set_main_option("version_locations", str(schema.revisions))
    config.set_main_option("path_separator", "newline")
    config.attributes["connection"] = conn
    return config


def _known(script: ScriptDirectory, current: str, url: str) -> None:
    try:
        script.get_revision(current)
    except (CommandError, ResolutionError) as unknown:
        raise StoreTooNew(
            f"{url} was written by a newer Penfriend (schema {current}): start that version again, or restore the backup "
            "it made before it changed the schema"
        ) from unknown


def backup_before(path: Path, revision: str) -> Path:
    """Copies the store beside itself in one step and checks the copy."""
    target = path.with_name(f"{path.stem}-before-{revision}.backup")
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy, pages=-1)
        if copy.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise StoreError(f"the backup {target} taken before the schema change is damaged: nothing was changed")
    target.chmod(0o600)
    return target
