"""Paid calls, each told once by the program that made it, and notes where bookkeeping is known to have a hole."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import Connection, Row, bindparam, func, select
from sqlalchemy import text as sql

from core.clock import Instant

from .ledger import usage, usage_notes
from .pool_days import Pool


@dataclass(frozen=True)
class Call:
    """`incomplete`: the provider named no tokens, so the cost is the reserve or a guess."""

    id: str
    pool: Pool
    day: str
    provider: str
    model: str
    category: str
    outcome: str
    input_tokens: int | None
    output_tokens: int | None
    cost_micros: int
    incomplete: bool
    at: Instant

    @property
    def tokens(self) -> int:
        return (self.input_tokens or 0) + (self.output_tokens or 0)


@dataclass(frozen=True)
class CallSum:
    day: str
    pool: Pool
    provider: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    cost_micros: int
    incomplete: int


@dataclass(frozen=True)
class Hole:
    pool: str
    detail: str
    at: Instant


_ADD = sql(
    "INSERT INTO usage (id, pool, day, provider, model, category, outcome, input_tokens, output_tokens, cost_micros, "
    "incomplete, at_ms) VALUES (:id, :pool, :day, :provider, :model, :category, :outcome, :input_tokens, "
    ":output_tokens, :cost_micros, :incomplete, :at_ms) ON CONFLICT DO NOTHING"
)
_SUMS = (
    select(
        usage.c.day,
        usage.c.pool,
        usage.c.provider,
        usage.c.model,
        func.count().label("calls"),
        func.coalesce(func.sum(usage.c.input_tokens), 0).label("input_tokens"),
        func.coalesce(func.sum(usage.c.output_tokens), 0).label("output_tokens"),
        func.sum(usage.c.cost_micros).label("cost_micros"),
        func.sum(usage.c.incomplete).label("incomplete"),
    )
    .where(usage.c.day >= bindparam("since"))
    .group_by(usage.c.day, usage.c.pool, usage.c.provider, usage.c.model)
    .order_by(usage.c.day.desc(), usage.c.pool, usage.c.provider, usage.c.model)
)
_NOTE = sql("INSERT INTO usage_notes (pool, detail, at_ms) VALUES (:pool, :detail, :at_ms) ON CONFLICT DO NOTHING")
_HOLES = (
    select(usage_notes)
    .where(usage_notes.c.at_ms >= bindparam("since"))
    .order_by(usage_notes.c.at_ms.desc())
    .limit(bindparam("limit"))
)


def add(conn: Connection, call: Call) -> bool:
    """False when this call was told before; then nothing changes."""
    values = {
        "id": call.id,
        "pool": call.pool,
        "day": call.day,
        "provider": call.provider,
        "model": call.model,
        "category": call.category,
        "outcome": call.outcome,
        "input_tokens": call.input_tokens,
        "output_tokens": call.output_tokens,
        "cost_micros": call.cost_micros,
        "incomplete": int(call.incomplete),
        "at_ms": call.at,
    }
    return conn.execute(_ADD, values).rowcount == 1


def sums_since(conn: Connection, day: str) -> tuple[CallSum, ...]:
    return tuple(_sum(row) for row in conn.execute(_SUMS, {"since": day}))


def note_hole(conn: Connection, pool: Pool, detail: str, now: Instant) -> None:
    conn.execute(_NOTE, {"pool": pool, "detail": detail, "at_ms": now})


def holes_since(conn: Connection, since: Instant, limit: int = 50) -> tuple[Hole, ...]:
    rows = conn.execute(_HOLES, {"since": since, "limit": limit})
    return tuple(Hole(row.pool, row.detail, Instant(row.at_ms)) for row in rows)


def _sum(row: Row[tuple[object, ...]]) -> CallSum:
    return CallSum(
        row.day,
        cast(Pool, row.pool),
        row.provider,
        row.model,
        row.calls,
        int(row.input_tokens),
        int(row.output_tokens),
        int(row.cost_micros),
        int(row.incomplete),
    )
