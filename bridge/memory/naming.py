"""What the owner may write to name a chat, a message or a preference, and which rows that is."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam
from sqlalchemy import text as sql

from core.errors import BadInput
from core.ids import ConversationId, MessageId

from ..store.conversations import Conversation, list_conversations
from ..store.preferences import find_preference
from .scopes import APART, IMPORTED

BY_TRACE = sql("SELECT id FROM messages WHERE trace = :ref")
BY_KEY = sql("SELECT id FROM messages WHERE imported_key = :ref AND conversation_id IN :conversations").bindparams(
    bindparam("conversations", expanding=True)
)
ALL_OF = sql("SELECT id FROM messages WHERE conversation_id IN :conversations AND text <> ''").bindparams(
    bindparam("conversations", expanding=True)
)
PUBLIC_IDS = sql("SELECT id, COALESCE(imported_key, trace) AS name FROM messages WHERE id IN :ids").bindparams(
    bindparam("ids", expanding=True)
)


def conversations_named(conn: Connection, chat: str | None) -> list[Conversation]:
    """Those of a chat's name (`old`, or `import/old` where two accounts have one of that name); all without a name."""
    everyone = list_conversations(conn)
    if chat is None:
        return everyone
    found = [one for one in everyone if chat in (one.chat, f"{one.account}/{one.chat}")]
    if not found:
        raise BadInput(f"there is no chat {chat!r}: see `penfriend memory export`")
    return found


def owners_own(conn: Connection, chat: str | None) -> list[ConversationId]:
    """Those of the named chat; without a name all that are the owner's, so that nobody else's words hide theirs."""
    found = conversations_named(conn, chat)
    return [one.id for one in found if chat is not None or (one.role == "owner" and one.account != APART)]


def talking_place(conn: Connection, chat: str | None) -> ConversationId:
    """The conversation a question is imagined in: the named one, or the one the owner last spoke in."""
    found = conversations_named(conn, chat)
    if chat is None:
        owners = [one for one in found if one.role == "owner" and one.account not in (IMPORTED, APART)]
        found = sorted(owners or found, key=lambda one: one.inbound_at or 0, reverse=True)
    if not found:
        raise BadInput("nothing was said here yet: say something with `penfriend chat`, or import a chat")
    return found[0].id


def messages_named(conn: Connection, refs: Sequence[str], chat: str | None) -> list[MessageId]:
    """By the number of a preference (without a chat), by a trace, or by the key an import gave; a whole chat without refs."""
    scopes = [one.id for one in conversations_named(conn, chat)]
    if not refs and chat is not None:
        return [MessageId(row.id) for row in conn.execute(ALL_OF, {"conversations": scopes})]
    return [_message_named(conn, ref, scopes, chat) for ref in refs]


def _message_named(conn: Connection, ref: str, scopes: Sequence[int], chat: str | None) -> MessageId:
    if chat is None and ref.isdecimal() and len(ref) < 19 and (one := find_preference(conn, int(ref))):
        return one.message
    found = [row.id for row in conn.execute(BY_TRACE, {"ref": ref})]
    found = found or [row.id for row in conn.execute(BY_KEY, {"ref": ref, "conversations": list(scopes)})]
    if len(found) != 1:
        why = "is in several chats: say which with --chat" if found else "is neither a message nor a preference here"
        raise BadInput(f"{ref!r} {why}: see `penfriend memory search` and `penfriend memory list`")
    return MessageId(found[0])


def public_ids(conn: Connection, ids: Sequence[int]) -> dict[int, str]:
    """What a message is called outside: the key its import gave it, or its trace."""
    return {row.id: row.name for row in conn.execute(PUBLIC_IDS, {"ids": list(ids)})}
