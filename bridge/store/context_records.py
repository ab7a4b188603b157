"""Why the persona said it: one JSON record for each turn."""

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import ConversationId, TurnId

KEEP = sql(
    "INSERT INTO context_records (turn_id, body, written_at_ms) VALUES (:turn, :body, :now) "
    "ON CONFLICT (turn_id) DO UPDATE SET body = :body, written_at_ms = :now"
)
GET = sql("SELECT body FROM context_records WHERE turn_id = :turn")
LAST = sql(
    "SELECT c.body FROM context_records c JOIN turns t ON t.id = c.turn_id WHERE t.conversation_id = :conversation "
    "ORDER BY c.turn_id DESC LIMIT 1"
)


def keep_context(conn: Connection, turn: TurnId, body: str, now: Instant) -> None:
    conn.execute(KEEP, {"turn": turn, "body": body, "now": now})


def context_of(conn: Connection, turn: TurnId) -> str | None:
    return conn.execute(GET, {"turn": turn}).scalar_one_or_none()


def last_context(conn: Connection, conversation: ConversationId) -> str | None:
    return conn.execute(LAST, {"conversation": conversation}).scalar_one_or_none()
