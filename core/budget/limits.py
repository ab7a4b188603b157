"""Limits of a pool by minute and by the owner's local day, and the counters they look at.

A request belongs to the day and the minute of its reserve: it is counted there with the most it can use, and
corrected there when it ends, however late that is. Money caps of a pool as a whole are the ledger's.
"""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from zoneinfo import ZoneInfo

from ..clock import Instant, local_day
from ..days import start_of_day
from .refusals import Limit, Refusal

MINUTE_MS = 60_000


@dataclass(frozen=True, slots=True)
class Limits:
    """None means no limit. `output_tokens` bounds one request, the others bound the pool."""

    requests_per_minute: int | None = None
    requests_per_day: int | None = None
    concurrency: int | None = None
    tokens_per_day: int | None = None
    micros_per_day: int | None = None
    output_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """The most a request can use: `tokens` is input and output together, `output_tokens` the output alone."""

    tokens: int
    output_tokens: int
    micros: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Counters of one pool. `day` is the local day, as ISO 8601, and `minute` the minute since 1970 they belong to."""

    day: str
    minute: int
    requests_this_minute: int = 0
    requests_today: int = 0
    tokens_today: int = 0
    micros_today: int = 0
    running: int = 0


@dataclass(frozen=True, slots=True)
class Admitted:
    """The request may be reserved; `usage` counts it."""

    usage: Usage


def no_usage(now: Instant, zone: ZoneInfo) -> Usage:
    return Usage(day=local_day(now, zone), minute=now // MINUTE_MS)


def admit(limits: Limits, usage: Usage, request: Request, now: Instant, zone: ZoneInfo) -> Admitted | Refusal:
    """Count the request, or name the limit that forbids it.

    When several do, the one that takes longest to reset is named, so that nobody is told to come back in a minute
    and then sent away until tomorrow.
    """
    current = _rolled(usage, now, zone)
    tomorrow = _start_of_next_day(current.day, zone)
    next_minute = Instant((current.minute + 1) * MINUTE_MS)
    checks = (
        (Limit.OUTPUT_TOKENS, limits.output_tokens, 0, request.output_tokens, None),
        (Limit.MICROS_PER_DAY, limits.micros_per_day, current.micros_today, request.micros, tomorrow),
        (Limit.TOKENS_PER_DAY, limits.tokens_per_day, current.tokens_today, request.tokens, tomorrow),
        (Limit.REQUESTS_PER_DAY, limits.requests_per_day, current.requests_today, 1, tomorrow),
        (Limit.REQUESTS_PER_MINUTE, limits.requests_per_minute, current.requests_this_minute, 1, next_minute),
        (Limit.CONCURRENCY, limits.concurrency, current.running, 1, None),
    )
    for limit, allowed, used, asked, resets_at in checks:
        if allowed is not None and used + asked > allowed:
            return Refusal(limit, allowed, left=max(0, allowed - used), asked=asked, resets_at=resets_at)
    return Admitted(_counted(current, request))


def close_request(usage: Usage, day: str, reserved: Request, tokens: int, micros: int) -> Usage:
    """The request reserved on `day` ended with this use. Unknown outcomes end with what was reserved.

    `usage` may be of a later day: then only the number of running requests changes, for the store keeps the counters
    of a day that is over with that day.
    """
    ended = replace(usage, running=max(0, usage.running - 1))
    if usage.day != day:
        return ended
    return replace(
        ended,
        tokens_today=max(0, usage.tokens_today - reserved.tokens + tokens),
        micros_today=max(0, usage.micros_today - reserved.micros + micros),
    )


def _start_of_next_day(day: str, zone: ZoneInfo) -> Instant:
    return start_of_day(date.fromisoformat(day) + timedelta(days=1), zone)


def _rolled(usage: Usage, now: Instant, zone: ZoneInfo) -> Usage:
    """The counters as they stand at `now`: a new day or minute starts at nothing, what runs goes on running.

    A clock or a zone that moves back over midnight does not make the day new, or it could be spent twice.
    """
    today = date.fromisoformat(local_day(now, zone))
    if usage.day not in (today.isoformat(), (today + timedelta(days=1)).isoformat()):
        return replace(no_usage(now, zone), running=usage.running)
    if usage.minute != now // MINUTE_MS:
        return replace(usage, minute=now // MINUTE_MS, requests_this_minute=0)
    return usage


def _counted(usage: Usage, request: Request) -> Usage:
    return replace(
        usage,
        requests_this_minute=usage.requests_this_minute + 1,
        requests_today=usage.requests_today + 1,
        tokens_today=usage.tokens_today + request.tokens,
        micros_today=usage.micros_today + request.micros,
        running=usage.running + 1,
    )
