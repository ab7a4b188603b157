"""Memory read from beside a running bridge, or with none running: the store's file and the committed index, no writer."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar, TypeVarTuple

from sqlalchemy import Connection

from core.errors import StoreBroken
from core.lexical.index import LexicalIndex
from core.store.engine import open_engine
from core.store.reading import Reader

from .recall import Recalled, RecallQuery, recall
from .related import StoredFacts

Args = TypeVarTuple("Args")
T = TypeVar("T")


class Reads(Protocol):
    async def read(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T: ...


class Recalls(Protocol):
    async def recall(self, query: RecallQuery) -> Recalled: ...


class ReadOnlyMemory:
    """`Reads` and `Recalls`; a context manager. What the running bridge accepted in the last seconds may be missing.

    Errors: LexicalError when there is no index, StoreError when there is no store.
    """

    def __init__(self, url: str, index: Path) -> None:
        self._reader = Reader(open_engine(url, read_only=True), on_damage=_told_to_the_reader)
        self._index = LexicalIndex.open(index, writable=False)

    def __enter__(self) -> "ReadOnlyMemory":
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()
        self._index.close()

    def read_now(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        return self._reader.read(fn, *args)

    async def read(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        return self._reader.read(fn, *args)

    def recall_now(self, query: RecallQuery) -> Recalled:
        return recall(self._index, StoredFacts(self.read_now), query)

    async def recall(self, query: RecallQuery) -> Recalled:
        return self.recall_now(query)


def _told_to_the_reader(_damage: StoreBroken) -> None:
    """The error itself reaches the caller; here is no writer to stop."""
