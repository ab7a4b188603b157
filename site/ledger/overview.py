"""The figures of the money page: pools by day, calls by model, leases that are out, and where the figures have holes."""

from dataclasses import dataclass
from datetime import date, timedelta

from sqlalchemy import Connection

from core.budget import AnomalyState
from core.clock import Instant, local_day

from ..store import guards, leases, pool_days, usage
from ..store.leases import LentLease
from ..store.pool_days import Pool, PoolDay
from ..store.usage import CallSum, Hole
from . import book
from .rules import Rules

POOLS: tuple[Pool, ...] = ("chat", "readers", "digest")
DAYS = 30
WEEK = 7
DAY_MS = 86_400_000


@dataclass(frozen=True)
class PoolView:
    """Today of one pool beside its limits."""

    rules: Rules
    today: PoolDay


@dataclass(frozen=True)
class Overview:
    pools: tuple[PoolView, ...]
    days: tuple[PoolDay, ...]
    calls: tuple[CallSum, ...]
    leases: tuple[LentLease, ...]
    holes: tuple[Hole, ...]
    guard: AnomalyState

    @property
    def incomplete(self) -> bool:
        return bool(self.holes) or any(sums.incomplete for sums in self.calls)


def look(conn: Connection, rules: tuple[Rules, ...], now: Instant, days: int = DAYS) -> Overview:
    """Opens today's rows where they are new, so it is a write."""
    today = local_day(now, rules[0].zone)
    since = days_up_to(today, days)[0]
    return Overview(
        tuple(PoolView(one, book.today(conn, one, now)) for one in rules),
        pool_days.since(conn, since),
        usage.sums_since(conn, since),
        leases.open_ones(conn),
        usage.holes_since(conn, Instant(now - days * DAY_MS)),
        guards.state(conn, "chat"),
    )


def days_up_to(today: str, days: int = DAYS) -> tuple[str, ...]:
    """
    >>> days_up_to("2026-03-01", 2)
    ('2026-02-28', '2026-03-01')
    """
    last = date.fromisoformat(today)
    return tuple((last - timedelta(days=back)).isoformat() for back in reversed(range(days)))


def forecast(days: tuple[PoolDay, ...], today: str) -> int:
    """Micro-units that thirty days cost at the pace of the seven whole days before today; 0 without any spending."""
    week = days_up_to(today, WEEK + 1)[:-1]
    return sum(day.spent for day in days if day.day in week) * DAYS // WEEK
