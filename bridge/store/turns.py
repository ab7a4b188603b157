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
OPEN = (
    select(turns.c.id, turns.c.answer_after_ms)
    .where(turns.c.conversation_id == sql(":conversation"), turns.c.phase.in_(("ready", "waiting_grant")))
    .order_by(turns.c.id.desc())
    .limit(1)
)
_MAY_BE_ANSWERED = (
    "FROM turns WHERE phase = 'ready' AND NOT EXISTS (SELECT 1 FROM turns other "
    "WHERE other.conversation_id = turns.conversation_id AND (other.phase IN ('composing', 'calling') "
    "OR (other.phase IN ('ready', 'waiting_grant') AND other.id < turns.id))) "
    "AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.id = turns.conversation_id AND c.paused = 1)"
)
# A turn that changed in the future waits for a clock that was set back since: nobody should wait for that.
DUE = sql(
    f"SELECT id {_MAY_BE_ANSWERED} AND (answer_after_ms <= :now OR updated_at_ms > :now) "
    "ORDER BY answer_after_ms, id LIMIT :most"
)
NEXT_DUE = sql(f"SELECT min(answer_after_ms) {_MAY_BE_ANSWERED}")
IN_PHASE = select(*COLUMNS).where(turns.c.phase == sql(":phase")).order_by(turns.c.id)
MOVE = sql(
    "UPDATE turns SET phase = :after, reason = :reason, updated_at_ms = :now WHERE id = :turn AND phase = :before"
)
WAIT = sql("UPDATE turns SET answer_after_ms = :at WHERE id = :turn")
COUNT_TRY = sql("UPDATE turns SET tries = tries + 1 WHERE id = :turn RETURNING tries")
COUNTS = sql("SELECT phase, count(*) AS n FROM turns GROUP BY phase")


def open_turn(
    conn: Connection,
    conversation: ConversationId,
    trace: Trace,
    answer_after: Instant,
    now: Instant,
    *,
    more_may_follow: bool = False,
) -> TurnId:
    """The newest turn that still takes messages of this conversation, or a new one.

    A message joins without moving the time of the answer, so that a chatterbox is answered too; only a backlog, whose
    next batch may still be under way, holds it up (`more_may_follow`).
    """
    existing = conn.execute(OPEN, {"conversation": conversation}).one_or_none()
    if existing is not None:
        if more_may_follow and existing.answer_after_ms < answer_after:
            put_off(conn, TurnId(existing.id), answer_after)
        return TurnId(existing.id)
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
    """The first open turn of each conversation that is neither paused nor being answered, where its window is over."""
    return [TurnId(row.id) for row in conn.execute(DUE, {"now": now, "most": most})]


def next_due(conn: Connection) -> Instant | None:
    """When the next turn may be answered that may be answered at all."""
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
    """Calls are counted in the store: a count in memory would let a refused turn wait for ever after a crash."""
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
