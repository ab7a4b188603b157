"""Leases of the `chat` pool lent to a bridge, the closing reports that end them, and the calls a bridge tells of.

For the ledger a lease is one reservation. While it is out, its calls are counted as if all were made; the closing
report gives the rest back. A lease that is never reported stays held until the owner writes it off, and a report that
comes after that corrects it. Tokens are counted from the calls told by `tell_usage`, each once.
"""

from dataclasses import replace

from sqlalchemy import Connection

from core.budget import Limit, Refusal, Request, admit, judge_day
from core.clock import Instant, local_day
from core.control.messages import LeaseReport, UsageEvent
from core.errors import BadInput
from core.ids import LeaseId

from ..store import guards, leases, pool_days, reservations, usage
from ..store.leases import LentLease
from ..store.pool_days import Pool, PoolDay
from ..store.reservations import Reservation
from . import book
from .rules import LeaseRules

CATEGORY_POOLS: dict[str, Pool] = {"chat": "chat", "digest": "digest", "reader": "readers"}


def lend(conn: Connection, terms: LeaseRules, lease: LeaseId, installation: str, now: Instant) -> LentLease | Refusal:
    """A new lease, or the limit that forbids it. It carries what is left where that is less than a whole lease."""
    day = book.today(conn, terms.rules, now)
    if (refusal := _guarded(conn, terms, day)) is not None:
        return refusal
    minute = Instant(now // book.MINUTE_MS * book.MINUTE_MS)
    counters = book.usage_now(conn, day, now, leases.calls_since(conn, minute))
    limits = book.effective(terms.rules.limits, day)
    micros = terms.micros if day.left is None else min(terms.micros, day.left)
    # At least one micro-unit is asked for, so that a spent day is refused with its reset rather than lent nothing.
    asked = Request(tokens=1, output_tokens=0, micros=max(micros, min(terms.micros, 1)))
    admitted = admit(limits, counters, asked, now, terms.rules.zone)
    if isinstance(admitted, Refusal):
        return admitted
    calls = _calls(terms, counters.requests_this_minute, counters.requests_today)
    expires = Instant(now + terms.seconds * 1000)
    made = Reservation(lease, "chat", day.day, "lease", micros, 0, "held", now, expires_at=expires)
    if (refusal := book.hold(conn, made, day)) is not None:
        return refusal
    output = terms.rules.limits.output_tokens
    assert output is not None, "a lease bounds the output of every call"
    lent = LentLease(lease, installation, micros, calls, output, now, expires, "open")
    leases.add(conn, lent)
    pool_days.count(conn, "chat", day.day, requests=calls)
    return lent


def _guarded(conn: Connection, terms: LeaseRules, day: PoolDay) -> Refusal | None:
    """What stops the pool before any counter: a freeze, or a day far above the owner's habit."""
    if day.frozen:
        return Refusal(Limit.FROZEN, day.cap or 0, 0, terms.micros)
    before = guards.state(conn, "chat")
    earlier = pool_days.tokens_before(conn, "chat", day.day, terms.anomaly.days)
    after, refusal = judge_day(terms.anomaly, before, day.day, day.tokens, 1, earlier)
    if after != before:
        guards.keep(conn, "chat", after)
    return refusal


def _calls(terms: LeaseRules, this_minute: int, today: int) -> int:
    minute, day = terms.rules.limits.requests_per_minute, terms.rules.limits.requests_per_day
    assert minute is not None and day is not None, "a pool of the settings always bounds its requests"
    return min(terms.calls, minute - this_minute, day - today)


def close(conn: Connection, report: LeaseReport, now: Instant) -> None:
    """Ends a lease by its closing report; the same report again changes nothing. A hole is noted for an unknown lease."""
    lent = leases.one(conn, report.lease)
    if lent is None:
        usage.note_hole(conn, "chat", f"lease {report.lease} was reported, but this site never lent it", now)
        return
    if lent.state == "reported":
        return
    total = report.spent_micros + report.unknown_micros + report.overrun_micros
    if lent.state == "written_off":
        book.adjust(conn, report.lease, total, now, unknown=report.unknown_micros)
    else:
        book.settle(conn, report.lease, total, 0, now, unknown=report.unknown_micros)
    _after_report(conn, lent, report, now)


def _after_report(conn: Connection, lent: LentLease, report: LeaseReport, now: Instant) -> None:
    reservation = reservations.one(conn, lent.id)
    assert reservation is not None, f"lease {lent.id} has no reservation"
    leases.end(conn, lent.id, "reported", now)
    pool_days.count(conn, "chat", reservation.day, requests=min(0, report.calls - lent.calls))
    if report.overrun_micros:
        pool_days.freeze(conn, "chat", reservation.day)


def write_off(conn: Connection, lease: str, now: Instant) -> LentLease:
    """The owner gives a lease up: all of it counts as spent. BadInput when it is not open, or still good."""
    lent = leases.one(conn, lease)
    if lent is None or lent.state != "open":
        raise BadInput(f"lease {lease!r} is not open: there is nothing to write off")
    if lent.expires_at > now:
        raise BadInput(f"lease {lease!r} is still good: a bridge may be spending it; wait until it has expired")
    book.unknown(conn, lease, now)
    leases.end(conn, lease, "written_off", now)
    return replace(lent, state="written_off", reported_at=now)


def tell_usage(conn: Connection, event: UsageEvent, terms: LeaseRules) -> bool:
    """Keeps a call once, however often it is told; its tokens count on the owner's day it was made. False for a repeat."""
    pool, day = CATEGORY_POOLS[event.category], local_day(Instant(event.at_ms), terms.rules.zone)
    call = usage.Call(
        event.id,
        pool,
        day,
        event.provider,
        event.model,
        event.category,
        event.outcome,
        event.input_tokens,
        event.output_tokens,
        event.cost_micros,
        event.incomplete,
        Instant(event.at_ms),
    )
    if not usage.add(conn, call):
        return False
    if pool == "chat":
        # A day that nobody lent on is made too: its tokens are part of the owner's habit.
        pool_days.opened(conn, pool, day, terms.rules.cap)
        pool_days.count(conn, pool, day, tokens=call.tokens)
    return True
