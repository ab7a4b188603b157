"""Keeps the lexical index behind the messages of the store, and recalls from it.

The index is derived: when it is lost or damaged the chat goes on with recent turns, `failure` says why, and
`penfriend memory reindex` builds it anew.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from core.clock import Instant
from core.ids import ConversationId
from core.lexical.committer import Committer
from core.lexical.entry import Entry, LexicalError
from core.lexical.index import LexicalIndex
from core.store import Store

from ..store.messages import Message, changed_messages, facts_of, messages_by_id
from .pack import Record
from .recall import MessageFact, Recalled, RecallQuery, recall
from .sessions import message_entry

NAMES = {"person": "you", "persona": "me", "other": ""}


class MemoryIndex:
    """A context manager: leaving it commits what is in memory."""

    def __init__(self, path: Path, store: Store, zone: ZoneInfo) -> None:
        self._path = path
        self._store = store
        self._zone = zone
        self._fed = 0
        self._index: LexicalIndex | None = None
        self._committer: Committer | None = None
        self._feeding = asyncio.Lock()
        self.failure: LexicalError | None = None

    def __enter__(self) -> "MemoryIndex":
        try:
            self._index = LexicalIndex.open(self._path, writable=True)
            self._fed = self._index.cursor()
            self._committer = Committer(self._index)
            self._committer.__enter__()
        except LexicalError as problem:
            self.failure = problem
        return self

    def __exit__(self, *_: object) -> None:
        if self._committer:
            self._committer.__exit__(None, None, None)
        if self._index:
            self._index.close()

    async def catch_up(self) -> None:
        """Feeds every change the store has, so that an accepted message is findable at once."""
        if self._index is None:
            return
        async with self._feeding:
            while changed := await self._store.read(changed_messages, self._fed):
                self._feed(self._index, changed)
                self._fed = changed[-1].change

    def _feed(self, index: LexicalIndex, changed: Sequence[Message]) -> None:
        for message in changed:
            if message.deleted:
                index.forget(message.id)
            else:
                index.add(entry_of(message, self._zone))
        if self._committer:
            self._committer.changed()

    async def related(
        self, conversation: ConversationId, text: str, previous: Sequence[str], at: Instant, before: int, most: int
    ) -> list[Record]:
        """Old messages of this conversation that the text is about, best first; empty when nothing is near enough."""
        await self.catch_up()
        if self._index is None:
            return []
        query = RecallQuery(
            text=text,
            scope=str(conversation),
            at=at,
            zone=self._zone,
            previous=tuple(previous),
            limit=most,
            before_id=before,
        )
        try:
            found = await asyncio.get_running_loop().run_in_executor(None, self._recall, self._index, query)
        except LexicalError as problem:
            self.failure = problem
            return []
        return await self._records(found)

    def _recall(self, index: LexicalIndex, query: RecallQuery) -> Recalled:
        return recall(index, _Facts(self._store), query)

    async def _records(self, found: Recalled) -> list[Record]:
        rows = await self._store.read(messages_by_id, [hit.id for hit in found.hits])
        known = {int(key): message for key, message in rows.items()}
        return [
            record_of(known[hit.id], "said_before", {"score": hit.score, **hit.parts})
            for hit in found.hits
            if hit.id in known and not known[hit.id].deleted
        ]


class _Facts:
    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, ids: Sequence[int]) -> Mapping[int, MessageFact]:
        return self._store.read_now(facts_of, ids)


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


def record_of(message: Message, kind: str, why: Mapping[str, float]) -> Record:
    return Record(message.trace, kind, message.speaker, message.said_at, message.text, why)
