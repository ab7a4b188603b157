"""One chat of one account."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import Account, ChatId, ConversationId
from core.store.columns import AnyRow

from .bindings import Role
from .schema import conversations


@dataclass(frozen=True)
class Conversation:
    id: ConversationId
    account: Account
    chat: ChatId
    role: Role
    private: bool
    paused: bool
    reply_token: str | None = None
    inbound_at: Instant | None = None
    sent_since_inbound: int = 0


COLUMNS = (
    conversations.c.id,
    conversations.c.account,
    conversations.c.chat,
    conversations.c.role,
    conversations.c.private_since_ms,
    conversations.c.paused,
    conversations.c.reply_token,
    conversations.c.inbound_at_ms,
    conversations.c.sent_since_inbound,
)
FIND = select(*COLUMNS).where(conversations.c.account == sql(":account"), conversations.c.chat == sql(":chat"))
GET = select(*COLUMNS).where(conversations.c.id == sql(":id"))
ALL = select(*COLUMNS).order_by(conversations.c.id)
INSERT = insert(conversations).returning(conversations.c.id)
INBOUND = sql(
    "UPDATE conversations SET reply_token = COALESCE(:token, reply_token), inbound_at_ms = :now, sent_since_inbound = 0 "
    "WHERE id = :id"
)
OUTBOUND = sql("UPDATE conversations SET sent_since_inbound = sent_since_inbound + 1 WHERE id = :id")
OF_OWNER = sql("SELECT id FROM conversations WHERE role = 'owner' ORDER BY inbound_at_ms DESC LIMIT 1")
SET_ROLE = sql("UPDATE conversations SET role = :role WHERE id = :id")
SET_PRIVATE = sql("UPDATE conversations SET private_since_ms = :since WHERE id = :id")
SET_PAUSED = sql("UPDATE conversations SET paused = :paused WHERE id = :id")


def open_conversation(conn: Connection, account: Account, chat: ChatId, role: Role, now: Instant) -> Conversation:
    """The conversation, made on its first message. Its role is that of the binding, which may have changed."""
    row = conn.execute(FIND, {"account": account, "chat": chat}).one_or_none()
    if row is None:
        new = conn.execute(INSERT, {"account": account, "chat": chat, "role": role, "opened_at_ms": now}).scalar_one()
        return Conversation(ConversationId(new), account, chat, role, private=False, paused=False)
    if row.role != role:
        conn.execute(SET_ROLE, {"role": role, "id": row.id})
    return get_conversation(conn, ConversationId(row.id))


def find_conversation(conn: Connection, account: Account, chat: ChatId) -> Conversation | None:
    row = conn.execute(FIND, {"account": account, "chat": chat}).one_or_none()
    return None if row is None else _conversation(row)


def get_conversation(conn: Connection, conversation: ConversationId) -> Conversation:
    return _conversation(conn.execute(GET, {"id": conversation}).one())


def note_inbound(conn: Connection, conversation: ConversationId, reply_token: str | None, now: Instant) -> None:
    """The person spoke: what the platform allows per inbound message counts anew."""
    conn.execute(INBOUND, {"token": reply_token, "now": now, "id": conversation})


def note_outbound(conn: Connection, conversation: ConversationId) -> None:
    conn.execute(OUTBOUND, {"id": conversation})


def conversation_of_owner(conn: Connection) -> ConversationId | None:
    """The one in which the owner spoke last."""
    found = conn.execute(OF_OWNER).scalar_one_or_none()
    return None if found is None else ConversationId(found)


def list_conversations(conn: Connection) -> list[Conversation]:
    return [_conversation(row) for row in conn.execute(ALL)]


def set_private(conn: Connection, conversation: ConversationId, since: Instant | None) -> None:
    conn.execute(SET_PRIVATE, {"since": since, "id": conversation})


def set_paused(conn: Connection, conversation: ConversationId, paused: bool) -> None:
    conn.execute(SET_PAUSED, {"paused": int(paused), "id": conversation})


def _conversation(row: AnyRow) -> Conversation:
    return Conversation(
        ConversationId(row.id),
        Account(row.account),
        ChatId(row.chat),
        row.role,
        row.private_since_ms is not None,
        bool(row.paused),
        row.reply_token,
        None if row.inbound_at_ms is None else Instant(row.inbound_at_ms),
        row.sent_since_inbound,
    )
