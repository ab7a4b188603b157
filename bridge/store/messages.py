"""What was said in a conversation and heard, by anybody, in order."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, bindparam, func, insert, or_, select, update
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import ConversationId, EventId, MessageId, ReplyId, Trace, TurnId
from core.store.columns import AnyRow

from ..memory.recall import MessageFact
from ..memory.sessions import is_question, starts_session
from .counters import MESSAGE_CHANGE, next_number
from .schema import message_versions, messages

Speaker = Literal["person", "persona", "other"]


@dataclass(frozen=True)
class Message:
    id: MessageId
    trace: Trace
    conversation: ConversationId
    speaker: Speaker
    name: str | None
    text: str
    said_at: Instant
    turn: TurnId | None
    receipt: str | None
    private: bool
    version: int
    session: int
    change: int
    deleted: bool
    imported: bool


COLUMNS = (
    messages.c.id,
    messages.c.trace,
    messages.c.conversation_id,
    messages.c.speaker,
    messages.c.name,
    messages.c.text,
    messages.c.said_at_ms,
    messages.c.turn_id,
    messages.c.receipt,
    messages.c.private,
    messages.c.version,
    messages.c.session,
    messages.c.change,
    messages.c.deleted_at_ms,
    messages.c.imported_key,
)
INSERT = insert(messages).returning(messages.c.id)
LAST = (
    select(messages.c.said_at_ms, messages.c.session)
    .where(messages.c.conversation_id == sql(":conversation"), messages.c.imported_key.is_(None))
    .order_by(messages.c.id.desc())
    .limit(1)
)
OF_TURN = (
    select(*COLUMNS)
    .where(messages.c.turn_id == sql(":turn"), messages.c.deleted_at_ms.is_(None))
    .order_by(messages.c.said_at_ms, messages.c.id)
)
IS_PRIVATE = sql("SELECT max(private) FROM messages WHERE turn_id = :turn AND speaker = 'person'")
OF_REPLY = select(messages.c.id).where(messages.c.reply_id == sql(":reply"))
OF_EVENT = select(*COLUMNS).where(messages.c.event_id == sql(":event"))
BY_TRACE = select(*COLUMNS).where(messages.c.trace == sql(":trace"))
BY_IDS = select(*COLUMNS).where(messages.c.id.in_(bindparam("ids", expanding=True)))
CHANGED = select(*COLUMNS).where(messages.c.change > sql(":after")).order_by(messages.c.change).limit(1000)
BEFORE = (
    select(*COLUMNS)
    .where(
        messages.c.conversation_id == sql(":conversation"),
        messages.c.deleted_at_ms.is_(None),
        or_(messages.c.turn_id.is_(None), messages.c.turn_id < sql(":turn")),
        messages.c.said_at_ms <= sql(":at"),
    )
    .order_by(messages.c.said_at_ms.desc(), messages.c.id.desc())
    .limit(bindparam("most"))
)
EDIT = (
    update(messages)
    .where(messages.c.id == sql(":message"))
    .values(text=bindparam("new_text"), version=messages.c.version + 1, change=bindparam("new_change"))
)
OPENS_SESSION = sql("UPDATE messages SET session = id WHERE id = :message")
KEEP_VERSION = insert(message_versions)
HIDE = sql("UPDATE messages SET deleted_at_ms = :now, change = :change WHERE id = :message AND deleted_at_ms IS NULL")
REPLY_GROWS = sql(
    "UPDATE messages SET text = :text, receipt = :receipt, change = :change, version = version + 1 WHERE reply_id = :reply"
)
NEIGHBOURS = sql(
    "SELECT m.id, m.session, m.said_at_ms, m.speaker, m.text, "
    "(SELECT p.id FROM messages p WHERE p.conversation_id = m.conversation_id AND p.deleted_at_ms IS NULL "
    "AND (p.said_at_ms, p.id) < (m.said_at_ms, m.id) ORDER BY p.said_at_ms DESC, p.id DESC LIMIT 1) AS previous, "
    "(SELECT n.id FROM messages n WHERE n.conversation_id = m.conversation_id AND n.deleted_at_ms IS NULL "
    "AND (n.said_at_ms, n.id) > (m.said_at_ms, m.id) ORDER BY n.said_at_ms, n.id LIMIT 1) AS next "
    "FROM messages m WHERE m.id IN :ids AND m.deleted_at_ms IS NULL"
).bindparams(bindparam("ids", expanding=True))
COUNT = select(func.count()).select_from(messages)


@dataclass(frozen=True)
class NewMessage:
    trace: Trace
    conversation: ConversationId
    speaker: Speaker
    text: str
    said_at: Instant
    received_at: Instant
    event: EventId | None = None
    turn: TurnId | None = None
    reply: ReplyId | None = None
    receipt: str | None = None
    private: bool = False


def add_message(conn: Connection, new: NewMessage) -> MessageId:
    last = conn.execute(LAST, {"conversation": new.conversation}).first()
    continues = last is not None and not starts_session(Instant(last.said_at_ms), new.said_at)
    row = {
        "trace": new.trace,
        "conversation_id": new.conversation,
        "speaker": new.speaker,
        "text": new.text,
        "said_at_ms": new.said_at,
        "received_at_ms": new.received_at,
        "event_id": new.event,
        "turn_id": new.turn,
        "reply_id": new.reply,
        "receipt": new.receipt,
        "private": int(new.private),
        "session": last.session if continues and last is not None else 0,
        "change": next_number(conn, MESSAGE_CHANGE),
    }
    message = MessageId(conn.execute(INSERT, row).scalar_one())
    if not continues:
        conn.execute(OPENS_SESSION, {"message": message})
    return message


def edit_message(conn: Connection, message: Message, text: str, now: Instant) -> None:
    version = {"message_id": message.id, "version": message.version, "text": message.text, "edited_at_ms": now}
    conn.execute(KEEP_VERSION, version)
    conn.execute(EDIT, {"message": message.id, "new_text": text, "new_change": next_number(conn, MESSAGE_CHANGE)})


def hide_message(conn: Connection, message: MessageId, now: Instant) -> None:
    """Deleted on the platform: no recall finds it any more."""
    conn.execute(HIDE, {"message": message, "now": now, "change": next_number(conn, MESSAGE_CHANGE)})


def grow_reply(conn: Connection, reply: ReplyId, text: str, receipt: str) -> None:
    """More of a reply was heard."""
    change = next_number(conn, MESSAGE_CHANGE)
    conn.execute(REPLY_GROWS, {"reply": reply, "text": text, "receipt": receipt, "change": change})


def is_private(conn: Connection, turn: TurnId) -> bool:
    """Whether anything in the turn was said in private. An answer to it stays here too, whenever it is delivered."""
    return bool(conn.execute(IS_PRIVATE, {"turn": turn}).scalar_one())


def messages_of_turn(conn: Connection, turn: TurnId) -> list[Message]:
    """What was said in it, by both, and is not deleted."""
    return [_message(row) for row in conn.execute(OF_TURN, {"turn": turn})]


def message_of_event(conn: Connection, event: EventId) -> Message | None:
    row = conn.execute(OF_EVENT, {"event": event}).one_or_none()
    return None if row is None else _message(row)


def message_of_reply(conn: Connection, reply: ReplyId) -> MessageId | None:
    found = conn.execute(OF_REPLY, {"reply": reply}).scalar_one_or_none()
    return None if found is None else MessageId(found)


def message_by_trace(conn: Connection, trace: Trace) -> Message | None:
    row = conn.execute(BY_TRACE, {"trace": trace}).one_or_none()
    return None if row is None else _message(row)


def messages_by_id(conn: Connection, ids: Iterable[int]) -> dict[MessageId, Message]:
    found = [_message(row) for row in conn.execute(BY_IDS, {"ids": list(ids)})]
    return {message.id: message for message in found}


def messages_before(
    conn: Connection, conversation: ConversationId, turn: TurnId, at: Instant, most: int
) -> list[Message]:
    """The newest `most` messages of earlier turns, newest first; nothing said later than `at`."""
    args = {"conversation": conversation, "turn": turn, "at": at, "most": most}
    return [_message(row) for row in conn.execute(BEFORE, args)]


def changed_messages(conn: Connection, after: int) -> list[Message]:
    """Up to a thousand messages that changed after that change number, in its order: what the index still needs."""
    return [_message(row) for row in conn.execute(CHANGED, {"after": after})]


def facts_of(conn: Connection, ids: Sequence[int]) -> dict[int, MessageFact]:
    """What recall must know of these messages; hidden ones are missing."""
    return {
        row.id: MessageFact(
            id=row.id,
            previous=row.previous,
            next=row.next,
            session=row.session,
            at=Instant(row.said_at_ms),
            question=is_question(row.text),
            person=row.speaker == "person",
        )
        for row in conn.execute(NEIGHBOURS, {"ids": list(ids)})
    }


def count_messages(conn: Connection) -> int:
    return int(conn.execute(COUNT).scalar_one())


def _message(row: AnyRow) -> Message:
    return Message(
        id=MessageId(row.id),
        trace=Trace(row.trace),
        conversation=ConversationId(row.conversation_id),
        speaker=row.speaker,
        name=row.name,
        text=row.text,
        said_at=Instant(row.said_at_ms),
        turn=None if row.turn_id is None else TurnId(row.turn_id),
        receipt=row.receipt,
        private=bool(row.private),
        version=row.version,
        session=row.session,
        change=row.change,
        deleted=row.deleted_at_ms is not None,
        imported=row.imported_key is not None,
    )
