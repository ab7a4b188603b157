"""Turns: opened by a message, moved by the table in `bridge/turn.py` and by nothing else."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.errors import TransitionError
from core.ids import ConversationId, Trace, TurnId
from core.store.columns import AnyRow

from ..turn import Actor, TurnEvent, TurnPhase, next_turn
from .schema import turns
from .transitions import note_step


@dataclass(frozen=True)
class Turn:
    id: TurnId
    trace: Trace
    conversation: ConversationId
    phase: TurnPhase
    reason: str | None
    opened_at: Instant
    answer_after: Instant
    tries: int


COLUMNS = (
    turns.c.id,
    turns.c.trace,
    turns.c.conversation_id,
    turns.c.phase,
    turns.c.reason,
    turns.c.opened_at_ms,
    turns.c.answer_after_ms,
    turns.c.tries,
)
INSERT = insert(turns).returning(turns.c.id)
GET = select(*COLUMNS).where(turns.c.id == sql(":turn"))
BY_TRACE = select(*COLUMNS).where(turns.c.trace == sql(":trace"))
OPEN = select(turns.c.id).where(
    turns.c.conversation_id == sql(":conversation"), turns.c.phase.in_(("ready", "waiting_grant"))
)
DUE = sql(
    "SELECT id FROM turns WHERE phase = 'ready' AND answer_after_ms <= :now AND NOT EXISTS ("
    "SELECT 1 FROM turns busy WHERE busy.conversation_id = turns.conversation_id AND busy.phase IN ('composing', 'calling')) "
    "AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.id = turns.conversation_id AND c.paused = 1) "
    "ORDER BY answer_after_ms, id LIMIT :most"
)
NEXT_DUE = sql("SELECT min(answer_after_ms) FROM turns WHERE phase = 'ready'")
IN_PHASE = select(*COLUMNS).where(turns.c.phase == sql(":phase")).order_by(turns.c.id)
MOVE = sql(
    "UPDATE turns SET phase = :after, reason = :reason, updated_at_ms = :now WHERE id = :turn AND phase = :before"
)
WAIT = sql("UPDATE turns SET answer_after_ms = :at WHERE id = :turn")
COUNT_TRY = sql("UPDATE turns SET tries = tries + 1 WHERE id = :turn RETURNING tries")
COUNTS = sql("SELECT phase, count(*) AS n FROM turns GROUP BY phase")


def open_turn(
    conn: Connection, conversation: ConversationId, trace: Trace, answer_after: Instant, now: Instant
) -> TurnId:
    """The turn that still takes messages of this conversation, or a new one."""
    existing = conn.execute(OPEN, {"conversation": conversation}).scalar_one_or_none()
    if existing is not None:
        return TurnId(existing)
    row = {
        "trace": trace,
        "conversation_id": conversation,
        "phase": TurnPhase.READY,
        "opened_at_ms": now,
        "answer_after_ms": answer_after,
        "updated_at_ms": now,
    }
    turn = TurnId(conn.execute(INSERT, row).scalar_one())
    note_step(conn, "turn", turn, None, TurnPhase.READY, now)
    return turn


def get_turn(conn: Connection, turn: TurnId) -> Turn:
    return _turn(conn.execute(GET, {"turn": turn}).one())


def turn_by_trace(conn: Connection, trace: Trace) -> Turn | None:
    row = conn.execute(BY_TRACE, {"trace": trace}).one_or_none()
    return None if row is None else _turn(row)


def due_turns(conn: Connection, now: Instant, most: int) -> list[TurnId]:
    """Turns whose window is over, in conversations that are neither paused nor being answered."""
    return [TurnId(row.id) for row in conn.execute(DUE, {"now": now, "most": most})]


def next_due(conn: Connection) -> Instant | None:
    at = conn.execute(NEXT_DUE).scalar_one()
    return None if at is None else Instant(at)


def turns_in(conn: Connection, phase: TurnPhase) -> list[Turn]:
    return [_turn(row) for row in conn.execute(IN_PHASE, {"phase": phase})]


def move_turn(
    conn: Connection,
    turn: TurnId,
    event: TurnEvent,
    now: Instant,
    *,
    actor: Actor = "bridge",
    reason: str | None = None,
) -> TurnPhase:
    """Takes one step of the table. Raises TransitionError when there is no such step from where the turn is."""
    before = get_turn(conn, turn).phase
    after = next_turn(before, event)
    moved = conn.execute(MOVE, {"turn": turn, "before": before, "after": after, "reason": reason, "now": now})
    if moved.rowcount != 1:
        raise TransitionError(f"turn {turn} was moved by somebody else while it was {before}")
    note_step(conn, "turn", turn, before, after, now, actor=actor, reason=reason)
    return after


def put_off(conn: Connection, turn: TurnId, until: Instant) -> None:
    conn.execute(WAIT, {"turn": turn, "at": until})


def count_try(conn: Connection, turn: TurnId) -> int:
    """Tries are counted in the store: a count in memory would let a refused turn wait for ever after a crash."""
    return int(conn.execute(COUNT_TRY, {"turn": turn}).scalar_one())


def count_turns(conn: Connection) -> dict[str, int]:
    return {row.phase: row.n for row in conn.execute(COUNTS)}


def _turn(row: AnyRow) -> Turn:
    return Turn(
        TurnId(row.id),
        Trace(row.trace),
        ConversationId(row.conversation_id),
        TurnPhase(row.phase),
        row.reason,
        Instant(row.opened_at_ms),
        Instant(row.answer_after_ms),
        row.tries,
    )
