"""Calls of the model, each written before its first byte leaves, with its reservation in the same transaction."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select
from sqlalchemy import text as sql

from core import budget
from core.clock import Instant
from core.errors import TransitionError
from core.ids import AttemptId, LeaseId, TurnId
from core.store.columns import AnyRow

from ..turn import Actor, AttemptEvent, AttemptState, next_attempt
from .leases import OpenLease, get_lease, keep_change, past_entries
from .schema import attempts
from .transitions import note_step


@dataclass(frozen=True)
class Attempt:
    id: AttemptId
    turn: TurnId
    tries: int
    lease: LeaseId
    provider: str
    model: str
    reserved_micros: int
    state: AttemptState
    outcome: str | None
    detail: str | None
    input_tokens: int | None
    output_tokens: int | None
    cost_micros: int | None
    incomplete: bool
    dispatched_at: Instant


@dataclass(frozen=True)
class Ending:
    """How a call ended: `micros` is its cost where it is known, and what is reserved where it is not."""

    event: AttemptEvent
    outcome: str
    detail: str
    micros: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    incomplete: bool = False
    proof: budget.Proof | None = None


ADD = insert(attempts)
GET = select(attempts).where(attempts.c.id == sql(":id"))
OF_TURN = select(attempts).where(attempts.c.turn_id == sql(":turn")).order_by(attempts.c.tries)
IN_STATE = select(attempts).where(attempts.c.state == sql(":state")).order_by(attempts.c.dispatched_at_ms)
END = sql(
    "UPDATE attempts SET state = :after, outcome = :outcome, detail = :detail, input_tokens = :input_tokens, "
    "output_tokens = :output_tokens, cost_micros = :micros, incomplete = :incomplete, ended_at_ms = :now "
    "WHERE id = :id AND state = :before"
)
ASKED_AGAIN = sql("SELECT count(*) FROM attempts WHERE turn_id = :turn AND asked_again = 1")
ASK_AGAIN = sql("UPDATE attempts SET asked_again = 1 WHERE turn_id = :turn AND state = 'unknown'")


def dispatch(
    conn: Connection,
    attempt: AttemptId,
    turn: TurnId,
    tries: int,
    lease: OpenLease,
    micros: int,
    provider: str,
    model: str,
    now: Instant,
) -> budget.Refusal | None:
    """Reserves and writes the attempt. After this commit the call may have cost money, whatever happens."""
    decided = budget.reserve_in_lease(lease.rules, past_entries(conn, attempt), attempt, micros, now)
    if isinstance(decided, budget.Refusal):
        return decided
    if isinstance(decided, budget.Rejection):
        raise TransitionError(decided.message)
    row = {
        "id": attempt,
        "turn_id": turn,
        "tries": tries,
        "lease_id": lease.id,
        "provider": provider,
        "model": model,
        "reserved_micros": micros,
        "state": AttemptState.DISPATCHED,
        "dispatched_at_ms": now,
    }
    conn.execute(ADD, row)
    keep_change(conn, lease.id, decided[0], decided[1], now)
    note_step(conn, "attempt", attempt, None, AttemptState.DISPATCHED, now)
    return None


def end_attempt(conn: Connection, attempt: AttemptId, ending: Ending, now: Instant, *, actor: Actor = "bridge") -> None:
    """Settles, releases or loses it, once. Raises TransitionError for a second ending."""
    found = get_attempt(conn, attempt)
    after = next_attempt(found.state, ending.event)
    lease = get_lease(conn, found.lease)
    change = _entry(lease.rules, past_entries(conn, attempt), ending)
    if isinstance(change, budget.Rejection):
        raise TransitionError(change.message)
    tokens = (ending.input_tokens or 0) + (ending.output_tokens or 0)
    keep_change(conn, found.lease, budget.after_change(lease.rules, change), change, now, tokens=tokens)
    row = {
        "id": attempt,
        "before": found.state,
        "after": after,
        "outcome": ending.outcome,
        "detail": ending.detail,
        "input_tokens": ending.input_tokens,
        "output_tokens": ending.output_tokens,
        "micros": found.reserved_micros if ending.event is AttemptEvent.LOST else ending.micros,
        "incomplete": int(ending.incomplete),
        "now": now,
    }
    assert conn.execute(END, row).rowcount == 1
    note_step(conn, "attempt", attempt, found.state, after, now, actor=actor, reason=ending.outcome)


def _entry(lease: budget.Lease, past: list[budget.Entry], ending: Ending) -> budget.Change | budget.Rejection:
    if ending.event is AttemptEvent.SETTLED:
        return budget.settle(lease.balance, past, ending.micros)
    if ending.event is AttemptEvent.LOST:
        return budget.mark_unknown(lease.balance, past)
    if ending.event is AttemptEvent.SETTLED_LATE:
        return budget.adjust(lease.balance, past, ending.micros)
    assert ending.proof is not None, "a release needs the proof that nothing was charged"
    return budget.release(lease.balance, past, ending.proof)


def get_attempt(conn: Connection, attempt: AttemptId) -> Attempt:
    return _attempt(conn.execute(GET, {"id": attempt}).one())


def attempts_of(conn: Connection, turn: TurnId) -> list[Attempt]:
    return [_attempt(row) for row in conn.execute(OF_TURN, {"turn": turn})]


def attempts_in(conn: Connection, state: AttemptState) -> list[Attempt]:
    return [_attempt(row) for row in conn.execute(IN_STATE, {"state": state})]


def allow_again(conn: Connection, turn: TurnId) -> None:
    """The owner, or the policy `retry_unknown`, asks once more although the first call may have cost money."""
    conn.execute(ASK_AGAIN, {"turn": turn})


def was_asked_again(conn: Connection, turn: TurnId) -> bool:
    return bool(conn.execute(ASKED_AGAIN, {"turn": turn}).scalar_one())


def _attempt(row: AnyRow) -> Attempt:
    return Attempt(
        AttemptId(row.id),
        TurnId(row.turn_id),
        row.tries,
        LeaseId(row.lease_id),
        row.provider,
        row.model,
        row.reserved_micros,
        AttemptState(row.state),
        row.outcome,
        row.detail,
        row.input_tokens,
        row.output_tokens,
        row.cost_micros,
        bool(row.incomplete),
        Instant(row.dispatched_at_ms),
    )
