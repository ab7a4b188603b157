"""A pool on one local day: what is held, spent, unknown and overrun, and the counters that limits look at.

held + spent <= cap          checked by the table, guarded by `hold`
spent = settled + unknown + adjusted + overrun - (overrun that did not fit)
"""

from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import Connection, Row, bindparam, or_, select, update
from sqlalchemy import text as sql

from .ledger import pool_days

Pool = Literal["chat", "readers", "digest"]


@dataclass(frozen=True)
class PoolDay:
    """`overrun` is what a provider charged beyond the cap; `unknown` is the part of `spent` nobody is certain of."""

    pool: Pool
    day: str
    cap: int | None
    held: int
    spent: int
    unknown: int
    overrun: int
    tokens: int
    requests: int
    frozen: bool

    @property
    def left(self) -> int | None:
        return None if self.cap is None else self.cap - self.held - self.spent


_THIS = (pool_days.c.pool == bindparam("of_pool"), pool_days.c.day == bindparam("on_day"))
# A frozen pool stays frozen over midnight: only the owner thaws it.
_OPEN = sql(
    "INSERT INTO pool_days (pool, day, cap_micros, frozen) VALUES (:pool, :day, :cap, "
    "COALESCE((SELECT frozen FROM pool_days WHERE pool = :pool AND day < :day ORDER BY day DESC LIMIT 1), 0)) "
    "ON CONFLICT DO NOTHING"
)
_ONE = select(pool_days).where(*_THIS)
_SET_CAP = update(pool_days).where(*_THIS).values(cap_micros=bindparam("new_cap"))
_HOLD = (
    update(pool_days)
    .where(
        *_THIS,
        pool_days.c.frozen == 0,
        or_(
            pool_days.c.cap_micros.is_(None),
            pool_days.c.held_micros + pool_days.c.spent_micros + bindparam("micros") <= pool_days.c.cap_micros,
        ),
    )
    .values(held_micros=pool_days.c.held_micros + bindparam("micros"))
)
_CHANGE = (
    update(pool_days)
    .where(*_THIS)
    .values(
        held_micros=pool_days.c.held_micros + bindparam("held"),
        spent_micros=pool_days.c.spent_micros + bindparam("spent"),
        unknown_micros=pool_days.c.unknown_micros + bindparam("unknown"),
        overrun_micros=pool_days.c.overrun_micros + bindparam("overrun"),
    )
)
_COUNT = (
    update(pool_days)
    .where(*_THIS)
    .values(tokens=pool_days.c.tokens + bindparam("tokens"), requests=pool_days.c.requests + bindparam("requests"))
)
_FREEZE = (
    update(pool_days)
    .where(pool_days.c.pool == bindparam("of_pool"), pool_days.c.day >= bindparam("on_day"))
    .values(frozen=1)
)
_THAW = update(pool_days).where(pool_days.c.pool == bindparam("of_pool")).values(frozen=0)
_SINCE = select(pool_days).where(pool_days.c.day >= bindparam("since")).order_by(pool_days.c.day, pool_days.c.pool)
_BEFORE = (
    select(pool_days.c.day, pool_days.c.tokens)
    .where(pool_days.c.pool == bindparam("of_pool"), pool_days.c.day < bindparam("on_day"))
    .order_by(pool_days.c.day.desc())
    .limit(bindparam("days"))
)


def opened(conn: Connection, pool: Pool, day: str, cap: int | None) -> PoolDay:
    """The pool on that day, made if it is new. A cap below what is in use stops new work and makes no past untrue."""
    conn.execute(_OPEN, {"pool": pool, "day": day, "cap": cap})
    found = one(conn, pool, day)
    assert found is not None, f"pool {pool} on {day} was just made"
    wanted = cap if cap is None else max(cap, found.held + found.spent)
    if wanted == found.cap:
        return found
    conn.execute(_SET_CAP, {"of_pool": pool, "on_day": day, "new_cap": wanted})
    return PoolDay(**{**vars(found), "cap": wanted})


def one(conn: Connection, pool: Pool, day: str) -> PoolDay | None:
    row = conn.execute(_ONE, {"of_pool": pool, "on_day": day}).first()
    return _pool_day(row) if row else None


def hold(conn: Connection, pool: Pool, day: str, micros: int) -> bool:
    """False when it does not fit or the pool is frozen, whatever the caller read before."""
    return conn.execute(_HOLD, {"of_pool": pool, "on_day": day, "micros": micros}).rowcount == 1


def change(conn: Connection, pool: Pool, day: str, *, held: int, spent: int, unknown: int, overrun: int) -> None:
    """Adds to the sums; the table's own checks refuse what would break its laws."""
    values = {"held": held, "spent": spent, "unknown": unknown, "overrun": overrun}
    conn.execute(_CHANGE, {"of_pool": pool, "on_day": day, **values})


def count(conn: Connection, pool: Pool, day: str, *, tokens: int = 0, requests: int = 0) -> None:
    conn.execute(_COUNT, {"of_pool": pool, "on_day": day, "tokens": tokens, "requests": requests})


def freeze(conn: Connection, pool: Pool, day: str) -> None:
    """Stops the pool on that day and on every later one that has begun."""
    conn.execute(_FREEZE, {"of_pool": pool, "on_day": day})


def thaw(conn: Connection, pool: Pool) -> None:
    conn.execute(_THAW, {"of_pool": pool})


def since(conn: Connection, day: str) -> tuple[PoolDay, ...]:
    return tuple(_pool_day(row) for row in conn.execute(_SINCE, {"since": day}))


def tokens_before(conn: Connection, pool: Pool, day: str, days: int) -> list[int]:
    """Tokens of up to `days` earlier days on which the pool was used, oldest first."""
    rows = conn.execute(_BEFORE, {"of_pool": pool, "on_day": day, "days": days}).all()
    return [row.tokens for row in reversed(rows)]


def _pool_day(row: Row[tuple[object, ...]]) -> PoolDay:
    return PoolDay(
        cast(Pool, row.pool),
        row.day,
        row.cap_micros,
        row.held_micros,
        row.spent_micros,
        row.unknown_micros,
        row.overrun_micros,
        row.tokens,
        row.requests,
        bool(row.frozen),
    )
