"""Delivers the waiting parts of one account, one after the other, and keeps what each send came to.

`sending` is committed before the network call and the outcome after it; in between, only the platform knows. Waiting
(pacing, `Retry-After`) never happens inside a send: a part waits as a row with a time.
"""

import asyncio
from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Clock, Instant
from core.control.messages import StateRecord
from core.ids import Account, PartId, TurnId
from core.settings import Settings
from core.store import Store

from .answer import Mint, reply_record
from .channels.contract import Capabilities, Channel, Outgoing, SendOutcome, Sent
from .store.conversations import Conversation, find_conversation, get_conversation, note_outbound
from .store.messages import NewMessage, add_message, grow_reply, message_of_reply
from .store.replies import (
    Part,
    Reply,
    Waiting,
    answered_event,
    get_part,
    get_reply,
    move_part,
    parts_of,
    replies_of_turn,
    waiting_parts,
)
from .store.sync_records import add_record
from .store.turns import get_turn, move_turn
from .turn import BLOCKS_THE_REST, HEARD, ON_ITS_WAY, Actor, PartEvent, PartState, TurnEvent, TurnPhase

MOST_SENDS = 5
RETRY_MS = 3_000
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
    store: Store
    settings: Settings
    clock: Clock
    mint: Mint


async def deliver_waiting(parts: Delivering, channel: Channel) -> int | None:
    """Sends what may be sent now; returns the milliseconds until something more may be, None when nothing waits or
    the channel cannot send just now: then the parts stay where they are."""
    if not channel.health().sending:
        return None
    now = parts.clock()
    waiting = await parts.store.write(_sort_out, parts, channel.account, channel.capabilities, now)
    for one in waiting:
        if one.part.not_before > parts.clock():
            continue
        await _send(parts, channel, one)
        return channel.capabilities.pace_ms
    later = [one.part.not_before - now for one in waiting]
    return max(1, min(later)) if later else None


async def _send(parts: Delivering, channel: Channel, waiting: Waiting) -> None:
    outgoing = await parts.store.write(_begin, waiting, parts.clock())
    try:
        outcome = await channel.send(outgoing)
    except asyncio.CancelledError:
        stopped = SendOutcome(Sent.UNKNOWN, reason="the program stopped during the send")
        await asyncio.shield(parts.store.write(keep_outcome, parts, waiting.part.id, stopped, parts.clock()))
        raise
    await asyncio.shield(parts.store.write(keep_outcome, parts, waiting.part.id, outcome, parts.clock()))


def _begin(conn: Connection, waiting: Waiting, now: Instant) -> Outgoing:
    move_part(conn, waiting.part.id, PartEvent.BEGUN, now)
    conversation = find_conversation(conn, waiting.account, waiting.chat)
    assert conversation is not None, "a reply belongs to a conversation"
    note_outbound(conn, conversation.id)
    part = waiting.part
    return Outgoing(
        waiting.chat,
        part.text,
        part.transaction_id,
        conversation.reply_token,
        answered_event(conn, part.reply),
        last=part.number == len(parts_of(conn, part.reply)),
    )


def _sort_out(
    conn: Connection, parts: Delivering, account: Account, capabilities: Capabilities, now: Instant
) -> list[Waiting]:
    """Puts off what the platform would refuse now, lets go what is too old, and returns the rest."""
    ready = []
    for one in waiting_parts(conn, account):
        conversation = find_conversation(conn, account, one.chat)
        assert conversation is not None, "a reply belongs to a conversation"
        if now - one.created_at > capabilities.expire_ms:
            move_part(conn, one.part.id, PartEvent.TOO_OLD, now, detail="older than the channel's limit")
            after_move(conn, parts, one.part.id, now)
        elif reason := _closed_for(conversation, capabilities, now):
            move_part(conn, one.part.id, PartEvent.PUT_OFF, now, detail=reason)
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
    event = EVENTS[outcome.kind]
    not_before = None
    if outcome.kind is Sent.NOT_SENT:
        tries = get_part(conn, part).tries
        if tries >= MOST_SENDS:
            event = PartEvent.REFUSED
        not_before = Instant(now + (outcome.retry_after_ms or RETRY_MS * 2 ** (tries - 1)))
    move_part(
        conn,
        part,
        event,
        now,
        actor=actor,
        detail=outcome.reason or None,
        platform_id=outcome.platform_id,
        not_before=not_before,
    )
    after_move(conn, parts, part, now)


def after_move(conn: Connection, parts: Delivering, part: PartId, now: Instant) -> None:
    """What follows from a part's new state: memory, the rest of its reply, its turn, the site's copy."""
    found = get_part(conn, part)
    reply = get_reply(conn, found.reply)
    conversation = get_conversation(conn, reply.conversation)
    if found.state in BLOCKS_THE_REST:
        _hold_the_rest(conn, found, now)
    if found.state in HEARD and reply.kind == "reply":
        _remember(conn, conversation, reply, now)
    if not conversation.private:
        body = f'{{"state":"{found.state}","reply":"{reply.trace}","number":{found.number}}}'
        record = StateRecord(kind="part_state", key=f"{reply.trace}/{found.number}", at_ms=now, body=body)
        add_record(conn, record, now)
    if reply.turn is not None:
        settle_turn(conn, reply.turn, now)


def _hold_the_rest(conn: Connection, blocked: Part, now: Instant) -> None:
    """A reply is never delivered with a hole in it."""
    for part in parts_of(conn, blocked.reply):
        if part.number > blocked.number and part.state in (PartState.INTENT, PartState.DEFERRED):
            move_part(conn, part.id, PartEvent.BLOCKED, now, detail=f"part {blocked.number} is {blocked.state}")


def _remember(conn: Connection, conversation: Conversation, reply: Reply, now: Instant) -> None:
    """What was heard of a reply is what the persona has said."""
    heard = [part for part in parts_of(conn, reply.id) if part.state in HEARD]
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
            private=conversation.private,
        )
        add_message(conn, new)
    else:
        grow_reply(conn, reply.id, text, receipt)
    if not conversation.private:
        record = reply_record(conversation, reply.turn, reply.trace, text, now, version=1 + len(heard), heard=True)
        add_record(conn, record, now)


def settle_turn(conn: Connection, turn: TurnId, now: Instant) -> None:
    """A turn is done when no part of its replies is on its way."""
    found = get_turn(conn, turn)
    if found.phase is not TurnPhase.REPLIED:
        return
    parts = [part for reply in replies_of_turn(conn, turn) for part in parts_of(conn, reply.id)]
    if not any(part.state in ON_ITS_WAY for part in parts):
        move_turn(conn, turn, TurnEvent.NOTHING_ON_ITS_WAY, now)
