"""Senders nobody paired: one notice at most, and a bounded number of tries at a code."""

from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import Account, SenderId

TOUCH = sql(
    "INSERT INTO strangers (account, sender, first_seen_at_ms, attempts) VALUES (:account, :sender, :now, 0) "
    "ON CONFLICT (account, sender) DO NOTHING"
)
GET = sql(
    "SELECT noticed_at_ms, attempts, locked_until_ms FROM strangers WHERE account = :account AND sender = :sender"
)
NOTICED = sql("UPDATE strangers SET noticed_at_ms = :now WHERE account = :account AND sender = :sender")
TRIED = sql(
    "UPDATE strangers SET attempts = :attempts, locked_until_ms = :locked WHERE account = :account AND sender = :sender"
)
FORGET = sql("DELETE FROM strangers WHERE account = :account AND sender = :sender")


@dataclass(frozen=True)
class Stranger:
    noticed: bool
    attempts: int
    locked_until: Instant | None


def see_stranger(conn: Connection, account: Account, sender: SenderId, now: Instant) -> Stranger:
    conn.execute(TOUCH, {"account": account, "sender": sender, "now": now})
    row = conn.execute(GET, {"account": account, "sender": sender}).one()
    locked = None if row.locked_until_ms is None else Instant(row.locked_until_ms)
    return Stranger(row.noticed_at_ms is not None, row.attempts, locked)


def note_notice(conn: Connection, account: Account, sender: SenderId, now: Instant) -> None:
    conn.execute(NOTICED, {"account": account, "sender": sender, "now": now})


def note_try(conn: Connection, account: Account, sender: SenderId, attempts: int, locked: Instant | None) -> None:
    conn.execute(TRIED, {"account": account, "sender": sender, "attempts": attempts, "locked": locked})


def forget_stranger(conn: Connection, account: Account, sender: SenderId) -> None:
    conn.execute(FORGET, {"account": account, "sender": sender})
