"""What the owner does to memory: import, edit, forget, reindex. The running bridge and the command line share it."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.clock import Clock, Instant
from core.ids import ConversationId, MessageId, Trace
from core.store import Store

from ..store.preferences import add_preference, drop_of_message
from .forget import Forgotten, forget_messages
from .import_formats import ImportedLine
from .imports import Imported, Mint, import_page
from .naming import messages_named
from .preferences import edit_preference, edited_statement, note_statements, undo_preference
from .scopes import APART, IMPORTED

PAGE_OF = sql(
    "SELECT id, conversation_id, text, said_at_ms, imported_key, deleted_at_ms FROM messages WHERE speaker = 'person' "
    "AND (conversation_id, said_at_ms, id) > (:conversation, :at, :id) ORDER BY conversation_id, said_at_ms, id LIMIT 500"
)
START = (0, -(2**62), 0)


@dataclass(frozen=True)
class MemoryDesk:
    store: Store
    clock: Clock
    mint: Mint

    async def import_(self, lines: Sequence[ImportedLine], *, apart: bool) -> Imported:
        return await self.store.write(import_page, APART if apart else IMPORTED, lines, self.clock(), self.mint)

    async def edit(self, preference: int, text: str) -> int:
        now = self.clock()
        return await self.store.write(edit_preference, preference, text, now, Trace(self.mint(now)))

    async def undo(self, preference: int) -> None:
        await self.store.write(undo_preference, preference, self.clock())

    async def forget(self, refs: Sequence[str], chat: str | None) -> Forgotten:
        """One transaction; the caller has the index rebuilt afterwards."""
        return await self.store.write(_forget, refs, chat, self.clock())

    async def note_all_again(self) -> int:
        """Derives every statement anew, a page a transaction; returns how many messages were read."""
        place, read = START, 0
        while (page := await self.store.write(_note_page, *place))[0]:
            read, place = read + page[0], page[1]
        return read


def _forget(conn: Connection, refs: Sequence[str], chat: str | None, now: Instant) -> Forgotten:
    return forget_messages(conn, messages_named(conn, refs, chat), now)


def _note_page(conn: Connection, conversation: int, at: int, id_: int) -> tuple[int, tuple[int, int, int]]:
    """How many messages there were, and the place of the last one."""
    rows = conn.execute(PAGE_OF, {"conversation": conversation, "at": at, "id": id_}).all()
    for row in rows:
        where, message, said_at = ConversationId(row.conversation_id), MessageId(row.id), Instant(row.said_at_ms)
        drop_of_message(conn, message)
        if row.deleted_at_ms is not None:
            continue
        if edited := edited_statement(row.imported_key, row.text):
            add_preference(conn, where, message, *edited, said_at)
        else:
            note_statements(conn, where, message, row.text, said_at)
    last = rows[-1] if rows else None
    return len(rows), START if last is None else (last.conversation_id, last.said_at_ms, last.id)
