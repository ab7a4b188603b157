"""Between recall, which knows ids, and the messages of the store: facts for it, entries of the index, records of hits."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from core.lexical.entry import Entry

from ..store.messages import Message, facts_of, messages_by_id
from .pack import Record
from .recall import MessageFact, RecallHit
from .sessions import message_entry

NAMES = {"person": "you", "persona": "me", "other": ""}

CHANGED_SINCE = "_and_changed_since"
"""Ends the kind of a record whose statement the person has replaced."""

ReadFacts = Callable[
    [Callable[[Connection, Sequence[int]], dict[int, MessageFact]], Sequence[int]], dict[int, MessageFact]
]


class StoredFacts:
    """`MessageFacts` over the store: two statements a question, each by primary key and along one index."""

    def __init__(self, read: ReadFacts) -> None:
        self._read = read

    def of(self, ids: Sequence[int]) -> Mapping[int, MessageFact]:
        return self._read(facts_of, ids) if ids else {}


def entry_of(message: Message, zone: ZoneInfo) -> Entry:
    return message_entry(
        seq=message.change,
        message_id=message.id,
        scope=str(message.conversation),
        name=message.name or NAMES[message.speaker],
        text=message.text,
        at=message.said_at,
        zone=zone,
        session=message.session,
        person=message.speaker == "person",
    )


def records_of_hits(conn: Connection, hits: Iterable[RecallHit], superseded: frozenset[int]) -> list[Record]:
    """Best first. `superseded` are messages whose statement the person has changed since: they are told as such."""
    found = {hit.id: hit for hit in hits}
    rows = {int(key): message for key, message in messages_by_id(conn, found).items()}
    return [
        record_of(rows[at], _kind(rows[at], superseded), {"score": hit.score, **hit.parts})
        for at, hit in found.items()
        if at in rows and not rows[at].deleted
    ]


def _kind(message: Message, superseded: frozenset[int]) -> str:
    kind = f"said_before{CHANGED_SINCE}" if message.id in superseded else "said_before"
    return f"imported_{kind}" if message.imported else kind


def record_of(message: Message, kind: str, why: Mapping[str, float]) -> Record:
    return Record(message.trace, kind, message.speaker, message.said_at, message.text, why)
