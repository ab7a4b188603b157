"""One id from update to receipt: everything the bridge knows about a message, in order. Never its text."""

from sqlalchemy import Connection, select
from sqlalchemy import text as sql

from core.errors import BadInput
from core.ids import Trace

from .store.attempts import Attempt, attempts_of
from .store.messages import message_by_trace
from .store.replies import Reply, parts_of, replies_of_turn
from .store.schema import events
from .store.transitions import list_steps
from .store.turns import get_turn, turn_by_trace

Plain = dict[str, object]

EVENT = select(
    events.c.id,
    events.c.trace,
    events.c.account,
    events.c.kind,
    events.c.outcome,
    events.c.reason,
    events.c.received_at_ms,
).where(events.c.trace == sql(":trace"))
SYNCED = sql("SELECT kind, record_key, synced_at_ms, refused FROM sync_records WHERE record_key LIKE :key")


def trace_of(conn: Connection, trace: str) -> Plain:
    """The way of an update, a message or a turn. Raises BadInput when nothing here has that id."""
    event = conn.execute(EVENT, {"trace": trace}).one_or_none()
    message = message_by_trace(conn, Trace(trace))
    turn = turn_by_trace(conn, Trace(trace)) if message is None else None
    if message is not None and message.turn is not None:
        turn = get_turn(conn, message.turn)
    if event is None and message is None and turn is None:
        raise BadInput(f"nothing here has the id {trace!r}: take one from `penfriend status` or from the log")
    return {
        "id": trace,
        "update": None if event is None else dict(event._mapping),
        "turn": None
        if turn is None
        else {"trace": turn.trace, "phase": turn.phase, "steps": _steps(conn, "turn", turn.id)},
        "attempts": [] if turn is None else [_attempt(conn, attempt) for attempt in attempts_of(conn, turn.id)],
        "replies": [] if turn is None else [_reply(conn, reply) for reply in replies_of_turn(conn, turn.id)],
        "site": [dict(row._mapping) for row in conn.execute(SYNCED, {"key": f"{trace}%"})],
    }


def _attempt(conn: Connection, attempt: Attempt) -> Plain:
    return {
        "id": attempt.id,
        "model": attempt.model or attempt.provider,
        "state": attempt.state,
        "outcome": attempt.outcome,
        "reserved_micros": attempt.reserved_micros,
        "cost_micros": attempt.cost_micros,
        "steps": _steps(conn, "attempt", attempt.id),
    }


def _reply(conn: Connection, reply: Reply) -> Plain:
    parts = [
        {
            "number": part.number,
            "state": part.state,
            "platform_id": part.platform_id,
            "steps": _steps(conn, "part", part.id),
        }
        for part in parts_of(conn, reply.id)
    ]
    return {"trace": reply.trace, "kind": reply.kind, "created_at_ms": reply.created_at, "parts": parts}


def _steps(conn: Connection, kind: str, object_id: int | str) -> list[Plain]:
    return [vars(step) for step in list_steps(conn, kind, object_id)]
