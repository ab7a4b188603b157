"""What is switched in a running bridge, and what was told already."""

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import Account

TOLD = sql(
    "INSERT INTO switches (name, value, changed_at_ms) VALUES (:name, '', :now) ON CONFLICT (name) DO UPDATE "
    "SET changed_at_ms = :now WHERE switches.changed_at_ms NOT BETWEEN :now - :pause AND :now"
)


def take_turn_to_tell(conn: Connection, account: Account, now: Instant, pause_ms: int) -> bool:
    """Whether the owner is to be told now that replies of this account were let go: once for a pile, not for each."""
    row = {"name": f"told of expired replies: {account}", "now": now, "pause": pause_ms}
    return conn.execute(TOLD, row).rowcount == 1
