"""Takes a batch of updates in: every row, every turn and the new cursor in one transaction, before the next poll.

Whatever follows (an answer, a command's effect, a notice) is written here too or hangs on rows written here, so that
a crash after the commit loses nothing and a crash before it leaves the platform's copy unacknowledged.
"""

import hashlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from sqlalchemy import Connection

from core.clock import Instant
from core.control.messages import SaidRecord, StateRecord
from core.ids import Account, EventId, EventKey, Trace, TurnId

from .channels.contract import Batch, Poison, Update, UpdateKind
from .commands import CommandContext, run_command
from .notices import Language, language_of, line
from .pairing import Knock, knock
from .store.bindings import Bound, find_binding
from .store.conversations import Conversation, note_inbound, open_conversation
from .store.cursors import keep_cursor
from .store.events import EventOutcome, NewEvent, add_conflict, add_event, find_event, has_twin
from .store.messages import Message, NewMessage, add_message, edit_message, hide_message, message_of_event
from .store.parts_of_conversation import revive_deferred
from .store.replies import NewReply, add_reply
from .store.sync_records import add_record
from .store.turns import open_turn

Mint = Callable[[Instant], str]


@dataclass(frozen=True)
class IntakeRules:
    """How updates of one account are taken in; limits in bytes and milliseconds."""

    account: Account
    fingerprint: str
    twins: bool
    merge_window_ms: int
    max_message_bytes: int
    language: Language
    zone: str


@dataclass
class Admitted:
    """What the transaction did. `knocks` are strangers whom the caller still has to ask the site about or to notice."""

    accepted: int = 0
    turns: set[TurnId] = field(default_factory=set)
    knocks: list[tuple[Update, Knock]] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)


def admit(conn: Connection, rules: IntakeRules, batch: Batch, now: Instant, mint: Mint) -> Admitted:
    """One transaction: events, messages, turns, conflicts, and the cursor the batch came with."""
    admitted = Admitted()
    for update in batch.updates:
        if isinstance(update, Poison):
            _set_aside(conn, rules, update, now, mint, admitted)
        else:
            _admit_one(conn, rules, update, now, mint, admitted)
    keep_cursor(conn, rules.account, rules.fingerprint, batch.cursor, now)
    return admitted


def _admit_one(
    conn: Connection, rules: IntakeRules, update: Update, now: Instant, mint: Mint, admitted: Admitted
) -> None:
    bound = find_binding(conn, rules.account, update.chat, update.sender)
    if _seen_before(conn, rules, update, bound, now, admitted):
        return
    if bound is None:
        _add(conn, rules, update, "stranger", None, now, mint, keep_body=False)
        admitted.counted["stranger"] += 1
        admitted.knocks.append((update, knock(conn, rules.account, update, now)))
        return
    if reason := _ignored(update):
        _add(conn, rules, update, "ignored", reason, now, mint)
        admitted.counted[reason] += 1
        return
    if rules.twins and update.twin_key and has_twin(conn, rules.account, update.twin_key):
        _add(conn, rules, update, "twin", None, now, mint)
        admitted.counted["twin"] += 1
        return
    _accept(conn, rules, update, bound, now, mint, admitted)


def _seen_before(
    conn: Connection, rules: IntakeRules, update: Update, bound: Bound | None, now: Instant, admitted: Admitted
) -> bool:
    seen = find_event(conn, rules.account, update.event_key)
    if seen is None:
        return False
    changed = hash_of(update) != seen.body_hash
    admitted.counted["conflict" if changed else "duplicate"] += 1
    if changed and bound is not None and add_conflict(conn, seen.id, update.body, hash_of(update), now):
        body = f'{{"event":"{seen.trace}","account":"{rules.account}"}}'
        add_record(
            conn, StateRecord(kind="conflict", key=f"{seen.trace}/{hash_of(update)[:16]}", at_ms=now, body=body), now
        )
    return True


def _ignored(update: Update) -> str | None:
    if update.from_bot:
        return "bot"
    if update.group and not update.addressed:
        return "not_addressed"
    return None


def _accept(
    conn: Connection, rules: IntakeRules, update: Update, bound: Bound, now: Instant, mint: Mint, admitted: Admitted
) -> None:
    conversation = open_conversation(conn, rules.account, update.chat, bound.role, now)
    event, trace = _add(conn, rules, update, "accepted", None, now, mint)
    admitted.accepted += 1
    if update.kind is UpdateKind.EDIT or update.kind is UpdateKind.DELETION:
        _change(conn, rules, conversation, update, now)
        return
    note_inbound(conn, conversation.id, update.reply_token, now)
    revive_deferred(conn, conversation.id, now)
    if update.text is None:
        notice = line("not_text", rules.language)
        add_reply(conn, NewReply(Trace(mint(now)), conversation.id, None, "notice", notice), [notice], now)
        admitted.counted["not_text"] += 1
    elif update.text.startswith("/") and (answer := _command(conn, rules, conversation, update.text, now)) is not None:
        add_reply(conn, NewReply(Trace(mint(now)), conversation.id, None, "command", answer), [answer], now)
        admitted.counted["command"] += 1
    else:
        _say(conn, rules, conversation, update.text, event, trace, update.said_at or now, now, mint, admitted)


def _command(conn: Connection, rules: IntakeRules, conversation: Conversation, text: str, now: Instant) -> str | None:
    language = language_of(text.partition(" ")[2], rules.language)
    return run_command(conn, CommandContext(conversation, language, now, rules.zone), text)


def _say(
    conn: Connection,
    rules: IntakeRules,
    conversation: Conversation,
    text: str,
    event: EventId,
    trace: Trace,
    said_at: Instant,
    now: Instant,
    mint: Mint,
    admitted: Admitted,
) -> None:
    size = len(text.encode("utf-8", "replace"))
    turn = None
    if size <= rules.max_message_bytes:
        turn = open_turn(conn, conversation.id, Trace(mint(now)), Instant(now + rules.merge_window_ms), now)
        admitted.turns.add(turn)
    else:
        notice = line("too_long", language_of(text, rules.language), bytes=size, limit=rules.max_message_bytes)
        add_reply(conn, NewReply(Trace(mint(now)), conversation.id, None, "notice", notice), [notice], now)
        admitted.counted["too_long"] += 1
    new = NewMessage(
        trace, conversation.id, "person", text, said_at, now, event=event, turn=turn, private=conversation.private
    )
    add_message(conn, new)
    if not conversation.private:
        add_record(conn, said_record(conversation, trace, text, said_at, turn, version=1), now)


def _change(conn: Connection, rules: IntakeRules, conversation: Conversation, update: Update, now: Instant) -> None:
    """An edit becomes a version of its message, a deletion hides it from recall; neither starts a turn."""
    target = None if update.target is None else find_event(conn, rules.account, update.target)
    message = None if target is None else message_of_event(conn, target.id)
    if message is None or message.conversation != conversation.id:
        return
    if update.kind is UpdateKind.DELETION:
        hide_message(conn, message.id, now)
    elif update.text is not None:
        edit_message(conn, message, update.text, now)
    if not message.private:
        add_record(conn, _changed_record(conversation, message, update), now)


def _changed_record(conversation: Conversation, message: Message, update: Update) -> SaidRecord:
    deleted = update.kind is UpdateKind.DELETION
    return said_record(
        conversation,
        message.trace,
        "" if deleted else update.text or message.text,
        message.said_at,
        message.turn,
        version=message.version + 1,
        deleted=deleted,
    )


def said_record(
    conversation: Conversation,
    trace: Trace,
    text: str,
    said_at: Instant,
    turn: TurnId | None,
    *,
    version: int,
    deleted: bool = False,
) -> SaidRecord:
    """A person's message as the site gets it. `turn` groups both sides of an exchange."""
    return SaidRecord(
        key=trace,
        turn=f"turn-{turn}" if turn is not None else trace,
        conversation=str(conversation.id),
        account=conversation.account,
        role=conversation.role,
        speaker="person",
        text=text,
        said_at_ms=said_at,
        version=version,
        deleted=deleted,
    )


def _set_aside(
    conn: Connection, rules: IntakeRules, poison: Poison, now: Instant, mint: Mint, admitted: Admitted
) -> None:
    admitted.counted["poison"] += 1
    if find_event(conn, rules.account, poison.event_key) is not None:
        return
    add_event(
        conn,
        NewEvent(
            trace=Trace(mint(now)),
            account=rules.account,
            event_key=poison.event_key,
            kind="other",
            chat="",
            sender="",
            body=poison.body,
            body_hash=_sha256(poison.body),
            twin_key=None,
            outcome="poison",
            reason=poison.reason[:500],
            platform_at_ms=None,
            received_at_ms=now,
        ),
    )


def _add(
    conn: Connection,
    rules: IntakeRules,
    update: Update,
    outcome: EventOutcome,
    reason: str | None,
    now: Instant,
    mint: Mint,
    *,
    keep_body: bool = True,
) -> tuple[EventId, Trace]:
    trace = Trace(mint(now))
    event = NewEvent(
        trace=trace,
        account=rules.account,
        event_key=EventKey(update.event_key),
        kind=update.kind,
        chat=update.chat,
        sender=update.sender,
        body=update.body if keep_body else None,
        body_hash=hash_of(update),
        twin_key=update.twin_key,
        outcome=outcome,
        reason=reason,
        platform_at_ms=update.said_at,
        received_at_ms=now,
    )
    return add_event(conn, event), trace


def hash_of(update: Update) -> str:
    """Of what was said and by whom, not of the envelope: a platform may repeat a message with another sequence number."""
    return _sha256(
        "\x00".join((update.kind, update.chat, update.sender, "" if update.text is None else "t" + update.text))
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
