"""A small store for the store's own tests: its tables, the revisions that lead to them, and a few transactions."""

import asyncio
import threading
from pathlib import Path

from sqlalchemy import Connection, ForeignKeyConstraint, MetaData, func, insert, select

from core.store import Schema
from core.store.columns import flag, new_metadata, number, row_id, table, text

METADATA: MetaData = new_metadata()

NOTES = table(
    METADATA,
    "notes",
    row_id(),
    text("key", unique=True),
    text("body", default="''"),
    number("size", default=0),
    flag("read"),
    comment="one note",
)
ANSWERS = table(
    METADATA,
    "answers",
    row_id(),
    number("note_id"),
    ForeignKeyConstraint(["note_id"], ["notes.id"], deferrable=True, initially="DEFERRED"),
    comment="one answer to a note, checked at COMMIT only",
)

_ADD = insert(NOTES).returning(NOTES.c.id)
_ANSWER = insert(ANSWERS)
_KEYS = select(NOTES.c.key).order_by(NOTES.c.id)
_COUNT = select(func.count()).select_from(NOTES)

_REVISION = """
from alembic import op
from sqlalchemy import Column, Text
from tests.store_world import METADATA

revision = {revision!r}
down_revision = {previous!r}
branch_labels = None
depends_on = None


def upgrade() -> None:
    {step}
"""
FIRST = "METADATA.create_all(op.get_bind())"


def a_schema(folder: Path, *steps: str) -> Schema:
    """The schema that the given revisions lead to; without any, the first one."""
    folder.mkdir(exist_ok=True)
    previous: str | None = None
    for number_, step in enumerate(steps or (FIRST,), start=1):
        revision = f"{number_:04}"
        (folder / f"{revision}.py").write_text(_REVISION.format(revision=revision, previous=previous, step=step))
        previous = revision
    return Schema(METADATA, folder)


def add(conn: Connection, key: str) -> int:
    return int(conn.execute(_ADD, {"key": key}).scalar_one())


def answer_nobody(conn: Connection, key: str) -> None:
    """Adds a note and an answer to one that does not exist: the COMMIT fails, not the statement."""
    add(conn, key)
    conn.execute(_ANSWER, {"note_id": 999_999})


def keys(conn: Connection) -> list[str]:
    return list(conn.execute(_KEYS).scalars())


def count(conn: Connection) -> int:
    return int(conn.execute(_COUNT).scalar_one())


class Held:
    """A transaction that waits inside its body until the test lets it go on."""

    def __init__(self) -> None:
        self._entered = threading.Event()
        self._go = threading.Event()

    def add(self, conn: Connection, key: str) -> int:
        note = add(conn, key)
        self._wait()
        return note

    def count_twice(self, conn: Connection) -> tuple[int, int]:
        first = count(conn)
        self._wait()
        return first, count(conn)

    def _wait(self) -> None:
        self._entered.set()
        assert self._go.wait(10), "the test never let this transaction go on"

    async def entered(self) -> None:
        assert await asyncio.to_thread(self._entered.wait, 10), "the transaction never began"

    def go(self) -> None:
        self._go.set()
