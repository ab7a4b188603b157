"""Keeps a body from ending its transaction (the store begins and ends it, often for a whole group) and from returning
a cursor that would outlive it.
"""

import re
from collections.abc import Callable

from sqlalchemy import Connection, CursorResult, Engine, event
from sqlalchemy.engine.interfaces import DBAPICursor, ExecutionContext

_ENDING = re.compile(
    r"\s*(BEGIN|START|COMMIT|END|ABORT|PREPARE\s+TRANSACTION|ROLLBACK(?!\s+(TRANSACTION\s+)?TO\b))\b", re.IGNORECASE
)


def forbid_commit(engine: Engine) -> None:
    """`conn.commit()`, and any text that begins or ends a transaction, raise RuntimeError.

    `with conn.begin_nested()` is allowed.
    """
    event.listen(engine, "commit", _refuse)
    event.listen(engine, "before_cursor_execute", _check)


def forbid_rollback(engine: Engine) -> None:
    """`conn.rollback()` too. Not for pooled readers: SQLAlchemy itself rolls back when one goes home."""
    event.listen(engine, "rollback", _refuse)


def ends_transaction(statement: str) -> bool:
    """
    >>> [ends_transaction(text) for text in ("commit", " ROLLBACK;", "ROLLBACK TO one", "INSERT INTO t VALUES (1)")]
    [True, True, False, False]
    """
    return _ENDING.match(statement) is not None


def refuse_cursor(body: Callable[..., object], value: object) -> None:
    if isinstance(value, CursorResult):
        raise TypeError(f"{name_of(body)} returned a cursor: fetch its rows, its transaction ends with it")


def name_of(body: Callable[..., object]) -> str:
    return getattr(body, "__name__", repr(body))


def _check(
    conn: Connection,
    _cursor: DBAPICursor,
    statement: str,
    _values: object,
    _context: ExecutionContext | None,
    _many: bool,
) -> None:
    if ends_transaction(statement):
        _refuse(conn)


def _refuse(_conn: Connection) -> None:
    raise RuntimeError("a store function must not begin, commit or roll back: it is one part of a group")
