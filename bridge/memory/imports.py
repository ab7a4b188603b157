"""Puts imported talk into the store, a page a transaction, so that a kill costs one page and the next run goes on there.

Imported talk is marked (it has a key of its own), belongs to the owner unless it is kept apart, and is neither synced nor
digested. Only what the person said can be a preference; the persona's and third parties' words never are.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Instant
from core.ids import Account, ChatId, ConversationId, Trace

from ..store.conversations import open_conversation
from ..store.imported import ImportedMessage, add_imported, ids_of_keys, known_keys
from .import_formats import ImportedLine
from .preferences import note_statements
from .statements import statements_of

PAGE = 2000

Mint = Callable[[Instant], str]


@dataclass(frozen=True)
class Imported:
    added: int = 0
    known: int = 0
    empty: int = 0

    def __add__(self, other: "Imported") -> "Imported":
        return Imported(self.added + other.added, self.known + other.known, self.empty + other.empty)


def import_page(
    conn: Connection, account: Account, lines: Sequence[ImportedLine], now: Instant, mint: Mint
) -> Imported:
    """One transaction. A line whose key its chat already has is left as it is, also when its text is another now."""
    by_chat: dict[str, list[ImportedLine]] = defaultdict(list)
    for line in lines:
        by_chat[line.chat].append(line)
    done = Imported()
    for chat, said in by_chat.items():
        conversation = open_conversation(conn, account, ChatId(chat), "owner", now).id
        done += _import_chat(conn, conversation, said, now, mint)
    return done


def _import_chat(
    conn: Connection, conversation: ConversationId, said: Sequence[ImportedLine], now: Instant, mint: Mint
) -> Imported:
    once = {line.key: line for line in said if line.text.strip()}
    known = known_keys(conn, conversation, once)
    new = sorted((line for key, line in once.items() if key not in known), key=lambda line: line.said_at)
    add_imported(conn, conversation, [_message(line, mint) for line in new], now)
    _note(conn, conversation, new)
    empty = sum(not line.text.strip() for line in said)
    return Imported(len(new), len(said) - len(new) - empty, empty)


def _note(conn: Connection, conversation: ConversationId, new: Iterable[ImportedLine]) -> None:
    stating = [line for line in new if line.who == "person" and statements_of(line.text)]
    ids = ids_of_keys(conn, conversation, [line.key for line in stating]) if stating else {}
    for line in stating:
        note_statements(conn, conversation, ids[line.key], line.text, line.said_at)


def _message(line: ImportedLine, mint: Mint) -> ImportedMessage:
    trace = Trace(mint(Instant(max(line.said_at, 0))))
    return ImportedMessage(line.key, trace, line.who, line.name, _storable(line.text), line.said_at)


def _storable(text: str) -> str:
    """Half a character and NUL cannot be kept by every database."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")
