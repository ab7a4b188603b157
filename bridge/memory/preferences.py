"""Preferences and corrections: noted when a message is accepted, told with their quote and date, edited and undone.

Derived from the raw messages, so an edit by the owner is itself a message (`EDITED` opens its key) and survives a
rebuild; what the owner deleted stays deleted.
"""

from collections.abc import Sequence

from sqlalchemy import Connection

from core.clock import Instant
from core.errors import BadInput
from core.ids import ConversationId, MessageId, Trace
from core.text.normalise import normalise
from core.text.tokens import UNIGRAM_MARK, index_tokens

from ..store.conversations import get_conversation
from ..store.imported import add_imported_message
from ..store.preferences import (
    Preference,
    add_preference,
    delete_preference,
    drop_of_message,
    find_preference,
    holding,
    of_messages,
    of_topic,
)
from .pack import Record
from .scopes import remembered_in
from .statements import Statement, statements_of

MOST_TOLD = 40
"""Of the preferences that hold, the newest go into a request."""

CORRECTED_WITHIN_MS = 10 * 60_000
"""A correction that does not say what it corrects is of the newest statement, if that was just made."""

EDITED = "edited:"


def note_statements(
    conn: Connection, conversation: ConversationId, message: MessageId, text: str, said_at: Instant
) -> None:
    """Keeps what a person's message states, in the transaction that accepts the message."""
    for topic, statement in _by_topic(conn, conversation, text, said_at).items():
        add_preference(conn, conversation, message, statement.kind, topic, statement.quote, said_at)


def note_again(conn: Connection, conversation: ConversationId, message: MessageId, text: str, said_at: Instant) -> None:
    """After an edit, a deletion (then with no text), or when the rules have changed."""
    drop_of_message(conn, message)
    note_statements(conn, conversation, message, text, said_at)


def _by_topic(conn: Connection, conversation: ConversationId, text: str, said_at: Instant) -> dict[str, Statement]:
    """Of several statements about one topic in one message the last one counts."""
    found = statements_of(text)
    known = _known(conn, conversation, said_at) if any(_corrects(one) for one in found) else []
    noted: dict[str, Statement] = {}
    for statement in found:
        topic = _topic_of(statement, known, said_at)
        if topic is not None and not (statement.kind == "correction" and _said_with_another(statement, noted)):
            noted[topic] = statement
    return noted


def _known(conn: Connection, conversation: ConversationId, at: Instant) -> list[Preference]:
    return holding(conn, remembered_in(conn, get_conversation(conn, conversation)), at)


def _corrects(statement: Statement) -> bool:
    return bool(statement.corrects) or statement.kind == "correction"


def _topic_of(statement: Statement, known: Sequence[Preference], said_at: Instant) -> str | None:
    """That of the statement it corrects, where there is one."""
    if not _corrects(statement):
        return statement.topic
    for earlier in reversed(known):
        recent = said_at - earlier.said_at <= CORRECTED_WITHIN_MS
        if _mentions(earlier.quote, statement.corrects) if statement.corrects else recent:
            return earlier.topic
    return None if statement.only_with else statement.topic


def _said_with_another(statement: Statement, noted: dict[str, Statement]) -> bool:
    """`My favourite is tea, not coffee` is one statement, not two."""
    return any(other.quote == statement.quote for other in noted.values())


def _mentions(quote: str, old: str) -> bool:
    """
    >>> _mentions("Remember my sister's birthday is May 3", "3 may"), _mentions("叫我小林", "小林"), _mentions("tea", "3 may")
    (True, True, False)
    """
    words = [token for token in index_tokens(old) if not token.startswith(UNIGRAM_MARK)]
    return normalise(old) in normalise(quote) or (bool(words) and set(words) <= set(index_tokens(quote)))


# --- what is told ----------------------------------------------------------------------------------------------------


def preference_records(conn: Connection, conversations: Sequence[ConversationId], at: Instant) -> tuple[Record, ...]:
    """What held at that moment, oldest first, each with its quote and its date."""
    held = holding(conn, conversations, at)[-MOST_TOLD:]
    return tuple(_record(conn, conversations, one) for one in held)


def _record(conn: Connection, conversations: Sequence[ConversationId], one: Preference) -> Record:
    quote = one.quote
    if one.kind == "correction" and (corrected := _corrected(conn, conversations, one)):
        quote = f"{corrected.quote}\n{quote}"  # alone it might say `not that, but this` of nobody knows what
    return Record(f"{one.trace}#{one.id}", f"stated_{one.kind}", "person", one.said_at, quote, {})


def _corrected(conn: Connection, conversations: Sequence[ConversationId], one: Preference) -> Preference | None:
    before = [other for other in of_topic(conn, conversations, one.topic) if other.deleted_at is None]
    return next((other for other in reversed(before) if (other.said_at, other.id) < (one.said_at, one.id)), None)


def superseded_messages(
    conn: Connection, conversations: Sequence[ConversationId], ids: Sequence[int], at: Instant
) -> frozenset[int]:
    """Messages that stated something, all of which the person has replaced since, wherever that was."""
    stated = [one for one in of_messages(conn, ids) if one.deleted_at is None]
    held = {one.message for one in holding(conn, conversations, at)} if stated else set()
    return frozenset(one.message for one in stated) - held


# --- what the owner does with them -----------------------------------------------------------------------------------


def edit_preference(conn: Connection, preference: int, text: str, now: Instant, trace: Trace) -> int:
    """The owner's new words for a topic, as a message of today; returns the number of the message."""
    if not text.strip():
        raise BadInput("the new words are empty: to take a preference back use `penfriend memory forget`")
    one = _found(conn, preference)
    key = f"{EDITED}{one.kind}:{one.topic}:{trace}"
    message = add_imported_message(conn, one.conversation, key, text, now, trace)
    add_preference(conn, one.conversation, message, one.kind, one.topic, text, now)
    return message


def undo_preference(conn: Connection, preference: int, now: Instant) -> None:
    """It holds no more; the message it comes from stays."""
    delete_preference(conn, _found(conn, preference), now)


def _found(conn: Connection, preference: int) -> Preference:
    one = find_preference(conn, preference)
    if one is None:
        raise BadInput(f"there is no preference {preference}: see `penfriend memory list`")
    return one


def edited_statement(key: str | None, text: str) -> tuple[str, str, str] | None:
    """Kind, topic and quote of a message that is an owner's edit.

    >>> edited_statement("edited:taste:about:tea:01K", "I love tea")
    ('taste', 'about:tea', 'I love tea')
    """
    if key is None or not key.startswith(EDITED):
        return None
    kind, _, rest = key.removeprefix(EDITED).partition(":")
    return kind, rest.rpartition(":")[0], text
