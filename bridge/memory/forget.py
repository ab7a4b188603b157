"""Removes words for good: from raw bodies, messages and their versions, conflicts, preferences, replies that quote them,
and the records of what went into a request. One transaction; what it took away is counted.

Excerpts are made anew each time, so they go with the messages. The index follows the messages' change numbers and is
rebuilt (`index.py`), the log emptied after it; sources at the site follow by a sync record without text, and what the
site does with drafts and published digests that hold them is the site's part. Backups keep what they hold.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.clock import Instant
from core.control.messages import SaidRecord
from core.ids import ConversationId, MessageId, PartId, ReplyId, TurnId

from ..deliver import settle_turn
from ..store.conversations import Conversation, get_conversation
from ..store.counters import MESSAGE_CHANGE, next_number
from ..store.messages import Message, messages_by_id, messages_of_turn
from ..store.preferences import erase_preference, of_messages
from ..store.replies import get_reply, move_part, parts_of
from ..store.sync_records import add_record
from ..turn import PartEvent, PartState
from .quoting import Quoting

LAST_TURN = sql(
    "SELECT max(turn_id) FROM messages WHERE conversation_id = :conversation AND deleted_at_ms IS NULL AND turn_id IS NOT NULL"
)
ERASE = {
    "raw_bodies": sql(
        "UPDATE events SET body = NULL WHERE body IS NOT NULL "
        "AND id IN (SELECT event_id FROM messages WHERE id = :message)"
    ),
    # An edit arrives as an event of its own, whose body names the message it edits in the platform's words only.
    "edit_bodies": sql(
        "UPDATE events SET body = NULL WHERE body IS NOT NULL AND kind IN ('edit', 'deletion') AND EXISTS ("
        "SELECT 1 FROM events first JOIN messages m ON m.event_id = first.id WHERE m.id = :message "
        "AND m.version > 1 AND first.account = events.account AND first.chat = events.chat AND events.id > first.id)"
    ),
    "conflicts": sql(
        "UPDATE conflicts SET body = NULL WHERE body IS NOT NULL "
        "AND event_id IN (SELECT event_id FROM messages WHERE id = :message)"
    ),
    "versions": sql("DELETE FROM message_versions WHERE message_id = :message"),
    "messages": sql(
        "UPDATE messages SET text = '', name = NULL, version = version + 1, deleted_at_ms = :now, change = :change "
        "WHERE id = :message AND NOT (deleted_at_ms IS NOT NULL AND text = '')"
    ),
}
QUOTING_REPLIES = sql(
    "SELECT id, text FROM replies WHERE created_at_ms >= :since AND text <> '' AND kind = 'reply' ORDER BY id"
)
QUOTING_MESSAGES = sql(
    "SELECT id, text FROM messages WHERE speaker = 'persona' AND reply_id IS NULL AND said_at_ms >= :since "
    "AND text <> '' AND conversation_id = :conversation"
)
SOURCE = sql(
    "SELECT turn_id, id AS message_id FROM messages WHERE trace = :trace "
    "UNION ALL SELECT turn_id, NULL FROM replies WHERE trace = :trace"
)
REPLIES_OF = sql("SELECT id FROM replies WHERE turn_id = :turn AND text <> ''")
HEARD_AS = sql("SELECT id FROM messages WHERE reply_id = :reply")
BLANK_PARTS = sql("UPDATE parts SET text = '' WHERE reply_id = :reply AND state <> 'sending'")
BLANK_REPLY = sql("UPDATE replies SET text = '' WHERE id = :reply")
DROP_CONTEXT = sql("DELETE FROM context_records WHERE turn_id = :turn OR instr(body, :trace) > 0")
DROP_CONTEXT_POSTGRES = sql("DELETE FROM context_records WHERE turn_id = :turn OR strpos(body, :trace) > 0")
ON_THE_WAY = (PartState.INTENT, PartState.DEFERRED, PartState.HELD)


@dataclass(frozen=True)
class Forgotten:
    """How many of each held the words and hold them no more; `sources` are records the site is told to erase."""

    messages: int = 0
    versions: int = 0
    raw_bodies: int = 0
    conflicts: int = 0
    preferences: int = 0
    replies: int = 0
    context_records: int = 0
    sources: int = 0

    def __add__(self, other: "Forgotten") -> "Forgotten":
        return Forgotten(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def forget_last_exchange(conn: Connection, conversation: Conversation, now: Instant) -> Forgotten:
    """Both sides of the newest turn."""
    turn = conn.execute(LAST_TURN, {"conversation": conversation.id}).scalar_one()
    return Forgotten() if turn is None else _forget_turn(conn, TurnId(turn), now)


def forget_sources(conn: Connection, traces: Iterable[str], now: Instant) -> Forgotten:
    """The whole exchanges that these messages or replies are of; one that is not here any more is passed over."""
    done = Forgotten()
    for trace in traces:
        for row in conn.execute(SOURCE, {"trace": trace}).all():
            if row.turn_id is not None:
                done += _forget_turn(conn, TurnId(row.turn_id), now)
            elif row.message_id is not None:
                done += forget_messages(conn, [MessageId(row.message_id)], now)
    return done


def _forget_turn(conn: Connection, turn: TurnId, now: Instant) -> Forgotten:
    done = Forgotten()
    for row in conn.execute(REPLIES_OF, {"turn": turn}).all():
        done += _erase_reply(conn, ReplyId(row.id), now)
    return done + forget_messages(conn, [message.id for message in messages_of_turn(conn, turn)], now)


def forget_messages(conn: Connection, ids: Iterable[MessageId], now: Instant) -> Forgotten:
    """These messages, and every reply of the persona that quotes one of them."""
    gone = [message for message in messages_by_id(conn, ids).values() if message.text or not message.deleted]
    if not gone:
        return Forgotten()
    quoting = Quoting([message.text for message in gone])
    done = Forgotten()
    for message in gone:
        done += _erase_message(conn, message, now)
    since = min(message.said_at for message in gone)
    for reply in [row.id for row in conn.execute(QUOTING_REPLIES, {"since": since}) if quoting.holds(row.text)]:
        done += _erase_reply(conn, ReplyId(reply), now)
    return done + _forget_quoting_messages(conn, {message.conversation for message in gone}, quoting, since, now)


def _forget_quoting_messages(
    conn: Connection, conversations: Iterable[ConversationId], quoting: Quoting, since: Instant, now: Instant
) -> Forgotten:
    """The persona's words in an imported chat are no replies of ours, but they may quote as well."""
    done = Forgotten()
    for conversation in conversations:
        rows = conn.execute(QUOTING_MESSAGES, {"since": since, "conversation": conversation}).all()
        for message in messages_by_id(conn, [row.id for row in rows if quoting.holds(row.text)]).values():
            done += _erase_message(conn, message, now)
    return done


def _erase_message(conn: Connection, message: Message, now: Instant) -> Forgotten:
    values = {"message": message.id, "now": now, "change": next_number(conn, MESSAGE_CHANGE)}
    done = {name: conn.execute(statement, values).rowcount for name, statement in ERASE.items()}
    stated = [one for one in of_messages(conn, [message.id]) if one.quote]
    for one in stated:
        erase_preference(conn, one, now)
    return Forgotten(
        messages=done["messages"],
        versions=done["versions"],
        raw_bodies=done["raw_bodies"] + done["edit_bodies"],
        conflicts=done["conflicts"],
        preferences=len(stated),
        context_records=_drop_context(conn, message.turn, message.trace),
        sources=_tell_the_site(conn, message, now),
    )


def _erase_reply(conn: Connection, reply: ReplyId, now: Instant) -> Forgotten:
    """A reply that waits to be sent is given up; one that is being sent just now keeps its text until it is not."""
    found = get_reply(conn, reply)
    for part in parts_of(conn, reply):
        if part.state in ON_THE_WAY:
            _give_up(conn, part.id, part.state, now)
    conn.execute(BLANK_PARTS, {"reply": reply})
    conn.execute(BLANK_REPLY, {"reply": reply})
    done = Forgotten(replies=1, context_records=_drop_context(conn, found.turn, found.trace))
    heard = conn.execute(HEARD_AS, {"reply": reply}).scalar_one_or_none()
    if heard is not None:
        copy = _erase_message(conn, messages_by_id(conn, [heard])[MessageId(heard)], now)
        done += replace(copy, messages=0)  # what was heard of a reply is counted as that reply
    else:
        conversation = get_conversation(conn, found.conversation)
        if not conversation.private:
            add_record(conn, _erased(conversation, found.trace, found.turn, found.created_at, "persona", 10_000), now)
    if found.turn is not None:
        settle_turn(conn, found.turn, now)
    return done


def _give_up(conn: Connection, part: PartId, state: PartState, now: Instant) -> None:
    if state is PartState.DEFERRED:
        move_part(conn, part, PartEvent.BLOCKED, now, actor="owner", detail="forgotten")
    move_part(conn, part, PartEvent.GIVEN_UP, now, actor="owner", detail="forgotten")


def _drop_context(conn: Connection, turn: TurnId | None, trace: str) -> int:
    statement = DROP_CONTEXT if conn.dialect.name == "sqlite" else DROP_CONTEXT_POSTGRES
    return conn.execute(statement, {"turn": turn, "trace": trace}).rowcount


def _tell_the_site(conn: Connection, message: Message, now: Instant) -> int:
    """Imported and private words never were at the site."""
    if message.private or message.imported or message.speaker == "other":
        return 0
    conversation = get_conversation(conn, message.conversation)
    speaker = "persona" if message.speaker == "persona" else "person"
    version = 10_000 if speaker == "persona" else message.version + 1  # a reply's versions count its heard parts
    add_record(conn, _erased(conversation, message.trace, message.turn, message.said_at, speaker, version), now)
    return 1


def _erased(
    conversation: Conversation, key: str, turn: TurnId | None, said_at: Instant, speaker: str, version: int
) -> SaidRecord:
    return SaidRecord(
        key=key,
        turn=f"turn-{turn}" if turn is not None else key,
        conversation=str(conversation.id),
        account=conversation.account,
        role=conversation.role,
        speaker="persona" if speaker == "persona" else "person",
        text="",
        said_at_ms=said_at,
        version=version,
        deleted=True,
    )
