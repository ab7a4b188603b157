"""Money and calls lent to a bridge."""

from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from core.clock import Instant

from .ledger import leases

State = Literal["open", "reported", "written_off"]


@dataclass(frozen=True)
class LentLease:
    """`id` is the id of its reservation too."""

    id: str
    installation: str
    micros: int
    calls: int
    output_tokens: int
    issued_at: Instant
    expires_at: Instant
    state: State
    reported_at: Instant | None = None


_ADD = insert(leases)
_ONE = select(leases).where(leases.c.id == bindparam("lease"))
_END = (
    update(leases)
    .where(leases.c.id == bindparam("lease"))
    .values(state=bindparam("becomes"), reported_at_ms=bindparam("at_ms"))
)
_CALLS_SINCE = select(func.coalesce(func.sum(leases.c.granted_calls), 0)).where(
    leases.c.issued_at_ms >= bindparam("since")
)
_OPEN = select(leases).where(leases.c.state == "open").order_by(leases.c.issued_at_ms)


def add(conn: Connection, lease: LentLease) -> None:
    conn.execute(
        _ADD,
        {
            "id": lease.id,
            "installation": lease.installation,
            "reservation_id": lease.id,
            "granted_micros": lease.micros,
            "granted_calls": lease.calls,
            "output_tokens": lease.output_tokens,
            "issued_at_ms": lease.issued_at,
            "expires_at_ms": lease.expires_at,
            "state": lease.state,
        },
    )


def one(conn: Connection, lease: str) -> LentLease | None:
    row = conn.execute(_ONE, {"lease": lease}).first()
    return _lease(row) if row else None


def end(conn: Connection, lease: str, becomes: State, now: Instant) -> None:
    conn.execute(_END, {"lease": lease, "becomes": becomes, "at_ms": now})


def calls_since(conn: Connection, since: Instant) -> int:
    """Calls lent since then."""
    return int(conn.execute(_CALLS_SINCE, {"since": since}).scalar_one())


def open_ones(conn: Connection) -> tuple[LentLease, ...]:
    return tuple(_lease(row) for row in conn.execute(_OPEN))


def _lease(row: Row[tuple[object, ...]]) -> LentLease:
    return LentLease(
        row.id,
        row.installation,
        row.granted_micros,
        row.granted_calls,
        row.output_tokens,
        Instant(row.issued_at_ms),
        Instant(row.expires_at_ms),
        cast(State, row.state),
        None if row.reported_at_ms is None else Instant(row.reported_at_ms),
    )
