"""The circuit breaker of one conversation or one provider, as a table.

    closed  calls pass; failures in a row are counted
    open    no call passes, until the cool-down is over or, without one, until the owner clears it
    trial   the cool-down is over and one call is under way; others wait for how it ends

A failed or unknown call counts the same: both may have cost money. `denied` (wrong key, no credit left) opens at once
and only the owner clears it, because waiting does not mend it. A call that ends while the breaker is open was begun
before it opened: only a denial among these changes anything. A trial is never left hanging, because the store ends
every attempt, one found at start as unknown. Clearing is possible in every phase and gives a new breaker.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from ..clock import Instant
from .refusals import Limit, Refusal


class Phase(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    TRIAL = "trial"


class CallOutcome(StrEnum):
    ANSWERED = "answered"
    FAILED = "failed"
    UNKNOWN = "unknown"
    DENIED = "denied"


class _Step(StrEnum):
    STAY = "stay"
    RESET = "reset"
    COUNT = "count"
    OPEN = "open"
    LOCK = "lock"


_NEXT: dict[tuple[Phase, CallOutcome], _Step] = {
    (Phase.CLOSED, CallOutcome.ANSWERED): _Step.RESET,
    (Phase.CLOSED, CallOutcome.FAILED): _Step.COUNT,
    (Phase.CLOSED, CallOutcome.UNKNOWN): _Step.COUNT,
    (Phase.CLOSED, CallOutcome.DENIED): _Step.LOCK,
    (Phase.OPEN, CallOutcome.ANSWERED): _Step.STAY,
    (Phase.OPEN, CallOutcome.FAILED): _Step.STAY,
    (Phase.OPEN, CallOutcome.UNKNOWN): _Step.STAY,
    (Phase.OPEN, CallOutcome.DENIED): _Step.LOCK,
    (Phase.TRIAL, CallOutcome.ANSWERED): _Step.RESET,
    (Phase.TRIAL, CallOutcome.FAILED): _Step.OPEN,
    (Phase.TRIAL, CallOutcome.UNKNOWN): _Step.OPEN,
    (Phase.TRIAL, CallOutcome.DENIED): _Step.LOCK,
}


@dataclass(frozen=True, slots=True)
class BreakerRule:
    """`cool_down_ms` None: open until the owner clears it."""

    failures: int = 3
    cool_down_ms: int | None = 600_000


@dataclass(frozen=True, slots=True)
class Breaker:
    """`until` is the end of the cool-down; None while open means that only the owner clears it."""

    phase: Phase = Phase.CLOSED
    failures: int = 0
    until: Instant | None = None


def begin_call(breaker: Breaker, rule: BreakerRule, now: Instant) -> tuple[Breaker, Refusal | None]:
    """Ask before a call; keep the returned breaker, for a trial may have begun."""
    if breaker.phase is Phase.CLOSED:
        return breaker, None
    if breaker.phase is Phase.OPEN and breaker.until is not None and now >= breaker.until:
        return replace(breaker, phase=Phase.TRIAL), None
    resets_at = breaker.until if breaker.phase is Phase.OPEN else None
    return breaker, Refusal(Limit.BREAKER, allowed=rule.failures, left=0, asked=1, resets_at=resets_at)


def end_call(breaker: Breaker, rule: BreakerRule, outcome: CallOutcome, now: Instant) -> Breaker:
    """The breaker after a call has ended; see the table."""
    failures = breaker.failures + 1
    match _NEXT[breaker.phase, outcome]:
        case _Step.STAY:
            return breaker
        case _Step.RESET:
            return Breaker()
        case _Step.COUNT if failures < rule.failures:
            return Breaker(failures=failures)
        case _Step.LOCK:
            return Breaker(Phase.OPEN, failures, until=None)
        case _Step.COUNT | _Step.OPEN:
            until = None if rule.cool_down_ms is None else Instant(now + rule.cool_down_ms)
            return Breaker(Phase.OPEN, failures, until)


def clear_breaker() -> Breaker:
    return Breaker()
