"""The guard on the owner's own chat, which has no money cap: a day far above the owner's habit stops and asks.

It trips once, stays tripped over midnight, and is left only by the owner, who thereby allows the rest of that day.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_high

from .refusals import Limit, Refusal


@dataclass(frozen=True, slots=True)
class AnomalyRule:
    """Today trips above `factor` times the median of the last `days` days, and never below `floor_tokens`."""

    factor: int = 5
    floor_tokens: int = 300_000
    days: int = 14


@dataclass(frozen=True, slots=True)
class AnomalyState:
    """Local days as ISO 8601: the day it tripped, and the day the owner last allowed."""

    tripped_on: str | None = None
    cleared_on: str | None = None


def judge_day(
    rule: AnomalyRule, state: AnomalyState, day: str, tokens_today: int, asked: int, earlier_days: Sequence[int]
) -> tuple[AnomalyState, Refusal | None]:
    """May `asked` more tokens be used on `day`? `earlier_days` holds the tokens of the days before, oldest first."""
    threshold = _threshold(rule, earlier_days)
    refusal = Refusal(Limit.ANOMALY, allowed=threshold, left=max(0, threshold - tokens_today), asked=asked)
    if state.tripped_on is not None:
        return state, refusal
    if state.cleared_on == day or tokens_today + asked <= threshold:
        return state, None
    return AnomalyState(tripped_on=day, cleared_on=state.cleared_on), refusal


def clear_anomaly(day: str) -> AnomalyState:
    """The owner says that this is fine; the guard lets the rest of `day` pass."""
    return AnomalyState(cleared_on=day)


def _threshold(rule: AnomalyRule, earlier_days: Sequence[int]) -> int:
    """
    >>> _threshold(AnomalyRule(factor=3, floor_tokens=100), [10, 80, 90])
    240
    """
    recent = earlier_days[-rule.days :]
    return max(rule.floor_tokens, rule.factor * median_high(recent) if recent else 0)
