"""Delivers the waiting parts of one account, one after the other, and keeps what each send came to.

`sending` is committed before the network call and the outcome after it; in between, only the platform knows. Waiting
(pacing, `Retry-After`) never happens inside a send: a part waits as a row with a time.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from core.clock import Clock, Instant
from core.ids import Account, PartId, Trace, TurnId
from core.settings import Settings
from core.store import Store

from .answering import Mint
from .channels.contract import Capabilities, Channel, Outgoing, SendOutcome, Sent
from .notices import line
from .speaking import reply_record
from .store.conversations import (
    Conversation,
    conversation_of_owner,
    find_conversation,
    get_conversation,
    note_outbound,
)
from .store.messages import NewMessage, add_message, grow_reply, is_private, message_of_reply
from .store.replies import (
    NewReply,
    Part,
    Reply,
    Waiting,
    add_reply,
    answered_event,
    forget_part_texts,
    get_part,
    get_reply,
    move_part,
    old_parts,
    parts_of,
    replies_of_turn,
    sending_parts,
    waiting_parts,
)
from .store.switches import take_turn_to_tell
from .store.sync_records import add_record
from .store.turns import get_turn, move_turn
from .turn import BLOCKS_THE_REST, HEARD, ON_ITS_WAY, Actor, PartEvent, PartState, TurnEvent, TurnPhase

RETRY_MS = 3_000
LONGEST_RETRY_MS = 300_000
CLOSING_MS = 5_000
"""How long before the end of a platform's reply window a part is no longer tried."""

EVENTS: dict[Sent, PartEvent] = {
    Sent.SENT: PartEvent.CONFIRMED,
    Sent.ACCEPTED: PartEvent.TAKEN,
    Sent.REFUSED: PartEvent.REFUSED,
    Sent.NOT_SENT: PartEvent.NOT_SENT,
    Sent.DEFERRED: PartEvent.PUT_OFF,
    Sent.UNKNOWN: PartEvent.OUTCOME_UNKNOWN,
}


@dataclass(frozen=True)
class Delivering:
    """`quiet` holds, for an account, from when until when nothing is sent: pacing, or what the platform asked for."""

    store: Store
    settings: Settings
    clock: Clock
    mint: Mint
    capabilities: Callable[[str], Capabilities]
    quiet: dict[Account, tuple[Instant, Instant]] = field(default_factory=dict)


async def deliver_waiting(parts: Delivering, channel: Channel) -> int | None:
    """Sends what may be sent now; returns the milliseconds until something more may be, None when nothing waits or
    the channel cannot send just now: then the parts stay where they are, and those that get too old are told of."""
    now = parts.clock()
    waiting = await parts.store.write(_sort_out, parts, channel, now)
    if not channel.health().sending:
        return None
    if quiet := _quiet_for(parts, channel.account, now):
        return quiet if waiting else None
    for one in waiting:
        if _must_wait(one.part, parts.clock()):
            continue
        await _send(parts, channel, one)
        return max(1, _quiet_for(parts, channel.account, parts.clock()))
    later = [one.part.not_before - now for one in waiting]
    return max(1, min(later)) if later else None


def _must_wait(part: Part, now: Instant) -> bool:
    """A part that changed in the future waits for a clock that was set back since: it goes now."""
    return part.updated_at <= now < part.not_before


def _quiet_for(parts: Delivering, account: Account, now: Instant) -> int:
    """Milliseconds. A clock that was set back ends the silence: it must not last for hours."""
    since, until = parts.quiet.get(account, (now, now))
    return max(0, until - now) if since <= now else 0


def _keep_quiet(parts: Delivering, channel: Channel, asked_ms: int | None) -> None:
    now = parts.clock()
    wait = max(channel.capabilities.pace_ms, asked_ms or 0)
    parts.quiet[channel.account] = (now, Instant(now + wait))


async def _send(parts: Delivering, channel: Channel, waiting: Waiting) -> None:
    part = waiting.part.id
    beginning = asyncio.ensure_future(parts.store.write(_begin, waiting, parts.clock()))
    try:
        outgoing = await asyncio.shield(beginning)
    except asyncio.CancelledError:
        await beginning
        stopped = SendOutcome(Sent.NOT_SENT, reason="the program stopped before the send")
        await asyncio.shield(parts.store.write(keep_outcome, parts, part, stopped, parts.clock()))
        raise
    try:
        outcome = await channel.send(outgoing)
    except asyncio.CancelledError:
        stopped = SendOutcome(Sent.UNKNOWN, reason="the program stopped during the send")
        await asyncio.shield(parts.store.write(keep_outcome, parts, part, stopped, parts.clock()))
        raise
    except Exception as fault:  # a channel maps every fault to an outcome; one that does not must not stop the others
        outcome = SendOutcome(Sent.UNKNOWN, reason=f"a fault of ours in the channel: {type(fault).__name__}")
    _keep_quiet(parts, channel, outcome.retry_after_ms)
    await asyncio.shield(parts.store.write(keep_outcome, parts, part, outcome, parts.clock()))


def _begin(conn: Connection, waiting: Waiting, now: Instant) -> Outgoing:
    move_part(conn, waiting.part.id, PartEvent.BEGUN, now)
    conversation = find_conversation(conn, waiting.account, waiting.chat)
    assert conversation is not None, "a reply belongs to a conversation"
    part = waiting.part
    return Outgoing(
        waiting.chat,
        part.text,
        part.transaction_id,
        conversation.reply_token,
        answered_event(conn, part.reply),
        last=part.number == len(parts_of(conn, part.reply)),
    )


def _sort_out(conn: Connection, parts: Delivering, channel: Channel, now: Instant) -> list[Waiting]:
    """Lets go what is too old, puts off what the platform would refuse now, and returns the rest."""
    account, capabilities = channel.account, channel.capabilities
    expire_old(conn, parts, account, capabilities, now)
    for lost in sending_parts(conn, account):  # one loop sends for an account, and it is here: nobody waits for these
        reason = "what the platform said could not be kept"
        keep_outcome(conn, parts, lost, SendOutcome(Sent.UNKNOWN, reason=reason), now)
    ready = []
    for one in waiting_parts(conn, account):
        conversation = find_conversation(conn, account, one.chat)
        assert conversation is not None, "a reply belongs to a conversation"
        if closed := _closed_for(conversation, capabilities, now):
            move_part(conn, one.part.id, PartEvent.PUT_OFF, now, detail=closed)
            after_move(conn, parts, one.part.id, now)
        else:
            ready.append(one)
    return ready


def _closed_for(conversation: Conversation, capabilities: Capabilities, now: Instant) -> str | None:
    quota, window = capabilities.parts_per_inbound, capabilities.reply_window_ms
    if quota is not None and conversation.sent_since_inbound >= quota:
        return f"the platform takes {quota} messages after each of the person's"
    if window is not None and (conversation.inbound_at is None or now > conversation.inbound_at + window - CLOSING_MS):
        return "the platform takes answers for a while only; it waits for the person's next message"
    return None


def keep_outcome(
    conn: Connection, parts: Delivering, part: PartId, outcome: SendOutcome, now: Instant, actor: Actor = "bridge"
) -> None:
    """What a send came to, with everything that follows from it, in one transaction."""
    found = get_part(conn, part)
    not_before = None
    if outcome.kind is Sent.NOT_SENT:
        back_off = min(RETRY_MS * 2 ** min(found.tries - 1, 10), LONGEST_RETRY_MS)
        not_before = Instant(now + max(outcome.retry_after_ms or 0, back_off))
    elif outcome.kind in (Sent.SENT, Sent.ACCEPTED, Sent.UNKNOWN) and found.state is PartState.SENDING:
        note_outbound(conn, get_reply(conn, found.reply).conversation)  # the platform may have counted it
    move_part(
        conn,
        part,
        EVENTS[outcome.kind],
        now,
        actor=actor,
        detail=outcome.reason or None,
        platform_id=outcome.platform_id,
        not_before=not_before,
    )
    after_move(conn, parts, part, now)


def after_move(conn: Connection, parts: Delivering, part: PartId, now: Instant) -> None:
    """What follows from a part's new state: memory, the rest of its reply, its turn."""
    found = get_part(conn, part)
    reply = get_reply(conn, found.reply)
    if found.state in BLOCKS_THE_REST:
        _hold_the_rest(conn, found, now)
    if found.state in HEARD and reply.kind == "reply":
        _remember(conn, reply, now)
    if reply.turn is not None:
        settle_turn(conn, reply.turn, now)


def _hold_the_rest(conn: Connection, blocked: Part, now: Instant) -> None:
    """A reply is never delivered with a hole in it."""
    for part in parts_of(conn, blocked.reply):
        if part.number > blocked.number and part.state in (PartState.INTENT, PartState.DEFERRED):
            move_part(conn, part.id, PartEvent.BLOCKED, now, detail=f"part {blocked.number} is {blocked.state}")


def _remember(conn: Connection, reply: Reply, now: Instant) -> None:
    """What was heard of a reply is what the persona has said."""
    heard = [part for part in parts_of(conn, reply.id) if part.state in HEARD]
    if not reply.text:
        forget_part_texts(conn, reply.id)  # the exchange was forgotten while this was on its way
        return
    conversation = get_conversation(conn, reply.conversation)
    private = is_private(conn, reply.turn) if reply.turn is not None else conversation.private
    text = "\n".join(part.text for part in heard)
    receipt = "accepted" if any(part.state is PartState.ACCEPTED for part in heard) else "sent"
    if message_of_reply(conn, reply.id) is None:
        new = NewMessage(
            reply.trace,
            reply.conversation,
            "persona",
            text,
            now,
            now,
            turn=reply.turn,
            reply=reply.id,
            receipt=receipt,
            private=private,
        )
        add_message(conn, new)
    else:
        grow_reply(conn, reply.id, text, receipt)
    if not private:
        record = reply_record(conversation, reply.turn, reply.trace, text, now, version=1 + len(heard), heard=True)
        add_record(conn, record, now)


def settle_turn(conn: Connection, turn: TurnId, now: Instant) -> None:
    """A turn is done when no part of its replies is on its way; the owner may put one on its way again."""
    phase = get_turn(conn, turn).phase
    if phase not in (TurnPhase.REPLIED, TurnPhase.DONE):
        return
    parts = [part for reply in replies_of_turn(conn, turn) for part in parts_of(conn, reply.id)]
    on_its_way = any(part.state in ON_ITS_WAY for part in parts)
    if phase is TurnPhase.REPLIED and not on_its_way:
        move_turn(conn, turn, TurnEvent.NOTHING_ON_ITS_WAY, now)
    elif phase is TurnPhase.DONE and on_its_way:
        move_turn(conn, turn, TurnEvent.PART_MOVED_AGAIN, now)


# --- what waited too long -----------------------------------------------------------------------------------------


def expire_old(conn: Connection, parts: Delivering, account: Account, capabilities: Capabilities, now: Instant) -> int:
    """Lets go what nobody would want to get any more, and tells the owner once. Returns how many replies."""
    old = old_parts(conn, account, Instant(now - capabilities.expire_ms))
    for part in old:
        move_part(conn, part.id, PartEvent.TOO_OLD, now, detail="older than the channel's limit")
    for turn in {turn for part in old if (turn := get_reply(conn, part.reply).turn) is not None}:
        settle_turn(conn, turn, now)
    answers = {part.reply for part in old if get_reply(conn, part.reply).turn is not None}
    if answers and take_turn_to_tell(conn, account, now, capabilities.expire_ms):
        _tell_owner(conn, parts, len(answers), now)
    return len(answers)


def _tell_owner(conn: Connection, parts: Delivering, count: int, now: Instant) -> None:
    """Where the owner spoke last; a notice that is never delivered itself is not told of again."""
    conversation = conversation_of_owner(conn)
    if conversation is not None:
        text = line("expired", parts.settings.persona.language, count=count)
        add_reply(conn, NewReply(Trace(parts.mint(now)), conversation, None, "notice", text), [text], now)
