"""How a call of the model ends: what it cost, what the person is told, and whether another call may follow.

Each ending is one transaction: the ledger, the turn, the reply with its parts, and what the site should know."""

from collections.abc import Sequence
from zlib import crc32

from sqlalchemy import Connection

from core import budget
from core.clock import Instant
from core.control.messages import UsageEvent
from core.ids import AttemptId, Trace, TurnId
from core.model.config import ModelConfig
from core.model.contract import ModelResult
from core.model.outcomes import Kind, Outcome, Retry, Verdict
from core.model.price import cost_of
from core.model.request import ModelRequest

from .answering import Answering
from .breaking import note_end, subjects_of
from .compose import Composed
from .speaking import add_answer, tell
from .store.attempts import (
    Ending,
    allow_again,
    attempts_of,
    end_attempt,
    get_attempt,
    was_asked_again,
)
from .store.sync_records import add_record
from .store.turns import Turn, get_turn, move_turn, put_off
from .turn import AttemptEvent, TurnEvent

MOST_TRIES = 3
BACK_OFF_MS = 2_000
LONGEST_WAIT_MS = 120_000


def keep_result(
    conn: Connection, parts: Answering, composed: Composed, attempt: AttemptId, result: ModelResult, now: Instant
) -> None:
    """Settlement, reply, parts and intents in one transaction (invariant I7)."""
    outcome, turn = result.outcome, composed.situation.turn
    if outcome.verdict is Verdict.UNKNOWN:
        lose_attempt(conn, parts, turn.id, attempt, result.detail, now, outcome=outcome.signal.value)
        return
    end_attempt(conn, attempt, ending_of(parts.config, composed.request, result), now)
    if outcome.verdict is Verdict.RELEASE:
        _not_charged(conn, parts, turn, outcome, result.retry_after_s, now)
        return
    _tell_usage(conn, attempt, now)
    note_end(conn, subjects_of(turn.conversation, parts.config.provider), budget.CallOutcome.ANSWERED, now)
    move_turn(conn, turn.id, TurnEvent.ANSWERED, now)
    add_answer(conn, parts, composed.situation, result, now)


def _not_charged(
    conn: Connection, parts: Answering, turn: Turn, outcome: Outcome, retry_after_s: float | None, now: Instant
) -> None:
    past = [attempt.outcome for attempt in attempts_of(conn, turn.id)]
    again = may_try_again(outcome, [one or "" for one in past])
    failed = budget.CallOutcome.DENIED if outcome.pauses_provider else budget.CallOutcome.FAILED
    note_end(conn, subjects_of(turn.conversation, parts.config.provider), failed, now, goes_on=again)
    if again:
        move_turn(conn, turn.id, TurnEvent.NOT_CHARGED, now, reason=outcome.signal.value)
        put_off(conn, turn.id, Instant(now + wait_ms(len(past), retry_after_s, _spread(turn.trace))))
        return
    move_turn(conn, turn.id, TurnEvent.GAVE_UP, now, reason=outcome.signal.value)
    tell(conn, parts, turn.id, "failed", now)


def may_try_again(outcome: Outcome, past: Sequence[str]) -> bool:
    """`past` holds the outcomes of all calls of the turn, this one included.

    >>> from core.model.outcomes import Signal, outcome_of
    >>> may_try_again(outcome_of(Signal.CONFLICT), ["conflict"])
    True
    >>> may_try_again(outcome_of(Signal.CONFLICT), ["conflict", "conflict"])
    False
    """
    if outcome.retry is Retry.NEVER or len(past) >= MOST_TRIES:
        return False
    return outcome.retry is Retry.LATER or past.count(outcome.signal.value) == 1


def wait_ms(tries: int, retry_after_s: float | None, spread: float = 0.0) -> int:
    """What the provider asks for, within bounds; otherwise longer with each try, and up to half as much more.

    >>> wait_ms(1, None), wait_ms(2, None), wait_ms(2, None, 0.5), wait_ms(1, 7.5), wait_ms(1, 9e9)
    (2000, 4000, 5000, 7500, 120000)
    """
    own = BACK_OFF_MS * 2 ** (tries - 1) * (1 + spread / 2)
    return int(min(max(own if retry_after_s is None else retry_after_s * 1000, 0), LONGEST_WAIT_MS))


def _spread(trace: Trace) -> float:
    """From 0 to 1, the same for a turn whenever it is asked for: many turns that failed together come back apart."""
    return crc32(trace.encode()) / 2**32


def keep_cancelled(conn: Connection, parts: Answering, attempt: AttemptId, sent: bool, now: Instant) -> None:
    """The program stops in the middle of a call."""
    found = get_attempt(conn, attempt)
    if sent:
        lose_attempt(conn, parts, found.turn, attempt, "stopped during the call", now)
        return
    proof = budget.Proof.NOT_SENT
    end_attempt(conn, attempt, Ending(AttemptEvent.RELEASED, "stopped", "nothing had left", proof=proof), now)
    turn = get_turn(conn, found.turn)
    note_end(conn, subjects_of(turn.conversation, found.provider), budget.CallOutcome.FAILED, now, goes_on=True)
    move_turn(conn, turn.id, TurnEvent.NOT_CHARGED, now, reason="stopped before the call")


def lose_attempt(
    conn: Connection,
    parts: Answering,
    turn: TurnId,
    attempt: AttemptId,
    detail: str,
    now: Instant,
    *,
    outcome: str = "lost",
) -> None:
    """Maybe charged, and nobody will learn: the reservation stays at its full amount, the person is told.

    With `retry_unknown = "once"` the owner has said beforehand that it is asked once more, at its own cost.
    """
    end_attempt(conn, attempt, Ending(AttemptEvent.LOST, outcome, detail, incomplete=True), now)
    _tell_usage(conn, attempt, now)
    found = get_turn(conn, turn)
    again = parts.settings.bridge.retry_unknown == "once" and not was_asked_again(conn, turn)
    subjects = subjects_of(found.conversation, get_attempt(conn, attempt).provider)
    note_end(conn, subjects, budget.CallOutcome.UNKNOWN, now)
    move_turn(conn, turn, TurnEvent.OUTCOME_UNKNOWN, now, reason=outcome)
    if not again:
        tell(conn, parts, turn, "unknown", now)
        return
    allow_again(conn, turn)
    move_turn(conn, turn, TurnEvent.ASKED_AGAIN, now, reason="retry_unknown")
    put_off(conn, turn, Instant(now + BACK_OFF_MS))


def ending_of(config: ModelConfig, request: ModelRequest, result: ModelResult) -> Ending:
    events = {
        Verdict.SETTLE: AttemptEvent.SETTLED,
        Verdict.RELEASE: AttemptEvent.RELEASED,
        Verdict.UNKNOWN: AttemptEvent.LOST,
    }
    outcome, usage = result.outcome, result.usage
    return Ending(
        event=events[outcome.verdict],
        outcome=outcome.signal.value,
        detail=result.detail,
        micros=cost_of(config, request, result),
        input_tokens=None if usage is None else usage.input_tokens,
        output_tokens=None if usage is None else usage.output_tokens,
        incomplete=outcome.verdict is Verdict.SETTLE and usage is None,
        proof=_proof(outcome) if outcome.verdict is Verdict.RELEASE else None,
    )


def _proof(outcome: Outcome) -> budget.Proof:
    return budget.Proof.NOT_SENT if outcome.kind is Kind.NOT_SENT else budget.Proof.REJECTED


def _tell_usage(conn: Connection, attempt: AttemptId, now: Instant) -> None:
    """Of every call that may have cost something; one that certainly cost nothing is not usage."""
    found = get_attempt(conn, attempt)
    event = UsageEvent(
        id=found.id,
        lease=found.lease,
        provider=found.provider,
        model=found.model or found.provider,
        category="chat",
        outcome=found.outcome or "lost",
        input_tokens=found.input_tokens,
        output_tokens=found.output_tokens,
        cost_micros=found.cost_micros or 0,
        incomplete=found.incomplete,
        at_ms=now,
    )
    add_record(conn, event, now)
