"""One row for each update of a platform, kept for ever, and the conflicts beside them."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, insert, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import Account, EventId, EventKey, Trace

from .schema import conflicts, events

EventOutcome = Literal["accepted", "stranger", "poison", "ignored", "twin"]


@dataclass(frozen=True)
class NewEvent:
    trace: Trace
    account: Account
    event_key: EventKey
    kind: str
    chat: str
    sender: str
    body: str | None
    body_hash: str
    twin_key: str | None
    outcome: EventOutcome
    reason: str | None
    platform_at_ms: Instant | None
    received_at_ms: Instant


@dataclass(frozen=True)
class SeenEvent:
    id: EventId
    trace: Trace
    body_hash: str
    outcome: EventOutcome


INSERT = insert(events).returning(events.c.id)
FIND = select(events.c.id, events.c.trace, events.c.body_hash, events.c.outcome).where(
    events.c.account == sql(":account"), events.c.event_key == sql(":event_key")
)
FIND_TWIN = (
    select(events.c.id)
    .where(events.c.account == sql(":account"), events.c.twin_key == sql(":twin_key"), events.c.outcome == "accepted")
    .limit(1)
)
CONFLICT = sql(
    "INSERT INTO conflicts (event_id, body, body_hash, received_at_ms) VALUES (:event_id, :body, :body_hash, :now) "
    "ON CONFLICT (event_id, body_hash) DO NOTHING"
)
CONFLICTS = select(conflicts.c.id, conflicts.c.event_id).where(conflicts.c.resolved_at_ms.is_(None))


def add_event(conn: Connection, event: NewEvent) -> EventId:
    return EventId(conn.execute(INSERT, vars(event)).scalar_one())


def find_event(conn: Connection, account: Account, event_key: EventKey) -> SeenEvent | None:
    row = conn.execute(FIND, {"account": account, "event_key": event_key}).one_or_none()
    return None if row is None else SeenEvent(EventId(row.id), Trace(row.trace), row.body_hash, row.outcome)


def has_twin(conn: Connection, account: Account, twin_key: str) -> bool:
    return conn.execute(FIND_TWIN, {"account": account, "twin_key": twin_key}).first() is not None


def add_conflict(conn: Connection, event: EventId, body: str | None, body_hash: str, now: Instant) -> bool:
    """Whether this content was new: the same changed redelivery is one conflict."""
    result = conn.execute(CONFLICT, {"event_id": event, "body": body, "body_hash": body_hash, "now": now})
    return result.rowcount == 1


def open_conflicts(conn: Connection) -> int:
    return len(conn.execute(CONFLICTS).all())
