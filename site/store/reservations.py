"""Money set aside before a call, or for a lease. It ends once; a deadline never ends it."""

from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import Connection, Row, bindparam, func, insert, or_, select, update

from core.clock import Instant

from .ledger import reservations
from .pool_days import Pool

Purpose = Literal["lease", "answer", "digest"]
State = Literal["held", "settled", "released", "unknown"]


@dataclass(frozen=True)
class Reservation:
    """`expires_at` is there for leases only, and counts for their concurrency, never for their money."""

    id: str
    pool: Pool
    day: str
    purpose: Purpose
    micros: int
    tokens: int
    state: State
    made_at: Instant
    ended_at: Instant | None = None
    expires_at: Instant | None = None


_ADD = insert(reservations)
_ONE = select(reservations).where(reservations.c.id == bindparam("reservation"))
_END = (
    update(reservations)
    .where(reservations.c.id == bindparam("reservation"), reservations.c.state == bindparam("was"))
    .values(state=bindparam("becomes"), ended_at_ms=bindparam("at_ms"))
)
_RUNNING = (
    select(func.count())
    .select_from(reservations)
    .where(
        reservations.c.pool == bindparam("of_pool"),
        reservations.c.state == "held",
        or_(reservations.c.expires_at_ms.is_(None), reservations.c.expires_at_ms > bindparam("now")),
    )
)
_SINCE = (
    select(func.count())
    .select_from(reservations)
    .where(reservations.c.pool == bindparam("of_pool"), reservations.c.made_at_ms >= bindparam("since"))
)
_HELD = select(reservations).where(reservations.c.state == "held").order_by(reservations.c.made_at_ms)


def add(conn: Connection, reservation: Reservation) -> None:
    conn.execute(
        _ADD,
        {
            "id": reservation.id,
            "pool": reservation.pool,
            "day": reservation.day,
            "purpose": reservation.purpose,
            "reserved_micros": reservation.micros,
            "reserved_tokens": reservation.tokens,
            "state": reservation.state,
            "made_at_ms": reservation.made_at,
            "expires_at_ms": reservation.expires_at,
        },
    )


def one(conn: Connection, reservation: str) -> Reservation | None:
    row = conn.execute(_ONE, {"reservation": reservation}).first()
    return _reservation(row) if row else None


def end(conn: Connection, reservation: str, was: State, becomes: State, now: Instant) -> bool:
    """True for the one caller who finds it as it was."""
    values = {"reservation": reservation, "was": was, "becomes": becomes, "at_ms": now}
    return conn.execute(_END, values).rowcount == 1


def running(conn: Connection, pool: Pool, now: Instant) -> int:
    """Held ones, of leases only those that are still good."""
    return int(conn.execute(_RUNNING, {"of_pool": pool, "now": now}).scalar_one())


def made_since(conn: Connection, pool: Pool, since: Instant) -> int:
    return int(conn.execute(_SINCE, {"of_pool": pool, "since": since}).scalar_one())


def held(conn: Connection) -> tuple[Reservation, ...]:
    return tuple(_reservation(row) for row in conn.execute(_HELD))


def _reservation(row: Row[tuple[object, ...]]) -> Reservation:
    return Reservation(
        row.id,
        cast(Pool, row.pool),
        row.day,
        cast(Purpose, row.purpose),
        row.reserved_micros,
        row.reserved_tokens,
        cast(State, row.state),
        Instant(row.made_at_ms),
        None if row.ended_at_ms is None else Instant(row.ended_at_ms),
        None if row.expires_at_ms is None else Instant(row.expires_at_ms),
    )
