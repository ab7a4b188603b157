"""Takes a batch of updates in: every row, every turn and the new cursor in one transaction, before the next poll.

Whatever follows (an answer, a command's effect, a notice) is written here too or hangs on rows written here, so that
a crash after the commit loses nothing and a crash before it leaves the platform's copy unacknowledged.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlalchemy import Connection
from sqlalchemy.exc import DataError, IntegrityError, InterfaceError, ProgrammingError

from core.clock import Instant
from core.control.messages import SaidRecord, StateRecord
from core.ids import Account, EventId, EventKey, Trace, TurnId

from .channels.contract import Batch, Poison, Update, UpdateKind
from .commands import CommandContext, run_command
from .memory.preferences import note_again
from .notices import Language, language_of, line
from .pairing import Knock, knock
from .storable import storable, storable_poison
from .store.bindings import Bound, find_binding
from .store.conversations import Conversation, note_inbound, open_conversation
from .store.cursors import keep_cursor
from .store.events import EventOutcome, NewEvent, add_conflict, add_event, find_event, has_twin
from .store.messages import Message, NewMessage, add_message, edit_message, hide_message, message_of_event
from .store.parts_of_conversation import revive_deferred
from .store.replies import NewReply, ReplyKind, add_reply
from .store.sync_records import add_record
from .store.turns import open_turn

Mint = Callable[[Instant], str]

# What odd values raise in code of ours or in the driver; a full or broken disk is none of them.
FORESEEABLE = (
    *(ArithmeticError, AttributeError, LookupError, TypeError, ValueError),
    *(DataError, IntegrityError, InterfaceError, ProgrammingError),
)


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


@dataclass(frozen=True)
class _Batch:
    """What every step of one transaction needs."""

    conn: Connection
    rules: IntakeRules
    now: Instant
    mint: Mint
    admitted: Admitted

    def count(self, what: str) -> None:
        self.admitted.counted[what] += 1


def admit(conn: Connection, rules: IntakeRules, batch: Batch, now: Instant, mint: Mint) -> Admitted:
    """One transaction: events, messages, turns, conflicts, and the cursor the batch came with."""
    taking = _Batch(conn, rules, now, mint, Admitted())
    for update in batch.updates:
        if isinstance(update, Poison):
            _set_aside(taking, storable_poison(update))
        else:
            _admit_or_set_aside(taking, storable(update, now))
    keep_cursor(conn, rules.account, rules.fingerprint, batch.cursor, now)
    return taking.admitted


def _admit_or_set_aside(taking: _Batch, update: Update) -> None:
    """One update that no code of ours foresaw must not stop the others for ever."""
    before = replace(taking.admitted, turns=set(taking.admitted.turns), knocks=list(taking.admitted.knocks))
    before.counted = Counter(taking.admitted.counted)
    try:
        with taking.conn.begin_nested():
            _admit_one(taking, update)
    except FORESEEABLE as fault:
        vars(taking.admitted).update(vars(before))
        _set_aside(taking, Poison(update.event_key, update.body, f"a fault of ours: {type(fault).__name__}"))


def _admit_one(taking: _Batch, update: Update) -> None:
    bound = find_binding(taking.conn, taking.rules.account, update.chat, update.sender)
    if _seen_before(taking, update, bound):
        return
    if bound is None:
        _add(taking, update, "stranger", keep_body=False)
        taking.count("stranger")
        answer = knock(taking.conn, taking.rules.account, update, taking.now)
        taking.admitted.knocks.append((update, answer))
    elif reason := _ignored(update):
        _add(taking, update, "ignored", reason)
        taking.count(reason)
    elif taking.rules.twins and update.twin_key and has_twin(taking.conn, taking.rules.account, update.twin_key):
        _add(taking, update, "twin")
        taking.count("twin")
    else:
        _accept(taking, update, bound)


def _seen_before(taking: _Batch, update: Update, bound: Bound | None) -> bool:
    seen = find_event(taking.conn, taking.rules.account, update.event_key)
    if seen is None:
        return False
    changed = hash_of(update)
    taking.count("duplicate" if changed == seen.body_hash else "conflict")
    if changed == seen.body_hash or bound is None:
        return True
    if add_conflict(taking.conn, seen.id, update.body, changed, taking.now):
        body = json.dumps({"event": seen.trace, "account": taking.rules.account})
        record = StateRecord(kind="conflict", key=f"{seen.trace}/{changed[:16]}", at_ms=taking.now, body=body)
        add_record(taking.conn, record, taking.now)
    return True


def _ignored(update: Update) -> str | None:
    if update.from_bot:
        return "bot"
    if update.group and not update.addressed:
        return "not_addressed"
    return None


def _accept(taking: _Batch, update: Update, bound: Bound) -> None:
    conn, now = taking.conn, taking.now
    conversation = open_conversation(conn, taking.rules.account, update.chat, bound.role, now)
    event, trace = _add(taking, update, "accepted")
    taking.admitted.accepted += 1
    if update.kind is UpdateKind.EDIT or update.kind is UpdateKind.DELETION:
        _change(taking, conversation, update)
        return
    note_inbound(conn, conversation.id, update.reply_token, now)
    revive_deferred(conn, conversation.id, now)
    if update.text is None:
        _notice(taking, conversation, event, "not_text", taking.rules.language)
        return
    answer = run_command(conn, CommandContext(conversation, taking.rules.language, now, taking.rules.zone), update.text)
    if answer is None:
        _say(taking, conversation, update, event, trace)
    else:
        taking.count("command")
        _answer(taking, conversation, event, "command", answer)


def _notice(
    taking: _Batch, conversation: Conversation, event: EventId, name: str, language: Language, **facts: object
) -> None:
    taking.count(name)
    _answer(taking, conversation, event, "notice", line(name, language, **facts))


def _answer(taking: _Batch, conversation: Conversation, event: EventId, kind: ReplyKind, text: str) -> None:
    new = NewReply(Trace(taking.mint(taking.now)), conversation.id, None, kind, text, event=event)
    add_reply(taking.conn, new, [text], taking.now)


def _say(taking: _Batch, conversation: Conversation, update: Update, event: EventId, trace: Trace) -> None:
    text, now = update.text or "", taking.now
    size, limit = len(text.encode("utf-8", "replace")), taking.rules.max_message_bytes
    turn = None
    if size > limit:
        language = language_of(text, taking.rules.language)
        _notice(taking, conversation, event, "too_long", language, bytes=size, limit=limit)
    else:
        window = taking.rules.merge_window_ms
        backlog = update.said_at is not None and now - update.said_at > window
        turn = open_turn(
            taking.conn,
            conversation.id,
            Trace(taking.mint(now)),
            Instant(now + window),
            now,
            more_may_follow=backlog,
        )
        taking.admitted.turns.add(turn)
    said_at = update.said_at or now
    private = conversation.private
    new = NewMessage(trace, conversation.id, "person", text, said_at, now, event=event, turn=turn, private=private)
    add_message(taking.conn, new)
    if not private:
        add_record(taking.conn, said_record(conversation, trace, text, said_at, turn, version=1), now)


def _change(taking: _Batch, conversation: Conversation, update: Update) -> None:
    """An edit becomes a version of its message, a deletion hides it from recall; neither starts a turn."""
    conn, now = taking.conn, taking.now
    target = None if update.target is None else find_event(conn, taking.rules.account, update.target)
    message = None if target is None else message_of_event(conn, target.id)
    if message is None or message.conversation != conversation.id:
        return
    if update.kind is UpdateKind.DELETION:
        hide_message(conn, message.id, now)
        note_again(conn, conversation.id, message.id, "", message.said_at)
    elif update.text is not None:
        edit_message(conn, message, update.text, now)
        note_again(conn, conversation.id, message.id, update.text, message.said_at)
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


def _set_aside(taking: _Batch, poison: Poison) -> None:
    taking.count("poison")
    if find_event(taking.conn, taking.rules.account, poison.event_key) is not None:
        return
    event = NewEvent(
        trace=Trace(taking.mint(taking.now)),
        account=taking.rules.account,
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
        received_at_ms=taking.now,
    )
    add_event(taking.conn, event)


def _add(
    taking: _Batch, update: Update, outcome: EventOutcome, reason: str | None = None, *, keep_body: bool = True
) -> tuple[EventId, Trace]:
    trace = Trace(taking.mint(taking.now))
    event = NewEvent(
        trace=trace,
        account=taking.rules.account,
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
        received_at_ms=taking.now,
    )
    return add_event(taking.conn, event), trace


def hash_of(update: Update) -> str:
    """Of what was said and by whom, not of the envelope: a platform may repeat a message with another sequence number."""
    return _sha256(
        "\x00".join((update.kind, update.chat, update.sender, "" if update.text is None else "t" + update.text))
    )


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
