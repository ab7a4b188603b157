"""One durable store for a program: SQLite by default, PostgreSQL as an option, the same schema and functions on both.

A transaction is a plain synchronous function `fn(conn, *args)`. `await store.write(fn, *args)` runs it on the one
writer thread and answers after the COMMIT; `await store.read(fn, *args)` runs it on a snapshot that cannot write.
A body may run twice, so it has no side effects; it returns plain data, never a cursor. After a statement failed it does
not go on, unless that statement stood in `with conn.begin_nested()`.

`Compiled` is for statements of a hot path, `stream` for long reads, `backup` for a checked copy while all goes on.
"""

from .backup import backup
from .compiled import Compiled
from .engine import sqlite_url
from .migrate import Schema
from .store import Store, open_store
from .stream import stream

__all__ = ["Compiled", "Schema", "Store", "backup", "open_store", "sqlite_url", "stream"]
