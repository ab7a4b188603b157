"""A statement of a hot path, turned into the driver's own text once for each database and run straight on the driver.

SQLAlchemy spends several times more on a statement than SQLite does; intake, settle, `sending` and `sent` cannot afford
that. The price: no Python-side defaults, no `IN` over a list, and rows are plain tuples.

One statement serves both databases. For ON CONFLICT take `insert` from `sqlalchemy.dialects.postgresql`: what it builds
compiles for SQLite too (the other way round it does not).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Delete, Dialect, Insert, Select, Update

from .faults import uniform
from .transaction import driver_of

Value = str | int | float | bytes | None
Row = tuple[Any, ...]  # its types are those of the columns, which the caller has just written down

_NO_VALUES: Mapping[str, Value] = {}


@dataclass(frozen=True)
class DriverText:
    """`order` is empty where the driver takes values by name."""

    text: str
    names: frozenset[str]
    order: tuple[str, ...]
    fixed: Mapping[str, Value]

    def values(self, given: Mapping[str, Value]) -> tuple[Value, ...] | dict[str, Value]:
        """What the driver is handed. Errors: TypeError when a name is missing or not one of the statement's."""
        named = {**self.fixed, **given}
        if named.keys() != self.names:
            wrong = ", ".join(sorted(named.keys() ^ self.names))
            raise TypeError(f"the values do not fit the statement: {wrong} is missing or too much in {self.text!r}")
        return tuple([named[name] for name in self.order]) if self.order else named


def driver_text(statement: Select[Any] | Insert | Update | Delete, dialect: Dialect) -> DriverText:
    """Errors: ValueError for a statement whose values are known only when it runs."""
    if isinstance(statement, Insert) and not statement.returning_column_descriptions:
        statement = statement.inline()  # or PostgreSQL's text would return the new id unasked
    compiled = statement.compile(dialect=dialect)
    late = (compiled.insert_prefetch, compiled.update_prefetch, compiled.post_compile_params)
    if any(late) or compiled.literal_execute_params:
        raise ValueError(f"this statement cannot be compiled ahead (a Python default, or IN over a list): {compiled}")
    binds = compiled.bind_names
    fixed = {name: bind.effective_value for bind, name in binds.items() if not bind.required}
    return DriverText(compiled.string, frozenset(binds.values()), tuple(compiled.positiontup or ()), fixed)


class Compiled:
    """Name every value: `Compiled(insert(notes).values(key=bindparam("key")).returning(notes.c.id))`."""

    def __init__(self, statement: Select[Any] | Insert | Update | Delete) -> None:
        self._statement = statement
        self._texts: dict[str, DriverText] = {}

    def run(self, conn: Connection, values: Mapping[str, Value] = _NO_VALUES) -> list[Row]:
        """The rows, without any where the statement returns none. To learn what an UPDATE changed, use RETURNING.

        Errors: those of SQLAlchemy (IntegrityError, …), TypeError for values that do not fit.
        """
        text = self._text(conn.dialect)
        handed = text.values(values)
        try:
            cursor = driver_of(conn).execute(text.text, handed)
            return [] if cursor.description is None else cursor.fetchall()
        except conn.dialect.loaded_dbapi.Error as error:
            raise uniform(error, conn) from error

    def run_many(self, conn: Connection, rows: Iterable[Mapping[str, Value]]) -> None:
        """The same statement for each of `rows`, without answers."""
        text = self._text(conn.dialect)
        handed = [text.values(row) for row in rows]
        try:
            driver_of(conn).cursor().executemany(text.text, handed)
        except conn.dialect.loaded_dbapi.Error as error:
            raise uniform(error, conn) from error

    def _text(self, dialect: Dialect) -> DriverText:
        if dialect.name not in self._texts:
            self._texts[dialect.name] = driver_text(self._statement, dialect)
        return self._texts[dialect.name]
