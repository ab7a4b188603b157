"""Removes words for good: from raw bodies, messages and their versions, conflicts, replies and parts, and context records.

The index follows by the messages' change numbers; sources at the site follow by a sync record without text.
"""

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.clock import Instant
from core.control.messages import SaidRecord
from core.ids import MessageId, TurnId

from ..deliver import settle_turn
from ..store.conversations import Conversation
from ..store.counters import MESSAGE_CHANGE, next_number
from ..store.messages import Message, messages_of_turn
from ..store.replies import move_part, parts_of, replies_of_turn
from ..store.sync_records import add_record
from ..turn import PartEvent, PartState

LAST_TURN = sql(
    "SELECT max(turn_id) FROM messages WHERE conversation_id = :conversation AND deleted_at_ms IS NULL AND turn_id IS NOT NULL"
)
ERASE = (
    sql("UPDATE events SET body = NULL WHERE id IN (SELECT event_id FROM messages WHERE id = :message)"),
    sql("UPDATE conflicts SET body = NULL WHERE event_id IN (SELECT event_id FROM messages WHERE id = :message)"),
    sql("DELETE FROM message_versions WHERE message_id = :message"),
    sql("UPDATE preferences SET quote = '', deleted_at_ms = COALESCE(deleted_at_ms, :now) WHERE message_id = :message"),
    sql(
        "UPDATE messages SET text = '', version = version + 1, deleted_at_ms = :now, change = :change WHERE id = :message"
    ),
)
ERASE_REPLIES = (
    # One that is being sent just now loses its words when it is known what came of it.
    sql(
        "UPDATE parts SET text = '' WHERE reply_id IN (SELECT id FROM replies WHERE turn_id = :turn) AND state <> 'sending'"
    ),
    sql("UPDATE replies SET text = '' WHERE turn_id = :turn"),
    sql("DELETE FROM context_records WHERE turn_id = :turn"),
)


def forget_last_exchange(conn: Connection, conversation: Conversation, now: Instant) -> int:
    """How many messages were forgotten."""
    turn = conn.execute(LAST_TURN, {"conversation": conversation.id}).scalar_one()
    if turn is None:
        return 0
    gone = messages_of_turn(conn, TurnId(turn))
    for message in gone:
        erase_message(conn, message.id, now)
        if not message.private:
            add_record(conn, _forgotten(conversation, message), now)
    _give_up_waiting(conn, TurnId(turn), now)
    for statement in ERASE_REPLIES:
        conn.execute(statement, {"turn": turn})
    return len(gone)


def _give_up_waiting(conn: Connection, turn: TurnId, now: Instant) -> None:
    """What is forgotten is not said afterwards."""
    for reply in replies_of_turn(conn, turn):
        for part in parts_of(conn, reply.id):
            if part.state in (PartState.INTENT, PartState.DEFERRED, PartState.HELD):
                move_part(conn, part.id, PartEvent.GIVEN_UP, now, actor="owner", detail="the exchange was forgotten")
    settle_turn(conn, turn, now)


def erase_message(conn: Connection, message: MessageId, now: Instant) -> None:
    change = next_number(conn, MESSAGE_CHANGE)
    for statement in ERASE:
        conn.execute(statement, {"message": message, "now": now, "change": change})


def _forgotten(conversation: Conversation, message: Message) -> SaidRecord:
    return SaidRecord(
        key=message.trace,
        turn=f"turn-{message.turn}" if message.turn is not None else message.trace,
        conversation=str(conversation.id),
        account=conversation.account,
        role=conversation.role,
        speaker="persona" if message.speaker == "persona" else "person",
        text="",
        said_at_ms=message.said_at,
        version=message.version + 1,
        deleted=True,
    )
