"""What is said for a turn: the persona's answer in its parts, or a line of the house in the person's language."""

from sqlalchemy import Connection

from core.clock import Instant
from core.control.messages import SaidRecord
from core.ids import ReplyId, Trace, TurnId
from core.model.contract import Finish, ModelResult
from core.text.split import split

from .answering import Answering
from .channels.contract import Capabilities
from .compose import Situation
from .notices import Language, language_of, line
from .store.conversations import Conversation
from .store.messages import is_private, messages_of_turn
from .store.replies import NewReply, add_reply
from .store.sync_records import add_record
from .store.turns import get_turn


def add_answer(conn: Connection, parts: Answering, situation: Situation, result: ModelResult, now: Instant) -> None:
    language = language_in(conn, parts, situation.turn.id)
    conversation, turn = situation.conversation, situation.turn
    if not messages_of_turn(conn, turn.id):
        tell(conn, parts, turn.id, "taken_back", now)  # what answers forgotten words may repeat them
        return
    text = result.text
    if result.finish in (Finish.REFUSED, Finish.EMPTY) or not text.strip():
        text = line("declined", language)
    elif result.finish is Finish.LENGTH:
        text = f"{text}\n{line('cut', language)}"
    trace = Trace(parts.mint(now))
    new = NewReply(trace, conversation.id, turn.id, "reply", text, parts.config.name or None, result.finish.value)
    add_reply(conn, new, split_for(parts.capabilities(conversation.account), text, language), now)
    if not is_private(conn, turn.id):
        add_record(conn, reply_record(conversation, turn.id, trace, text, now, version=1, heard=False), now)


def split_for(capabilities: Capabilities, text: str, language: Language) -> list[str]:
    """The parts as the platform takes them. What goes beyond its number of parts ends with a line that says so."""
    whole = text.encode("utf-8", "replace").decode()  # half a character from a model must not cost the whole reply
    texts = [part.text for part in split(whole, capabilities.limit, capabilities.unit) if not part.blank]
    if len(texts) <= capabilities.max_parts:
        return texts
    return [*texts[: capabilities.max_parts - 1], line("cut", language)]


def reply_record(
    conversation: Conversation, turn: TurnId | None, trace: Trace, text: str, at: Instant, *, version: int, heard: bool
) -> SaidRecord:
    return SaidRecord(
        key=trace,
        turn=f"turn-{turn}" if turn is not None else trace,
        conversation=str(conversation.id),
        account=conversation.account,
        role=conversation.role,
        speaker="persona",
        text=text,
        said_at_ms=at,
        heard=heard,
        version=version,
    )


def tell(conn: Connection, parts: Answering, turn: TurnId, name: str, now: Instant, **facts: object) -> ReplyId:
    """One fixed line of the house to the person of a turn: never silence."""
    return say(conn, parts, turn, line(name, language_in(conn, parts, turn), **facts), now)


def say(conn: Connection, parts: Answering, turn: TurnId, text: str, now: Instant) -> ReplyId:
    conversation = get_turn(conn, turn).conversation
    return add_reply(conn, NewReply(Trace(parts.mint(now)), conversation, turn, "notice", text), [text], now)


def language_in(conn: Connection, parts: Answering, turn: TurnId) -> Language:
    words = " ".join(message.text for message in messages_of_turn(conn, turn))
    return language_of(words, parts.settings.persona.language)
