"""The immutable lines of the ledger. `amount_micros` is what the event names; an adjustment's may be negative."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, insert, select

from core.budget import Entry, Kind
from core.clock import Instant
from core.ids import AttemptId

from .ledger import entries
from .pool_days import Pool


@dataclass(frozen=True)
class Line:
    pool: Pool
    day: str
    reservation: str
    kind: Kind
    micros: int
    at: Instant
    note: str | None = None


_ADD = insert(entries)
_OF = select(entries).where(entries.c.reservation_id == bindparam("reservation")).order_by(entries.c.id)
_SUMS = (
    select(entries.c.kind, func.sum(entries.c.amount_micros).label("micros"))
    .where(entries.c.pool == bindparam("of_pool"), entries.c.day == bindparam("on_day"))
    .group_by(entries.c.kind)
)


def add(conn: Connection, line: Line) -> None:
    conn.execute(
        _ADD,
        {
            "pool": line.pool,
            "day": line.day,
            "reservation_id": line.reservation,
            "kind": line.kind.value,
            "amount_micros": line.micros,
            "note": line.note,
            "at_ms": line.at,
        },
    )


def of_reservation(conn: Connection, reservation: str) -> tuple[Entry, ...]:
    """As the rules of `core.budget` read them. They look at kinds and amounts; the sums are `pool_days`' matter."""
    rows = conn.execute(_OF, {"reservation": reservation})
    return tuple(Entry(AttemptId(reservation), Kind(row.kind), row.amount_micros, 0, 0) for row in rows)


def sums(conn: Connection, pool: Pool, day: str) -> dict[Kind, int]:
    """What the lines of each kind add up to."""
    return {Kind(row.kind): int(row.micros) for row in conn.execute(_SUMS, {"of_pool": pool, "on_day": day})}
