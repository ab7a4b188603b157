"""Messages that did not come through a channel: imported talk and the owner's edits. Each has a key, once a conversation.

Written in bulk: a page of a million-message import is three statements and one a session.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import ConversationId, MessageId, Trace

from ..memory.sessions import SILENCE_MS
from .counters import MESSAGE_CHANGE
from .messages import Speaker
from .schema import messages

KNOWN = select(messages.c.imported_key).where(
    messages.c.conversation_id == sql(":conversation"), messages.c.imported_key.in_(bindparam("keys", expanding=True))
)
IDS = select(messages.c.imported_key, messages.c.id).where(
    messages.c.conversation_id == sql(":conversation"), messages.c.imported_key.in_(bindparam("keys", expanding=True))
)
BEFORE = sql(
    "SELECT said_at_ms, session FROM messages WHERE conversation_id = :conversation AND said_at_ms <= :at "
    "ORDER BY said_at_ms DESC, id DESC LIMIT 1"
)
INSERT = insert(messages)
OPENER = insert(messages).returning(messages.c.id)
OPENS_SESSION = sql("UPDATE messages SET session = id WHERE id = :id")
TAKE_CHANGES = sql(
    "INSERT INTO counters (name, value) VALUES (:name, :count) "
    "ON CONFLICT (name) DO UPDATE SET value = counters.value + :count RETURNING value"
)


@dataclass(frozen=True)
class ImportedMessage:
    key: str
    trace: Trace
    speaker: Speaker
    name: str | None
    text: str
    said_at: Instant


def known_keys(conn: Connection, conversation: ConversationId, keys: Iterable[str]) -> set[str]:
    return set(conn.execute(KNOWN, {"conversation": conversation, "keys": list(keys)}).scalars())


def ids_of_keys(conn: Connection, conversation: ConversationId, keys: Iterable[str]) -> dict[str, MessageId]:
    rows = conn.execute(IDS, {"conversation": conversation, "keys": list(keys)})
    return {row.imported_key: MessageId(row.id) for row in rows}


def add_imported(conn: Connection, conversation: ConversationId, new: Sequence[ImportedMessage], now: Instant) -> None:
    """Messages of one conversation, in the order of their times, whose keys it does not have yet."""
    if not new:
        return
    last = int(conn.execute(TAKE_CHANGES, {"name": MESSAGE_CHANGE, "count": len(new)}).scalar_one())
    first_change = last - len(new) + 1
    session, at = _session_before(conn, conversation, new[0].said_at)
    rows: list[dict[str, object]] = []
    for number, message in enumerate(new):
        row = _row(conversation, message, now, first_change + number)
        if session is None or message.said_at - at >= SILENCE_MS:
            session = int(conn.execute(OPENER, {**row, "session": 0}).scalar_one())
            conn.execute(OPENS_SESSION, {"id": session})
        else:
            rows.append({**row, "session": session})
        at = message.said_at
    if rows:
        conn.execute(INSERT, rows)


def add_imported_message(
    conn: Connection, conversation: ConversationId, key: str, text: str, said_at: Instant, trace: Trace
) -> MessageId:
    """One message of the person."""
    add_imported(conn, conversation, [ImportedMessage(key, trace, "person", None, text, said_at)], said_at)
    return ids_of_keys(conn, conversation, [key])[key]


def _session_before(conn: Connection, conversation: ConversationId, at: Instant) -> tuple[int | None, int]:
    row = conn.execute(BEFORE, {"conversation": conversation, "at": at}).one_or_none()
    return (None, 0) if row is None else (row.session, row.said_at_ms)


def _row(conversation: ConversationId, message: ImportedMessage, now: Instant, change: int) -> dict[str, object]:
    return {
        "trace": message.trace,
        "conversation_id": conversation,
        "speaker": message.speaker,
        "name": message.name,
        "text": message.text,
        "said_at_ms": message.said_at,
        "received_at_ms": now,
        "imported_key": message.key,
        "change": change,
    }
