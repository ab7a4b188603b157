"""What is to be said, and its parts, written together with the step that made it true."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, insert, select
from sqlalchemy import text as sql

from core.clock import Instant
from core.control.messages import StateRecord
from core.errors import TransitionError
from core.ids import Account, ChatId, ConversationId, EventId, PartId, ReplyId, Trace, TurnId
from core.store.columns import AnyRow

from ..turn import Actor, PartEvent, PartState, next_part
from .schema import parts, replies
from .sync_records import add_record
from .transitions import note_step

ReplyKind = Literal["reply", "notice", "command"]


@dataclass(frozen=True)
class NewReply:
    trace: Trace
    conversation: ConversationId
    turn: TurnId | None
    kind: ReplyKind
    text: str
    model: str | None = None
    finish: str | None = None
    event: EventId | None = None


@dataclass(frozen=True)
class Reply:
    id: ReplyId
    trace: Trace
    conversation: ConversationId
    turn: TurnId | None
    kind: ReplyKind
    text: str
    created_at: Instant


@dataclass(frozen=True)
class Part:
    id: PartId
    reply: ReplyId
    number: int
    text: str
    state: PartState
    transaction_id: str
    platform_id: str | None
    detail: str | None
    tries: int
    not_before: Instant
    updated_at: Instant


@dataclass(frozen=True)
class Waiting:
    """A part that may be sent now, with where it goes."""

    part: Part
    account: Account
    chat: ChatId
    created_at: Instant


ADD = insert(replies).returning(replies.c.id)
ADD_PART = insert(parts).returning(parts.c.id)
GET = select(replies).where(replies.c.id == sql(":reply"))
OF_TURN = select(replies).where(replies.c.turn_id == sql(":turn")).order_by(replies.c.id)
PARTS = select(parts).where(parts.c.reply_id == sql(":reply")).order_by(parts.c.number)
GET_PART = select(parts).where(parts.c.id == sql(":part"))
IN_STATE = select(parts).where(parts.c.state == sql(":state")).order_by(parts.c.id)
WAITING = sql(
    "SELECT p.*, c.account, c.chat, r.created_at_ms FROM parts p JOIN replies r ON r.id = p.reply_id "
    "JOIN conversations c ON c.id = r.conversation_id "
    "WHERE p.state = 'intent' AND c.account = :account AND NOT EXISTS (SELECT 1 FROM parts earlier "
    "WHERE earlier.reply_id = p.reply_id AND earlier.number < p.number AND earlier.state NOT IN ('sent', 'accepted')) "
    "AND NOT EXISTS (SELECT 1 FROM parts older JOIN replies o ON o.id = older.reply_id "
    "WHERE o.conversation_id = r.conversation_id AND o.id < r.id AND older.state IN ('intent', 'sending')) "
    "ORDER BY p.id LIMIT 100"
)
MOVE = sql(
    "UPDATE parts SET state = :after, detail = :detail, updated_at_ms = :now, "
    "sending_at_ms = CASE WHEN :after = 'sending' THEN :now ELSE sending_at_ms END, "
    "platform_id = COALESCE(:platform_id, platform_id), not_before_ms = COALESCE(:not_before, not_before_ms), "
    "tries = tries + CASE WHEN :after = 'sending' THEN 1 ELSE 0 END "
    "WHERE id = :part AND state = :before"
)
ANSWERED = sql(
    "SELECT e.event_key FROM replies r JOIN events e ON e.id = COALESCE(r.event_id, (SELECT max(m.event_id) "
    "FROM messages m WHERE m.turn_id = r.turn_id AND m.speaker = 'person')) WHERE r.id = :reply"
)
SENDING = sql(
    "SELECT p.id FROM parts p JOIN replies r ON r.id = p.reply_id JOIN conversations c ON c.id = r.conversation_id "
    "WHERE p.state = 'sending' AND c.account = :account ORDER BY p.id"
)
# What waits behind a part in doubt is the owner's to decide about; behind an expired one it goes with it.
OLD = sql(
    "SELECT p.* FROM parts p JOIN replies r ON r.id = p.reply_id JOIN conversations c ON c.id = r.conversation_id "
    "WHERE p.state IN ('intent', 'deferred') AND r.created_at_ms < :before AND c.account = :account ORDER BY p.id"
)
SITE_KEY = sql(
    "SELECT r.trace, p.number, c.private_since_ms, (SELECT max(m.private) FROM messages m "
    "WHERE m.turn_id = r.turn_id AND m.speaker = 'person') AS private_turn "
    "FROM parts p JOIN replies r ON r.id = p.reply_id JOIN conversations c ON c.id = r.conversation_id WHERE p.id = :part"
)
FORGET_TEXTS = sql("UPDATE parts SET text = '' WHERE reply_id = :reply")
COUNTS = sql("SELECT state, count(*) AS n FROM parts GROUP BY state")


def add_reply(conn: Connection, new: NewReply, texts: Sequence[str], now: Instant) -> ReplyId:
    """The reply and an intent for each of its parts, in the caller's transaction: all or none (invariant I7)."""
    row = {
        "trace": new.trace,
        "conversation_id": new.conversation,
        "turn_id": new.turn,
        "kind": new.kind,
        "text": new.text,
        "model": new.model,
        "finish": new.finish,
        "event_id": new.event,
        "created_at_ms": now,
    }
    reply = ReplyId(conn.execute(ADD, row).scalar_one())
    for number, text in enumerate(texts, 1):
        _add_part(conn, reply, number, text, f"pf-{new.trace}-{number}", now)
    return reply


def _add_part(conn: Connection, reply: ReplyId, number: int, text: str, transaction: str, now: Instant) -> None:
    row = {
        "reply_id": reply,
        "number": number,
        "text": text,
        "state": PartState.INTENT,
        "transaction_id": transaction,
        "updated_at_ms": now,
    }
    part = PartId(conn.execute(ADD_PART, row).scalar_one())
    note_step(conn, "part", part, None, PartState.INTENT, now)
    _tell_site(conn, part, PartState.INTENT, now)


def get_reply(conn: Connection, reply: ReplyId) -> Reply:
    return _reply(conn.execute(GET, {"reply": reply}).one())


def replies_of_turn(conn: Connection, turn: TurnId) -> list[Reply]:
    return [_reply(row) for row in conn.execute(OF_TURN, {"turn": turn})]


def parts_of(conn: Connection, reply: ReplyId) -> list[Part]:
    return [_part(row) for row in conn.execute(PARTS, {"reply": reply})]


def answered_event(conn: Connection, reply: ReplyId) -> str | None:
    """The key of the newest update that a reply answers."""
    return conn.execute(ANSWERED, {"reply": reply}).scalar_one_or_none()


def get_part(conn: Connection, part: PartId) -> Part:
    found = find_part(conn, part)
    assert found is not None, f"there is no part {part}"
    return found


def find_part(conn: Connection, part: PartId) -> Part | None:
    row = conn.execute(GET_PART, {"part": part}).one_or_none()
    return None if row is None else _part(row)


def sending_parts(conn: Connection, account: Account) -> list[PartId]:
    return [PartId(row.id) for row in conn.execute(SENDING, {"account": account})]


def old_parts(conn: Connection, account: Account, before: Instant) -> list[Part]:
    """Of replies made before that time, what still waits to be sent."""
    return [_part(row) for row in conn.execute(OLD, {"account": account, "before": before})]


def forget_part_texts(conn: Connection, reply: ReplyId) -> None:
    conn.execute(FORGET_TEXTS, {"reply": reply})


def parts_in(conn: Connection, state: PartState) -> list[Part]:
    return [_part(row) for row in conn.execute(IN_STATE, {"state": state})]


def waiting_parts(conn: Connection, account: Account) -> list[Waiting]:
    """Parts to be sent, oldest first: those before them in their reply are heard, and no older reply is on its way."""
    rows = conn.execute(WAITING, {"account": account})
    return [Waiting(_part(row), Account(row.account), ChatId(row.chat), Instant(row.created_at_ms)) for row in rows]


def move_part(
    conn: Connection,
    part: PartId,
    event: PartEvent,
    now: Instant,
    *,
    actor: Actor = "bridge",
    detail: str | None = None,
    platform_id: str | None = None,
    not_before: Instant | None = None,
) -> PartState:
    """Takes one step of the table. Raises TransitionError when there is no such step from where the part is."""
    before = get_part(conn, part).state
    after = next_part(before, event, actor)
    row = {
        "part": part,
        "before": before,
        "after": after,
        "detail": detail,
        "now": now,
        "platform_id": platform_id,
        "not_before": not_before,
    }
    if conn.execute(MOVE, row).rowcount != 1:
        raise TransitionError(f"part {part} was moved by somebody else while it was {before}")
    note_step(conn, "part", part, before, after, now, actor=actor, reason=detail)
    _tell_site(conn, part, after, now)
    return after


def _tell_site(conn: Connection, part: PartId, state: PartState, now: Instant) -> None:
    """Every state but a private one; the newest replaces what is not told yet."""
    row = conn.execute(SITE_KEY, {"part": part}).one()
    if row.private_turn or (row.private_turn is None and row.private_since_ms is not None):
        return
    body = f'{{"part":{part},"state":"{state}","reply":"{row.trace}","number":{row.number}}}'
    add_record(conn, StateRecord(kind="part_state", key=f"{row.trace}/{row.number}", at_ms=now, body=body), now)


def count_parts(conn: Connection) -> dict[str, int]:
    return {row.state: row.n for row in conn.execute(COUNTS)}


def _reply(row: AnyRow) -> Reply:
    return Reply(
        ReplyId(row.id),
        Trace(row.trace),
        ConversationId(row.conversation_id),
        None if row.turn_id is None else TurnId(row.turn_id),
        row.kind,
        row.text,
        Instant(row.created_at_ms),
    )


def _part(row: AnyRow) -> Part:
    return Part(
        PartId(row.id),
        ReplyId(row.reply_id),
        row.number,
        row.text,
        PartState(row.state),
        row.transaction_id,
        row.platform_id,
        row.detail,
        row.tries,
        Instant(row.not_before_ms),
        Instant(row.updated_at_ms),
    )
