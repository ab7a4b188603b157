"""Long reads, row by row, on a connection of their own: export and reindex. Short ones belong to `Store.read`.

    async with stream(url, select(notes.c.id, notes.c.body)) as rows:
        async for note, body in rows: ...

Leaving the block, also by cancellation, stops the query and lets the snapshot go at once. While it is open it pins the
write-ahead log, so a consumer that waits for a person or a network should read in pieces.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import aiosqlite
from sqlalchemy import Select
from sqlalchemy.engine.url import make_url

from core.errors import StoreError

from .compiled import Row, Value, driver_text
from .engine import BUSY_TIMEOUT_S, READING, file_uri, is_sqlite, sqlite_path
from .faults import read_fault

ROWS_AT_ONCE = 256


class _Cursor(Protocol):
    async def fetchmany(self, size: int, /) -> Any: ...  # each driver has its own kind of row; all are tuples here


@asynccontextmanager
async def stream(
    url: str, query: Select[Any], values: Mapping[str, Value] | None = None
) -> AsyncIterator[AsyncIterator[Row]]:
    """The rows of `query`, all of one snapshot.

    Errors: StoreBroken for a damaged file, StoreUnavailable when no server answers, StoreError when there is no store.
    """
    try:
        opened = _sqlite_rows if is_sqlite(url) else _postgres_rows
        async with opened(url, query, values or {}) as rows:
            yield rows
    except Exception as error:
        if fault := read_fault(error):
            raise fault from error
        raise


@asynccontextmanager
async def _sqlite_rows(url: str, query: Select[Any], values: Mapping[str, Value]) -> AsyncIterator[AsyncIterator[Row]]:
    text = driver_text(query, make_url("sqlite://").get_dialect()())
    conn = await _connected(sqlite_path(url))
    cursor: aiosqlite.Cursor | None = None
    try:
        for pragma in READING:
            await conn.execute_fetchall(pragma)
        cursor = await conn.cursor()
        await cursor.execute(text.text, text.values(values))
        async with aclosing(_in_pieces(cursor)) as rows:
            yield rows
    finally:
        await asyncio.shield(_end(conn, cursor))


async def _connected(path: Path) -> aiosqlite.Connection:
    conn = aiosqlite.connect(_readable(path), uri=True, isolation_level=None, timeout=BUSY_TIMEOUT_S)
    opening = asyncio.ensure_future(conn)
    try:
        return await asyncio.shield(opening)
    except asyncio.CancelledError:
        await _end(await opening, None)  # it has a thread already, which would outlive us
        raise


def _readable(path: Path) -> str:
    if not path.is_file():
        raise StoreError(f"there is no store to read at {path}: check data_dir")
    return file_uri(path, read_only=True)


async def _end(conn: aiosqlite.Connection, cursor: aiosqlite.Cursor | None) -> None:
    await conn.interrupt()  # the driver's thread may be deep in a query that nobody waits for any more
    if cursor is not None:
        await cursor.close()  # an open cursor would keep the closed connection's snapshot until the garbage collector
    await conn.close()


@asynccontextmanager
async def _postgres_rows(
    url: str, query: Select[Any], values: Mapping[str, Value]
) -> AsyncIterator[AsyncIterator[Row]]:
    import psycopg  # an optional extra

    dialect = make_url(url).get_dialect()()
    text = driver_text(query, dialect)
    _, address = dialect.create_connect_args(make_url(url))
    conn = await psycopg.AsyncConnection.connect(**address)
    try:
        await conn.set_read_only(True)
        async with conn.cursor(name="stream") as cursor:
            await cursor.execute(text.text.encode(), text.values(values))
            async with aclosing(_in_pieces(cursor)) as rows:
                yield rows
    finally:
        await conn.close()


async def _in_pieces(cursor: _Cursor) -> AsyncGenerator[Row, None]:
    while rows := await cursor.fetchmany(ROWS_AT_ONCE):
        for row in rows:
            yield row
