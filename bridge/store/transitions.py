"""Every step of a turn, an attempt, a part or a lease: from what, to what, by whom."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select
from sqlalchemy import text as sql

from core.clock import Instant

from ..turn import Actor
from .schema import transitions

INSERT = insert(transitions)
OF_OBJECT = (
    select(transitions)
    .where(transitions.c.object == sql(":object"), transitions.c.object_id == sql(":object_id"))
    .order_by(transitions.c.id)
)


@dataclass(frozen=True)
class Step:
    before: str | None
    after: str
    actor: Actor
    reason: str | None
    at_ms: Instant


def note_step(
    conn: Connection,
    kind: str,
    object_id: int | str,
    before: str | None,
    after: str,
    now: Instant,
    *,
    actor: Actor = "bridge",
    reason: str | None = None,
) -> None:
    row = {
        "object": kind,
        "object_id": str(object_id),
        "before": before,
        "after": after,
        "actor": actor,
        "reason": reason,
        "at_ms": now,
    }
    conn.execute(INSERT, row)


def list_steps(conn: Connection, kind: str, object_id: int | str) -> list[Step]:
    rows = conn.execute(OF_OBJECT, {"object": kind, "object_id": str(object_id)})
    return [Step(row.before, row.after, row.actor, row.reason, Instant(row.at_ms)) for row in rows]
