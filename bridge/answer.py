"""Answers one turn: compose, reserve, call the model once, keep what came of it. Decisions are in `turn.py`.

Between these steps the store says where the turn is, so a process that dies anywhere finds a state that is true:
before `dispatch` nothing can have been charged, after it everything may have been."""

import asyncio
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from core import budget
from core.clock import Instant
from core.control.messages import StateRecord
from core.errors import PenfriendError
from core.ids import AttemptId, TurnId
from core.model.config import ModelConfig
from core.model.contract import Attempt as OnTheWire
from core.model.contract import ModelResult
from core.model.outcomes import Signal
from core.model.price import reserve_for
from core.settings import Settings

from .answering import Answering
from .breaking import Stopped, note_begin, subjects_of, why_stopped
from .compose import Composed, compose
from .ending import keep_cancelled, keep_result, lose_attempt
from .memory.pack import DoesNotFit
from .speaking import language_in, say, tell
from .store.attempts import (
    attempts_of,
    dispatch,
)
from .store.context_records import keep_context
from .store.leases import lease_for, output_tokens_lent, unused_lease
from .store.messages import is_private, messages_of_turn
from .store.sync_records import add_record
from .store.turns import count_try, get_turn, move_turn, put_off
from .turn import AttemptState, TurnEvent, TurnPhase

TRIAL_MS = 3_000


async def answer_turn(parts: Answering, turn: TurnId) -> ModelResult | None:
    """Takes a ready turn as far as it goes now. Returns what came of the call, None when none was made.

    Cancelling it leaves the store in a state that `recover` understands; a fault nobody foresaw ends the turn in words.
    """
    try:
        return await _answer(parts, turn)
    except PenfriendError:
        raise
    except Exception as fault:
        await parts.store.write(_give_up, parts, turn, f"a fault of ours: {type(fault).__name__}", parts.clock())
        raise


async def _answer(parts: Answering, turn: TurnId) -> ModelResult | None:
    room = await parts.store.write(_take, parts, turn, parts.clock())
    if room is None:
        return None
    composed = await compose(parts.store, parts.memory, room.settings, room.config, turn, parts.clock())
    if isinstance(composed, DoesNotFit):
        await parts.store.write(_does_not_fit, parts, turn, composed, parts.clock())
        return None
    attempt, wire = AttemptId(parts.mint(parts.clock())), OnTheWire()
    reserving = asyncio.ensure_future(parts.store.write(_reserve, parts, composed, attempt, parts.clock()))
    try:
        if not await asyncio.shield(reserving):
            return None
        result = await parts.model.answer(composed.request, wire)
    except asyncio.CancelledError:
        if await reserving:
            await asyncio.shield(parts.store.write(keep_cancelled, parts, attempt, wire.sent, parts.clock()))
        raise
    await asyncio.shield(parts.store.write(keep_result, parts, composed, attempt, result, parts.clock()))
    return result


@dataclass(frozen=True)
class _Room:
    """What a request may be made of: the settings, narrowed by the lease and by what the provider said before."""

    settings: Settings
    config: ModelConfig


def _take(conn: Connection, parts: Answering, turn: TurnId, now: Instant) -> _Room | None:
    move_turn(conn, turn, TurnEvent.TAKEN, now)
    if not messages_of_turn(conn, turn):
        move_turn(conn, turn, TurnEvent.REFUSED, now, reason="nothing is left of it: the person took it back")
        return None
    settings, config = parts.settings, parts.config
    lent = output_tokens_lent(conn, now)
    if lent is not None and lent < config.max_output_tokens:
        config = replace(config, max_output_tokens=lent)
    if any(past.outcome == Signal.CONTEXT_TOO_LONG.value for past in attempts_of(conn, turn)):
        smaller = min(settings.bridge.context_bytes, config.context_tokens - config.max_output_tokens) // 2
        settings = settings.model_copy(update={"bridge": settings.bridge.model_copy(update={"context_bytes": smaller})})
    return _Room(settings, config)


def _does_not_fit(conn: Connection, parts: Answering, turn: TurnId, problem: DoesNotFit, now: Instant) -> None:
    move_turn(conn, turn, TurnEvent.REFUSED, now, reason="does not fit")
    tell(conn, parts, turn, "does_not_fit", now, bytes=problem.bytes, limit=problem.limit)


def _give_up(conn: Connection, parts: Answering, turn: TurnId, reason: str, now: Instant) -> None:
    phase = get_turn(conn, turn).phase
    if phase is TurnPhase.COMPOSING:
        move_turn(conn, turn, TurnEvent.GAVE_UP, now, reason=reason)
        tell(conn, parts, turn, "failed", now)
    elif phase is TurnPhase.CALLING:
        for attempt in attempts_of(conn, turn):
            if attempt.state is AttemptState.DISPATCHED:
                lose_attempt(conn, parts, turn, attempt.id, reason, now)


def _reserve(conn: Connection, parts: Answering, composed: Composed, attempt: AttemptId, now: Instant) -> bool:
    """Everything that must be true before the first byte leaves, in one transaction; False when it may not leave."""
    turn, request, config = composed.situation.turn, composed.request, parts.config
    subjects = subjects_of(turn.conversation, config.provider)
    stopped = why_stopped(conn, subjects, now)
    if stopped is not None:
        _stop(conn, parts, turn.id, stopped, now)
        return False
    micros = reserve_for(config, len(request.body), request.max_output_tokens)
    lease = lease_for(conn, micros, request.max_output_tokens, now)
    if lease is None:
        _without_lease(conn, parts, turn.id, micros, now)
        return False
    refusal = dispatch(
        conn, attempt, turn.id, count_try(conn, turn.id), lease, micros, config.provider, config.name, now
    )
    assert refusal is None, f"lease {lease.id} was chosen for {micros} micro-units and refuses them: {refusal}"
    note_begin(conn, subjects, now)
    keep_context(conn, turn.id, composed.record, now)
    if not is_private(conn, turn.id):
        record = StateRecord(kind="turn_context", key=turn.trace, at_ms=now, body=composed.record)
        add_record(conn, record, now)
    move_turn(conn, turn.id, TurnEvent.RESERVED, now)
    return True


def _stop(conn: Connection, parts: Answering, turn: TurnId, stopped: Stopped, now: Instant) -> None:
    """Another call tries just now whether things are well again: wait for it. Otherwise the person is told."""
    if stopped.trial:
        move_turn(conn, turn, TurnEvent.NOT_NOW, now, reason="another call is the trial")
        put_off(conn, turn, Instant(now + TRIAL_MS))
        return
    _refuse(conn, parts, turn, stopped.refusal, now)


def _without_lease(conn: Connection, parts: Answering, turn: TurnId, micros: int, now: Instant) -> None:
    """Waits for the next lease, unless a whole one would be too small for this request."""
    fresh = unused_lease(conn, now)
    if fresh is None or fresh.rules.granted_micros >= micros:
        move_turn(conn, turn, TurnEvent.NO_GRANT, now, reason="no lease")
        return
    granted = fresh.rules.granted_micros
    _refuse(conn, parts, turn, budget.Refusal(budget.Limit.LEASE_MICROS, granted, granted, micros), now)


def _refuse(conn: Connection, parts: Answering, turn: TurnId, refusal: budget.Refusal, now: Instant) -> None:
    """Names the limit, what is left of it, and when it resets."""
    move_turn(conn, turn, TurnEvent.REFUSED, now, reason=refusal.limit)
    zone = ZoneInfo(parts.settings.persona.timezone)
    say(conn, parts, turn, budget.refusal_text(refusal, language_in(conn, parts, turn), zone), now)
