"""A pool's settings as the limits of `core.budget`: money in whole micro-units, days in the owner's zone."""

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from zoneinfo import ZoneInfo

from core.budget import AnomalyRule, Limits
from core.settings import Pool as PoolSettings
from core.settings import Settings

from ..store.pool_days import Pool

MICROS = 1_000_000


@dataclass(frozen=True)
class Rules:
    """What the ledger must know of one pool. `zone` is the owner's: it says when a day ends."""

    pool: Pool
    limits: Limits
    zone: ZoneInfo

    @property
    def cap(self) -> int | None:
        return self.limits.micros_per_day


@dataclass(frozen=True)
class LeaseRules:
    """`anomaly` guards the owner's own chat, which has no money cap by default."""

    rules: Rules
    seconds: int
    calls: int
    micros: int
    anomaly: AnomalyRule


def pool_rules(settings: Settings, pool: Pool) -> Rules:
    chosen: PoolSettings = getattr(settings.budgets, pool)
    limits = Limits(
        requests_per_minute=chosen.requests_per_minute,
        requests_per_day=chosen.requests_per_day,
        concurrency=chosen.concurrency,
        tokens_per_day=chosen.tokens_per_day,
        micros_per_day=None if chosen.money_per_day is None else micros_of(chosen.money_per_day),
        output_tokens=chosen.output_tokens,
    )
    return Rules(pool, limits, ZoneInfo(settings.persona.timezone))


def lease_rules(settings: Settings) -> LeaseRules:
    chat = settings.budgets.chat
    factor = int(Decimal(str(chat.anomaly_factor)).to_integral_value(ROUND_CEILING))
    return LeaseRules(
        pool_rules(settings, "chat"),
        chat.lease_seconds,
        chat.lease_calls,
        micros_of(chat.lease_money),
        AnomalyRule(factor=factor, floor_tokens=chat.anomaly_floor_tokens),
    )


def micros_of(money: Decimal) -> int:
    """
    >>> micros_of(Decimal("1.25")), micros_of(Decimal("0.0000001"))
    (1250000, 1)
    """
    return int((money * MICROS).to_integral_value(ROUND_CEILING))
