"""Answers one turn: compose, reserve, call the model once, keep what came of it. Decisions are in `turn.py`.

Between these steps the store says where the turn is, so a process that dies anywhere finds a state that is true:
before `dispatch` nothing can have been charged, after it everything may have been.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from core import budget
from core.clock import Clock, Instant
from core.control.messages import SaidRecord, StateRecord, UsageEvent
from core.ids import AttemptId, ReplyId, Trace, TurnId
from core.model.config import ModelConfig
from core.model.contract import Attempt as OnTheWire
from core.model.contract import Finish, ModelClient, ModelResult
from core.model.outcomes import Kind, Outcome, Retry, Verdict
from core.model.price import cost_of, reserve_for
from core.model.request import ModelRequest
from core.settings import Settings
from core.store import Store
from core.text.split import split

from .channels.contract import Capabilities
from .compose import Composed, Situation, compose
from .memory.index import MemoryIndex
from .memory.pack import DoesNotFit
from .notices import Language, language_of, line
from .store.attempts import Ending, dispatch, end_attempt, get_attempt
from .store.context_records import keep_context
from .store.conversations import Conversation
from .store.leases import open_lease
from .store.messages import messages_of_turn
from .store.replies import NewReply, add_reply
from .store.sync_records import add_record
from .store.turns import count_try, get_turn, move_turn, put_off
from .turn import AttemptEvent, TurnEvent

MOST_TRIES = 3
BACK_OFF_MS = 2_000
LONGEST_WAIT_MS = 120_000

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


async def answer_turn(parts: Answering, turn: TurnId) -> None:
    """Takes a ready turn as far as it goes now. Cancelling it leaves the store in a state that `recover` understands."""
    await parts.store.write(_take, turn, parts.clock())
    composed = await compose(parts.store, parts.memory, parts.settings, parts.config, turn, parts.clock())
    if isinstance(composed, DoesNotFit):
        await parts.store.write(_does_not_fit, parts, turn, composed, parts.clock())
        return
    attempt = AttemptId(parts.mint(parts.clock()))
    reserved = await parts.store.write(_reserve, parts, composed, attempt, parts.clock())
    if not reserved:
        return
    wire = OnTheWire()
    try:
        result = await parts.model.answer(composed.request, wire)
    except asyncio.CancelledError:
        await asyncio.shield(parts.store.write(_keep_cancelled, parts, attempt, wire.sent, parts.clock()))
        raise
    await asyncio.shield(parts.store.write(_keep, parts, composed, attempt, result, parts.clock()))


def _take(conn: Connection, turn: TurnId, now: Instant) -> None:
    move_turn(conn, turn, TurnEvent.TAKEN, now)


def _does_not_fit(conn: Connection, parts: Answering, turn: TurnId, problem: DoesNotFit, now: Instant) -> None:
    move_turn(conn, turn, TurnEvent.REFUSED, now, reason="does not fit")
    tell(conn, parts, turn, "does_not_fit", now, bytes=problem.bytes, limit=problem.limit)


def _reserve(conn: Connection, parts: Answering, composed: Composed, attempt: AttemptId, now: Instant) -> bool:
    """Everything that must be true before the first byte leaves, in one transaction; False when it may not leave."""
    turn = composed.situation.turn
    lease = open_lease(conn, now)
    if lease is None:
        move_turn(conn, turn.id, TurnEvent.NO_GRANT, now, reason="no lease")
        return False
    request = composed.request
    micros = reserve_for(parts.config, len(request.body), request.max_output_tokens)
    tries = count_try(conn, turn.id)
    refusal = dispatch(conn, attempt, turn.id, tries, lease, micros, parts.config.provider, parts.config.name, now)
    if refusal is not None:
        move_turn(conn, turn.id, TurnEvent.NO_GRANT, now, reason=refusal.limit)
        return False
    keep_context(conn, turn.id, composed.record, now)
    if not composed.situation.conversation.private:
        record = StateRecord(kind="turn_context", key=turn.trace, at_ms=now, body=composed.record)
        add_record(conn, record, now)
    move_turn(conn, turn.id, TurnEvent.RESERVED, now)
    return True


def _keep(
    conn: Connection, parts: Answering, composed: Composed, attempt: AttemptId, result: ModelResult, now: Instant
) -> None:
    """Settlement, reply, parts and intents in one transaction (invariant I7)."""
    outcome = result.outcome
    end_attempt(conn, attempt, ending_of(parts.config, composed.request, result), now)
    _tell_usage(conn, attempt, result, now)
    turn = composed.situation.turn
    if outcome.verdict is Verdict.SETTLE:
        move_turn(conn, turn.id, TurnEvent.ANSWERED, now)
        _reply(conn, parts, composed.situation, result, now)
    elif outcome.verdict is Verdict.UNKNOWN:
        move_turn(conn, turn.id, TurnEvent.OUTCOME_UNKNOWN, now, reason=outcome.signal.value)
        tell(conn, parts, turn.id, "unknown", now)
    else:
        _not_charged(conn, parts, turn.id, outcome, result.retry_after_s, now)


def _not_charged(
    conn: Connection, parts: Answering, turn: TurnId, outcome: Outcome, retry_after_s: float | None, now: Instant
) -> None:
    tries = get_turn(conn, turn).tries
    if tries < MOST_TRIES and outcome.retry is not Retry.NEVER:
        move_turn(conn, turn, TurnEvent.NOT_CHARGED, now, reason=outcome.signal.value)
        put_off(conn, turn, Instant(now + wait_ms(tries, retry_after_s)))
        return
    move_turn(conn, turn, TurnEvent.GAVE_UP, now, reason=outcome.signal.value)
    tell(conn, parts, turn, "failed", now)


def wait_ms(tries: int, retry_after_s: float | None) -> int:
    """What the provider asks for, within bounds; otherwise longer with each try.

    >>> wait_ms(1, None), wait_ms(2, None), wait_ms(1, 7.5), wait_ms(1, 9e9)
    (2000, 4000, 7500, 120000)
    """
    asked = BACK_OFF_MS * 2 ** (tries - 1) if retry_after_s is None else int(retry_after_s * 1000)
    return min(max(asked, 0), LONGEST_WAIT_MS)


def _keep_cancelled(conn: Connection, parts: Answering, attempt: AttemptId, sent: bool, now: Instant) -> None:
    """The program stops in the middle of a call."""
    turn = get_attempt(conn, attempt).turn
    if sent:
        lose_attempt(conn, parts, turn, attempt, "stopped during the call", now)
        return
    proof = budget.Proof.NOT_SENT
    end_attempt(conn, attempt, Ending(AttemptEvent.RELEASED, "stopped", "nothing had left", proof=proof), now)
    move_turn(conn, turn, TurnEvent.NOT_CHARGED, now, reason="stopped before the call")


def lose_attempt(
    conn: Connection, parts: Answering, turn: TurnId, attempt: AttemptId, detail: str, now: Instant
) -> None:
    """Maybe charged, and nobody will learn: the reservation stays at its full amount, the person is told."""
    end_attempt(conn, attempt, Ending(AttemptEvent.LOST, "lost", detail), now)
    _tell_usage(conn, attempt, None, now)
    move_turn(conn, turn, TurnEvent.OUTCOME_UNKNOWN, now, reason=detail)
    tell(conn, parts, turn, "unknown", now)


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


def _tell_usage(conn: Connection, attempt: AttemptId, result: ModelResult | None, now: Instant) -> None:
    """A call that certainly cost nothing is not usage."""
    found = get_attempt(conn, attempt)
    if found.state == "released":
        return
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
        incomplete=found.incomplete or result is None,
        at_ms=now,
    )
    add_record(conn, event, now)


def _reply(conn: Connection, parts: Answering, situation: Situation, result: ModelResult, now: Instant) -> None:
    language = _language(parts, situation)
    text = result.text
    if result.finish in (Finish.REFUSED, Finish.EMPTY) or not text.strip():
        text = line("declined", language)
    elif result.finish is Finish.LENGTH:
        text = f"{text}\n{line('cut', language)}"
    trace = Trace(parts.mint(now))
    conversation, turn = situation.conversation, situation.turn
    new = NewReply(trace, conversation.id, turn.id, "reply", text, parts.config.name or None, result.finish.value)
    add_reply(conn, new, split_for(parts.capabilities(conversation.account), text, language), now)
    if not conversation.private:
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
    found = get_turn(conn, turn)
    words = " ".join(message.text for message in messages_of_turn(conn, turn))
    text = line(name, language_of(words, parts.settings.persona.language), **facts)
    return add_reply(conn, NewReply(Trace(parts.mint(now)), found.conversation, turn, "notice", text), [text], now)


def _language(parts: Answering, situation: Situation) -> Language:
    words = " ".join(message.text for message in situation.current)
    return language_of(words, parts.settings.persona.language)
