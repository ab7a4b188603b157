"""How far each account has been read."""

from sqlalchemy import Connection, delete, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import Account

from .schema import cursors

FIND = select(cursors.c.value, cursors.c.fingerprint).where(cursors.c.account == sql(":account"))
KEEP = sql(
    "INSERT INTO cursors (account, value, fingerprint, updated_at_ms) VALUES (:account, :value, :fingerprint, :now) "
    "ON CONFLICT (account) DO UPDATE SET value = :value, fingerprint = :fingerprint, updated_at_ms = :now"
)
DROP = delete(cursors).where(cursors.c.account == sql(":account"))


def find_cursor(conn: Connection, account: Account, fingerprint: str) -> tuple[str | None, bool]:
    """The cursor, and whether one was kept for another credential: that one must not be used."""
    row = conn.execute(FIND, {"account": account}).one_or_none()
    if row is None:
        return None, False
    return (row.value, False) if row.fingerprint == fingerprint else (None, True)


def keep_cursor(conn: Connection, account: Account, fingerprint: str, value: str, now: Instant) -> None:
    conn.execute(KEEP, {"account": account, "fingerprint": fingerprint, "value": value, "now": now})


def drop_cursor(conn: Connection, account: Account) -> None:
    conn.execute(DROP, {"account": account})
