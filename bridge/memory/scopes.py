"""Whose words may be remembered where: in a conversation its own, and with the owner everything that is the owner's.

The owner is one person on several platforms, so what was said on one is known on the others, imports too. But never in a
chat that somebody else has written in (a group could read it), never for a guest, and nothing of an import kept apart.
"""

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.ids import Account, ConversationId

from ..store.conversations import Conversation

IMPORTED = Account("import")
"""The account of chats that are the owner's own."""

APART = Account("import-apart")
"""The account of other people's chats: found by `penfriend memory search` and by nothing else."""

SENDERS = sql("SELECT count(DISTINCT sender) FROM events WHERE account = :account AND chat = :chat")
OWNERS = sql("SELECT id FROM conversations WHERE role = 'owner' AND account <> :apart AND id <> :own ORDER BY id")


def remembered_in(conn: Connection, conversation: Conversation) -> tuple[ConversationId, ...]:
    """The conversations whose words may be recalled in this one, itself first."""
    own = (conversation.id,)
    if conversation.role != "owner" or conversation.account in (IMPORTED, APART):
        return own
    if conn.execute(SENDERS, {"account": conversation.account, "chat": conversation.chat}).scalar_one() > 1:
        return own
    others = conn.execute(OWNERS, {"apart": APART, "own": conversation.id})
    return own + tuple(ConversationId(row.id) for row in others)
