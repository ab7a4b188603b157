"""Answers one turn: compose, reserve, call the model once, keep what came of it. Decisions are in `turn.py`.

Between these steps the store says where the turn is, so a process that dies anywhere finds a state that is true:
before `dispatch` nothing can have been charged, after it everything may have been.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from zlib import crc32
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from core import budget
from core.clock import Clock, Instant
from core.control.messages import SaidRecord, StateRecord, UsageEvent
from core.errors import PenfriendError
from core.ids import AttemptId, ReplyId, Trace, TurnId
from core.model.config import ModelConfig
from core.model.contract import Attempt as OnTheWire
from core.model.contract import Finish, ModelClient, ModelResult
from core.model.outcomes import Kind, Outcome, Retry, Signal, Verdict
from core.model.price import cost_of, reserve_for
from core.model.request import ModelRequest
from core.settings import Settings
from core.store import Store
from core.text.split import split

from .breaking import Stopped, note_begin, note_end, subjects_of, why_stopped
from .channels.contract import Capabilities
from .compose import Composed, Situation, compose
from .memory.index import MemoryIndex
from .memory.pack import DoesNotFit
from .notices import Language, language_of, line
from .store.attempts import (
    Ending,
    allow_again,
    attempts_of,
    dispatch,
    end_attempt,
    get_attempt,
    was_asked_again,
)
from .store.context_records import keep_context
from .store.conversations import Conversation
from .store.leases import lease_for, output_tokens_lent, unused_lease
from .store.messages import is_private, messages_of_turn
from .store.replies import NewReply, add_reply
from .store.sync_records import add_record
from .store.turns import Turn, count_try, get_turn, move_turn, put_off
from .turn import AttemptEvent, AttemptState, TurnEvent, TurnPhase

MOST_TRIES = 3
BACK_OFF_MS = 2_000
LONGEST_WAIT_MS = 120_000
TRIAL_MS = 3_000

Mint = Callable[[Instant], str]


@dataclass(frozen=True)
class Answering:
    """The parts that answering needs. `capabilities` finds those of an account, to split a reply for it."""

    store: Store
    memory: MemoryIndex
    settings: Settings
    model: ModelClient
    config: ModelConfig
    clock: Clock
    mint: Mint
    capabilities: Callable[[str], Capabilities]


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
            await asyncio.shield(parts.store.write(_keep_cancelled, parts, attempt, wire.sent, parts.clock()))
        raise
    await asyncio.shield(parts.store.write(_keep, parts, composed, attempt, result, parts.clock()))
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


def _keep(
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
    _reply(conn, parts, composed.situation, result, now)


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

    >>> from core.model.outcomes import outcome_of
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


def _keep_cancelled(conn: Connection, parts: Answering, attempt: AttemptId, sent: bool, now: Instant) -> None:
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


def _reply(conn: Connection, parts: Answering, situation: Situation, result: ModelResult, now: Instant) -> None:
    language = language_in(conn, parts, situation.turn.id)
    conversation, turn = situation.conversation, situation.turn
    if not messages_of_turn(conn, turn.id):
        tell(conn, parts, turn.id, "taken_back", now)  # what answers forgotten words may repeat them
        return
    text = result.text
    if result.finish in (Finish.REFUSED, Finish.EMPTY) or not text.strip():
        text = line("declined", language)
    elif result.finish is Finish.LENGTH:
        text = f"{text}\n{line('cut', language)}"
    trace = Trace(parts.mint(now))
    new = NewReply(trace, conversation.id, turn.id, "reply", text, parts.config.name or None, result.finish.value)
    add_reply(conn, new, split_for(parts.capabilities(conversation.account), text, language), now)
    if not is_private(conn, turn.id):
        add_record(conn, reply_record(conversation, turn.id, trace, text, now, version=1, heard=False), now)


def split_for(capabilities: Capabilities, text: str, language: Language) -> list[str]:
    """The parts as the platform takes them. What goes beyond its number of parts ends with a line that says so."""
    whole = text.encode("utf-8", "replace").decode()  # half a character from a model must not cost the whole reply
    texts = [part.text for part in split(whole, capabilities.limit, capabilities.unit) if not part.blank]
    if len(texts) <= capabilities.max_parts:
        return texts
    return [*texts[: capabilities.max_parts - 1], line("cut", language)]


def reply_record(
    conversation: Conversation, turn: TurnId | None, trace: Trace, text: str, at: Instant, *, version: int, heard: bool
) -> SaidRecord:
    return SaidRecord(
        key=trace,
        turn=f"turn-{turn}" if turn is not None else trace,
        conversation=str(conversation.id),
        account=conversation.account,
        role=conversation.role,
        speaker="persona",
        text=text,
        said_at_ms=at,
        heard=heard,
        version=version,
    )


def tell(conn: Connection, parts: Answering, turn: TurnId, name: str, now: Instant, **facts: object) -> ReplyId:
    """One fixed line of the house to the person of a turn: never silence."""
    return say(conn, parts, turn, line(name, language_in(conn, parts, turn), **facts), now)


def say(conn: Connection, parts: Answering, turn: TurnId, text: str, now: Instant) -> ReplyId:
    conversation = get_turn(conn, turn).conversation
    return add_reply(conn, NewReply(Trace(parts.mint(now)), conversation, turn, "notice", text), [text], now)


def language_in(conn: Connection, parts: Answering, turn: TurnId) -> Language:
    words = " ".join(message.text for message in messages_of_turn(conn, turn))
    return language_of(words, parts.settings.persona.language)
