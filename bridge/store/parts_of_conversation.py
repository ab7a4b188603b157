"""Parts of a whole conversation: those that waited for the person to speak again."""

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import ConversationId, PartId

from ..turn import PartEvent
from .replies import move_part

DEFERRED = sql(
    "SELECT p.id FROM parts p JOIN replies r ON r.id = p.reply_id "
    "WHERE r.conversation_id = :conversation AND p.state = 'deferred' ORDER BY p.id"
)


def revive_deferred(conn: Connection, conversation: ConversationId, now: Instant) -> int:
    rows = conn.execute(DEFERRED, {"conversation": conversation}).all()
    for row in rows:
        move_part(conn, PartId(row.id), PartEvent.INBOUND_CAME, now, actor="platform")
    return len(rows)
