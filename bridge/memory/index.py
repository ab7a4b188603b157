"""Keeps the lexical index behind the messages of the store, and recalls from it.

The index is derived, so nothing here is ever fatal: when it is lost or damaged `failure` says why, recall finds nothing,
the chat goes on with recent turns and preferences, and a new index is built in the background and put in its place.
Erased words surely leave the index files with a rebuild only, so an erasure asks for one too.
"""

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

from core.errors import StoreError
from core.lexical.committer import Committer
from core.lexical.entry import Entry, LexicalError, LexicalLocked
from core.lexical.index import LexicalIndex, prepare_rebuild, swap_rebuilt
from core.store import Store

from ..store.messages import Message, changed_messages
from .recall import Recalled, RecallQuery, recall
from .related import StoredFacts, entry_of

IDLE_S = 2.0
"""How long a change waits at most until it is in the index, where nobody asks before."""

MEND_EVERY_S = 30.0


@dataclass
class _Open:
    """An index open for writing, the thread that commits it, and how far the store's changes are in it."""

    index: LexicalIndex
    committer: Committer
    fed: int


class MemoryIndex:
    """A context manager: leaving it commits what is in memory."""

    def __init__(self, path: Path, store: Store, zone: ZoneInfo, *, mend_every_s: float = MEND_EVERY_S) -> None:
        self._path = path
        self._store = store
        self._zone = zone
        self._open: _Open | None = None
        self._feeding = asyncio.Lock()
        self._mend_every_s = mend_every_s
        self._mend_at = 0.0
        self._mending: asyncio.Task[None] | None = None
        self._rebuilding = asyncio.Lock()
        self._swapping = threading.Lock()
        self._left = False
        self.failure: LexicalError | None = None

    def __enter__(self) -> "MemoryIndex":
        self._enter_index()
        return self

    def __exit__(self, *_: object) -> None:
        with self._swapping:
            self._left = True  # a rebuild in hand gives up; the next start feeds or rebuilds what is missing
            self._leave_index()

    def _enter_index(self) -> None:
        try:
            index = LexicalIndex.open(self._path, writable=True)
            committer = Committer(index)
            committer.__enter__()
            self._open = _Open(index, committer, index.cursor())
            self.failure = None
        except LexicalError as problem:
            self.failure = problem

    def _leave_index(self) -> None:
        opened, self._open = self._open, None
        if opened is None:
            return
        opened.committer.__exit__(None, None, None)
        with contextlib.suppress(LexicalError):  # what it could not keep is fed again from the store
            opened.index.close()

    # --- following the store -------------------------------------------------------------------------------------

    async def keep_up(self) -> float:
        """One step of the gateway's loop: feeds what changed, mends what is broken, forgets for good what was erased."""
        await self.catch_up()
        if self._mark.exists() and self._mending is None:
            self._start_mending()
        return IDLE_S

    async def catch_up(self) -> None:
        """Feeds every change the store has, so that an accepted message is findable at once."""
        async with self._feeding:
            self._notice_loss()
            if self._open is not None:
                try:
                    await self._feed(self._open)
                except LexicalError as problem:
                    self._fail(problem)
        if self.failure is not None:
            self._mend_soon()

    async def _feed(self, opened: _Open) -> None:
        while changed := await self._store.read(changed_messages, opened.fed):
            await asyncio.get_running_loop().run_in_executor(None, self._feed_all, opened, changed)

    def _feed_all(self, opened: _Open, changed: Sequence[Message]) -> None:
        for message in changed:
            if message.deleted:
                if opened.index.forget(message.id) and not message.text:
                    self._mark.touch()  # a file, because a crash must not lose the rebuild that an erasure asks for
            else:
                opened.index.add(entry_of(message, self._zone))
        opened.fed = changed[-1].change
        opened.committer.changed()

    def _notice_loss(self) -> None:
        """Deleted files stay readable to who has them open, so a loss shows only by looking."""
        if self._open is None:
            return
        if self._open.committer.failure is not None:
            self._fail(self._open.committer.failure)
        elif not (self._path / "meta.json").is_file():
            self._fail(LexicalError(f"the index in {self._path} is gone: a new one is being built from the messages"))

    def _fail(self, problem: LexicalError) -> None:
        self.failure = problem
        self._leave_index()

    # --- recalling -----------------------------------------------------------------------------------------------

    async def recall(self, query: RecallQuery) -> Recalled:
        """What the messages say about it; nothing, when the index cannot be used just now."""
        await self.catch_up()
        if self._open is None:
            return Recalled((), nothing_found=True)
        try:
            return await asyncio.get_running_loop().run_in_executor(None, self._recall, self._open.index, query)
        except LexicalError as problem:
            self._fail(problem)
            self._mend_soon()
            return Recalled((), nothing_found=True)

    def _recall(self, index: LexicalIndex, query: RecallQuery) -> Recalled:
        return recall(index, StoredFacts(self._store.read_now), query)

    # --- rebuilding ----------------------------------------------------------------------------------------------

    def _mend_soon(self) -> None:
        loop = asyncio.get_running_loop()
        if self._mending is None and not self._rebuilding.locked() and loop.time() >= self._mend_at:
            self._mend_at = loop.time() + self._mend_every_s
            self._start_mending()

    def _start_mending(self) -> None:
        self._mending = asyncio.create_task(self._mend())
        self._mending.add_done_callback(self._mended)

    def _mended(self, _: "asyncio.Task[None]") -> None:
        self._mending = None

    async def _mend(self) -> None:
        if isinstance(self.failure, LexicalLocked):
            self._enter_index()  # its other writer may have left; what it wrote is good
            return
        try:
            await self.rebuild()
        except (LexicalError, StoreError, OSError) as problem:
            self.failure = LexicalError(f"the index in {self._path} could not be built anew ({problem})")

    async def rebuild(self) -> None:
        """Builds a new index from the messages while the old one still answers, then puts it in the old one's place.

        Errors: LexicalError, StoreError, OSError. What was erased has left the index files when this returns.
        """
        loop = asyncio.get_running_loop()
        async with self._rebuilding:
            await self.catch_up()  # an erasure so far is in what is built
            self._mark.unlink(missing_ok=True)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            await loop.run_in_executor(None, prepare_rebuild, self._path, self._all_entries())
            async with self._feeding:
                await loop.run_in_executor(None, self._swap)
        await self.catch_up()
        await self._store.empty_log()

    def _swap(self) -> None:
        with self._swapping:
            if not self._left:
                self._leave_index()
                swap_rebuilt(self._path)
                self._enter_index()

    @property
    def _mark(self) -> Path:
        return self._path.with_name(f"{self._path.name}.erased")

    def _all_entries(self) -> Iterator[Entry]:
        """In pages, each its own short read; what changes meanwhile has a higher change number and is fed afterwards."""
        after = 0
        while page := self._store.read_now(changed_messages, after):
            if self._left:
                raise LexicalError("the program is stopping")
            yield from (entry_of(message, self._zone) for message in page if not message.deleted)
            after = page[-1].change

    def ask_for_rebuild(self) -> None:
        """The next `keep_up` begins one."""
        self._mark.touch()

    async def settle(self) -> None:
        """Everything the store has is committed to the index when this returns: for commands that end at once."""
        await self.catch_up()
        if self._open is not None:
            await asyncio.get_running_loop().run_in_executor(None, self._open.index.commit)
