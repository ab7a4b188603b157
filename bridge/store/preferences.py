"""What a person stated explicitly, in their own words. Recognising it is in `memory/statements.py`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, or_, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import ConversationId, MessageId, Trace
from core.store.columns import AnyRow

from .schema import messages, preferences


@dataclass(frozen=True)
class Preference:
    """`trace` is the message's. It holds while it is neither superseded nor deleted."""

    id: int
    conversation: ConversationId
    message: MessageId
    trace: Trace
    kind: str
    topic: str
    quote: str
    said_at: Instant
    superseded_at: Instant | None
    deleted_at: Instant | None


COLUMNS = (
    preferences.c.id,
    preferences.c.conversation_id,
    preferences.c.message_id,
    messages.c.trace,
    preferences.c.kind,
    preferences.c.topic,
    preferences.c.quote,
    preferences.c.said_at_ms,
    preferences.c.superseded_at_ms,
    preferences.c.deleted_at_ms,
)
FROM = preferences.join(messages, messages.c.id == preferences.c.message_id)
OLDEST_FIRST = (preferences.c.said_at_ms, preferences.c.id)
ADD = sql(
    "INSERT INTO preferences (conversation_id, message_id, kind, topic, quote, said_at_ms) "
    "VALUES (:conversation, :message, :kind, :topic, :quote, :said_at) ON CONFLICT (message_id, kind, topic) DO NOTHING"
)
HOLDING = (
    select(*COLUMNS)
    .select_from(FROM)
    .where(
        preferences.c.conversation_id.in_(bindparam("conversations", expanding=True)),
        preferences.c.deleted_at_ms.is_(None),
        preferences.c.said_at_ms <= sql(":at"),
        or_(preferences.c.superseded_at_ms.is_(None), preferences.c.superseded_at_ms > sql(":at")),
    )
    .order_by(*OLDEST_FIRST)
)
OF_TOPIC = (
    select(*COLUMNS)
    .select_from(FROM)
    .where(
        preferences.c.conversation_id.in_(bindparam("conversations", expanding=True)),
        preferences.c.topic == sql(":topic"),
    )
    .order_by(*OLDEST_FIRST)
)
OF_MESSAGES = (
    select(*COLUMNS).select_from(FROM).where(preferences.c.message_id.in_(bindparam("messages", expanding=True)))
)
GET = select(*COLUMNS).select_from(FROM).where(preferences.c.id == sql(":id"))
# An older one of the topic ends where the next newer one that is not deleted begins.
SETTLE = sql(
    "UPDATE preferences SET superseded_at_ms = (SELECT min(newer.said_at_ms) FROM preferences newer "
    "WHERE newer.conversation_id = preferences.conversation_id AND newer.topic = preferences.topic "
    "AND newer.deleted_at_ms IS NULL "
    "AND (newer.said_at_ms > preferences.said_at_ms "
    "OR (newer.said_at_ms = preferences.said_at_ms AND newer.id > preferences.id))) "
    "WHERE conversation_id = :conversation AND topic = :topic"
)
DELETE = sql("UPDATE preferences SET deleted_at_ms = :now WHERE id = :id AND deleted_at_ms IS NULL")
DROP_OF_MESSAGE = sql("DELETE FROM preferences WHERE message_id = :message AND deleted_at_ms IS NULL")
ERASE = sql("UPDATE preferences SET quote = '', topic = 'forgotten:' || id, deleted_at_ms = :now WHERE id = :id")


def add_preference(
    conn: Connection,
    conversation: ConversationId,
    message: MessageId,
    kind: str,
    topic: str,
    quote: str,
    said_at: Instant,
) -> None:
    """Written once for a message, kind and topic; the older ones of the topic are superseded by it."""
    row = {
        "conversation": conversation,
        "message": message,
        "kind": kind,
        "topic": topic,
        "quote": quote,
        "said_at": said_at,
    }
    conn.execute(ADD, row)
    settle_topic(conn, conversation, topic)


def settle_topic(conn: Connection, conversation: ConversationId, topic: str) -> None:
    conn.execute(SETTLE, {"conversation": conversation, "topic": topic})


def holding(conn: Connection, conversations: Sequence[ConversationId], at: Instant) -> list[Preference]:
    """What held at that moment, oldest first; of several conversations the newest one of each topic."""
    rows = conn.execute(HOLDING, {"conversations": list(conversations), "at": at})
    newest = {one.topic: one for one in (_preference(row) for row in rows)}
    return sorted(newest.values(), key=lambda one: (one.said_at, one.id))


def of_topic(conn: Connection, conversations: Sequence[ConversationId], topic: str) -> list[Preference]:
    """Its history, oldest first, deleted ones too."""
    return [_preference(row) for row in conn.execute(OF_TOPIC, {"conversations": list(conversations), "topic": topic})]


def of_messages(conn: Connection, ids: Iterable[int]) -> list[Preference]:
    return [_preference(row) for row in conn.execute(OF_MESSAGES, {"messages": list(ids)})]


def find_preference(conn: Connection, preference: int) -> Preference | None:
    row = conn.execute(GET, {"id": preference}).one_or_none()
    return None if row is None else _preference(row)


def delete_preference(conn: Connection, one: Preference, now: Instant) -> None:
    """The one before it in its topic, if there is one, holds again."""
    conn.execute(DELETE, {"id": one.id, "now": now})
    settle_topic(conn, one.conversation, one.topic)


def drop_of_message(conn: Connection, message: MessageId) -> None:
    """Before they are derived anew; what the owner deleted stays deleted."""
    dropped = of_messages(conn, [message])
    conn.execute(DROP_OF_MESSAGE, {"message": message})
    for one in dropped:
        settle_topic(conn, one.conversation, one.topic)


def erase_preference(conn: Connection, one: Preference, now: Instant) -> None:
    """A topic is made of the person's words too."""
    conn.execute(ERASE, {"id": one.id, "now": now})
    settle_topic(conn, one.conversation, one.topic)


def _preference(row: AnyRow) -> Preference:
    return Preference(
        id=row.id,
        conversation=ConversationId(row.conversation_id),
        message=MessageId(row.message_id),
        trace=Trace(row.trace),
        kind=row.kind,
        topic=row.topic,
        quote=row.quote,
        said_at=Instant(row.said_at_ms),
        superseded_at=None if row.superseded_at_ms is None else Instant(row.superseded_at_ms),
        deleted_at=None if row.deleted_at_ms is None else Instant(row.deleted_at_ms),
    )
