"""Reserve, settle, release, unknown: one transaction each, the same for every pool.

The rules decide on what was read; the guarded UPDATE and the checks of the table decide again, so that neither a race
nor a fault of ours can spend past a cap. A reservation belongs to the day of its reserve, however late it ends.
"""

from dataclasses import replace

from sqlalchemy import Connection

from core.budget import (
    Balance,
    Change,
    Entry,
    Kind,
    Limit,
    Limits,
    Proof,
    Refusal,
    Rejection,
    Request,
    Usage,
    admit,
)
from core.budget import adjust as adjust_rule
from core.budget import mark_unknown as unknown_rule
from core.budget import release as release_rule
from core.budget import settle as settle_rule
from core.clock import Instant, local_day
from core.errors import BadInput

from ..store import entries, pool_days, reservations
from ..store.pool_days import Pool, PoolDay
from ..store.reservations import Purpose, Reservation, State
from .rules import Rules

MINUTE_MS = 60_000


def today(conn: Connection, rules: Rules, now: Instant) -> PoolDay:
    """The pool on the owner's local day, made if it is new."""
    return pool_days.opened(conn, rules.pool, local_day(now, rules.zone), rules.cap)


def reserve(
    conn: Connection, rules: Rules, reservation: str, purpose: Purpose, request: Request, now: Instant
) -> Reservation | Refusal:
    """Holds the most that one call can cost, or names the limit that forbids it. BadInput for an id used before."""
    if reservations.one(conn, reservation) is not None:
        raise BadInput(f"reservation {reservation!r} exists: every call needs an id of its own")
    day = today(conn, rules, now)
    minute = Instant(now // MINUTE_MS * MINUTE_MS)
    counters = usage_now(conn, day, now, reservations.made_since(conn, rules.pool, minute))
    admitted = admit(effective(rules.limits, day), counters, request, now, rules.zone)
    if isinstance(admitted, Refusal):
        return admitted
    made = Reservation(reservation, rules.pool, day.day, purpose, request.micros, request.tokens, "held", now)
    refusal = hold(conn, made, day)
    if refusal is not None:
        return refusal
    pool_days.count(conn, rules.pool, day.day, tokens=request.tokens, requests=1)
    return made


def usage_now(conn: Connection, day: PoolDay, now: Instant, this_minute: int) -> Usage:
    """The counters of the pool as the rules want them."""
    return Usage(
        day=day.day,
        minute=now // MINUTE_MS,
        requests_this_minute=this_minute,
        requests_today=day.requests,
        tokens_today=day.tokens,
        micros_today=day.held + day.spent,
        running=reservations.running(conn, day.pool, now),
    )


def effective(limits: Limits, day: PoolDay) -> Limits:
    """With the cap as it stands on that day: one that was lowered below what is in use is what is in use."""
    return replace(limits, micros_per_day=day.cap)


def hold(conn: Connection, made: Reservation, day: PoolDay) -> Refusal | None:
    """Takes the money and writes the reservation with its first line."""
    if day.frozen or not pool_days.hold(conn, made.pool, made.day, made.micros):
        return Refusal(Limit.FROZEN if day.frozen else Limit.CAP, day.cap or 0, day.left or 0, made.micros)
    reservations.add(conn, made)
    entries.add(conn, entries.Line(made.pool, made.day, made.id, Kind.RESERVE, made.micros, made.made_at))
    return None


def settle(conn: Connection, reservation: str, micros: int, tokens: int, now: Instant, *, unknown: int = 0) -> None:
    """The provider told the cost. `unknown` is the part of it nobody is certain of. BadInput when it has ended before."""
    mine = held(conn, reservation)
    change = settle_rule(_balance(conn, mine), entries.of_reservation(conn, reservation), micros)
    _end(conn, mine, change, "settled", now, unknown=unknown)
    pool_days.count(conn, mine.pool, mine.day, tokens=tokens - mine.tokens)


def release(conn: Connection, reservation: str, proof: Proof, now: Instant) -> None:
    """Gives all of it back: only with the proof that nothing was charged. The request stays counted."""
    mine = held(conn, reservation)
    change = release_rule(_balance(conn, mine), entries.of_reservation(conn, reservation), proof)
    _end(conn, mine, change, "released", now)
    pool_days.count(conn, mine.pool, mine.day, tokens=-mine.tokens)


def unknown(conn: Connection, reservation: str, now: Instant) -> None:
    """Maybe charged: the whole reserve counts as spent, and its tokens stay counted."""
    mine = held(conn, reservation)
    change = unknown_rule(_balance(conn, mine), entries.of_reservation(conn, reservation))
    _end(conn, mine, change, "unknown", now, unknown=mine.micros)


def adjust(conn: Connection, reservation: str, micros: int, now: Instant, *, unknown: int = 0) -> None:
    """Better evidence for one that ended unknown: by the owner, or by a settlement that came late."""
    mine = _known(conn, reservation)
    change = adjust_rule(_balance(conn, mine), entries.of_reservation(conn, reservation), micros)
    _end(conn, mine, change, "settled", now, unknown=unknown - mine.micros)


def held(conn: Connection, reservation: str) -> Reservation:
    """A reservation that has not ended. BadInput otherwise."""
    found = _known(conn, reservation)
    if found.state != "held":
        raise BadInput(f"reservation {reservation!r} was {found.state} before: it ends once")
    return found


def _known(conn: Connection, reservation: str) -> Reservation:
    found = reservations.one(conn, reservation)
    if found is None:
        raise BadInput(f"there is no reservation {reservation!r}: reserve before the call")
    return found


def _balance(conn: Connection, held: Reservation) -> Balance:
    day = pool_days.one(conn, held.pool, held.day)
    assert day is not None, f"reservation {held.id} names a day that is not there"
    return Balance(day.cap, day.held, day.spent, day.frozen)


def _end(
    conn: Connection, held: Reservation, change: Change | Rejection, becomes: State, now: Instant, *, unknown: int = 0
) -> None:
    if isinstance(change, Rejection):
        raise BadInput(change.message)
    if not reservations.end(conn, held.id, held.state, becomes, now):
        raise BadInput(f"reservation {held.id!r} was ended by another request at the same time")
    for entry in change.entries:
        _write(conn, held.pool, held.day, entry, now)
    pool_days.change(
        conn,
        held.pool,
        held.day,
        held=sum(entry.held for entry in change.entries),
        spent=sum(entry.spent for entry in change.entries),
        unknown=unknown,
        overrun=sum(entry.micros - entry.spent for entry in change.entries if entry.kind is Kind.OVERRUN),
    )
    if change.balance.frozen:
        pool_days.freeze(conn, held.pool, held.day)


def _write(conn: Connection, pool: Pool, day: str, entry: Entry, now: Instant) -> None:
    note = entry.proof.value if entry.proof else None
    entries.add(conn, entries.Line(pool, day, entry.reservation, entry.kind, entry.micros, now, note))
