"""What the site should know. A record is written in the transaction that makes it true, and sent until the site has it."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.control.messages import SaidRecord, StateRecord, UsageEvent

from .schema import sync_records

ROUND_BYTES = 150_000
"""Well under the site's 256 KiB, because quoting inside JSON makes a body longer."""

ADD = sql(
    "INSERT INTO sync_records (kind, record_key, body, created_at_ms) VALUES (:kind, :key, :body, :now) "
    "ON CONFLICT (kind, record_key) DO UPDATE SET body = :body, created_at_ms = :now, synced_at_ms = NULL, refused = NULL"
)
WAITING = (
    select(
        sync_records.c.id,
        sync_records.c.kind,
        sync_records.c.record_key,
        sync_records.c.body,
        sync_records.c.created_at_ms,
    )
    .where(sync_records.c.synced_at_ms.is_(None))
    .order_by(sync_records.c.id)
    .limit(50)
)
BACKLOG = select(func.count()).select_from(sync_records).where(sync_records.c.synced_at_ms.is_(None))
# The body is compared: a record that changed while it was under way is sent again.
DONE = sql("UPDATE sync_records SET synced_at_ms = :now, refused = :refused WHERE id = :id AND body = :body")


@dataclass(frozen=True)
class WaitingRecord:
    id: int
    kind: str
    key: str
    body: str


def add_record(conn: Connection, record: SaidRecord | StateRecord | UsageEvent, now: Instant) -> None:
    kind, key = ("usage", record.id) if isinstance(record, UsageEvent) else (record.kind, record.key)
    conn.execute(ADD, {"kind": kind, "key": key, "body": record.model_dump_json(), "now": now})


def waiting_records(conn: Connection) -> list[WaitingRecord]:
    """The oldest ones that fit into one request."""
    round_: list[WaitingRecord] = []
    size = 0
    for row in conn.execute(WAITING):
        size += len(row.body.encode())
        if round_ and size > ROUND_BYTES:
            break
        round_.append(WaitingRecord(row.id, row.kind, row.record_key, row.body))
    return round_


def mark_synced(conn: Connection, record: WaitingRecord, now: Instant, refused: str | None) -> None:
    conn.execute(DONE, {"id": record.id, "body": record.body, "now": now, "refused": refused})


def sync_backlog(conn: Connection) -> int:
    return int(conn.execute(BACKLOG).scalar_one())
