"""The few column types that both SQLite's STRICT tables and PostgreSQL accept, and the shape of a table.

STRICT refuses SQLAlchemy's Boolean, String(n), JSON, DateTime, Float, Numeric and Enum. So: a flag is an `Int64` with
a CHECK, a moment is `…_at_ms`, money is `…_micros`, JSON is `Text`.
"""

from typing import Any, TypeAlias

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Integer, LargeBinary, MetaData, Row, Table, Text
from sqlalchemy.schema import SchemaItem

AnyRow: TypeAlias = Row[*tuple[Any, ...]]
"""A row before it becomes one of our dataclasses; the columns of a text statement have no types."""

Int64 = BigInteger().with_variant(Integer(), "sqlite")
Blob = LargeBinary()

# Names for every constraint, so that a later migration can find them on both databases.
NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


def new_metadata() -> MetaData:
    return MetaData(naming_convention=NAMING)


def table(metadata: MetaData, name: str, *items: SchemaItem, comment: str) -> Table:
    """A table; `comment` says what one row means."""
    return Table(name, metadata, *items, comment=comment, sqlite_strict=True)


def refers(name: str, target: str, *, null: bool = False) -> Column[int]:
    """A number that names a row of another table, `target` being `table.column`."""
    return Column(name, Int64, ForeignKey(target), nullable=null)


def refers_key(name: str, target: str, *, null: bool = False) -> Column[str]:
    """The same for a table whose key is text."""
    return Column(name, Text, ForeignKey(target), nullable=null)


def row_id(name: str = "id") -> Column[int]:
    """The number the store gives a row, in order of arrival."""
    return Column(name, Int64, primary_key=True, autoincrement=True)


def only_row() -> tuple[Column[int], CheckConstraint]:
    """The key of a table that has one row."""
    column = Column("id", Int64, primary_key=True, autoincrement=False)
    return column, CheckConstraint("id = 1", name="only_row")


def key(name: str) -> Column[str]:
    return Column(name, Text, primary_key=True)


def text(name: str, *, null: bool = False, unique: bool = False, default: str | None = None) -> Column[str]:
    return Column(name, Text, nullable=null, unique=unique, server_default=default)


def number(name: str, *, null: bool = False, default: int | None = None) -> Column[int]:
    return Column(name, Int64, nullable=null, server_default=None if default is None else str(default))


def flag(name: str) -> Column[int]:
    """0 or 1, and the database refuses anything else."""
    return Column(name, Int64, CheckConstraint(f"{name} IN (0, 1)", name=name), nullable=False, server_default="0")


def one_of(column: str, *values: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)
