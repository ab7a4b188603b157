"""One chat of one account."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import Account, ChatId, ConversationId

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


COLUMNS = (
    conversations.c.id,
    conversations.c.account,
    conversations.c.chat,
    conversations.c.role,
    conversations.c.private_since_ms,
    conversations.c.paused,
)
FIND = select(*COLUMNS).where(conversations.c.account == sql(":account"), conversations.c.chat == sql(":chat"))
GET = select(*COLUMNS).where(conversations.c.id == sql(":id"))
ALL = select(*COLUMNS).order_by(conversations.c.id)
INSERT = insert(conversations).returning(conversations.c.id)
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
    return Conversation(ConversationId(row.id), account, chat, role, row.private_since_ms is not None, bool(row.paused))


def get_conversation(conn: Connection, conversation: ConversationId) -> Conversation:
    row = conn.execute(GET, {"id": conversation}).one()
    return Conversation(
        ConversationId(row.id),
        Account(row.account),
        ChatId(row.chat),
        row.role,
        row.private_since_ms is not None,
        bool(row.paused),
    )


def list_conversations(conn: Connection) -> list[Conversation]:
    return [get_conversation(conn, ConversationId(row.id)) for row in conn.execute(ALL).all()]


def set_private(conn: Connection, conversation: ConversationId, since: Instant | None) -> None:
    conn.execute(SET_PRIVATE, {"since": since, "id": conversation})


def set_paused(conn: Connection, conversation: ConversationId, paused: bool) -> None:
    conn.execute(SET_PAUSED, {"paused": int(paused), "id": conversation})
