"""Numbers that only grow."""

from sqlalchemy import Connection
from sqlalchemy import text as sql

NEXT = sql(
    "INSERT INTO counters (name, value) VALUES (:name, 1) "
    "ON CONFLICT (name) DO UPDATE SET value = counters.value + 1 RETURNING value"
)

MESSAGE_CHANGE = "message_change"


def next_number(conn: Connection, name: str) -> int:
    return int(conn.execute(NEXT, {"name": name}).scalar_one())
