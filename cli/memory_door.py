"""How memory commands reach the store: through the running bridge, or with its lock when none runs; reading needs neither.

A command that reads brings the index up to date first if it can have the lock, and then reads what is committed.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from bridge.memory.desk import MemoryDesk
from bridge.memory.index import MemoryIndex
from bridge.memory.reading import ReadOnlyMemory
from bridge.store.schema import SCHEMA
from core.clock import system_clock
from core.errors import StoreLocked
from core.ids import new_ulid
from core.lexical.entry import LexicalLocked
from core.settings import Settings
from core.store import open_store


@dataclass(frozen=True)
class HeldMemory:
    """The store and its index, written by this command alone."""

    desk: MemoryDesk
    index: MemoryIndex


@asynccontextmanager
async def held(settings: Settings) -> AsyncIterator[HeldMemory | None]:
    """None when a bridge runs: then it has to be asked."""
    try:
        store = open_store(settings.bridge_db_url, SCHEMA)
    except StoreLocked:
        yield None
        return
    async with store:
        zone = ZoneInfo(settings.persona.timezone)
        with MemoryIndex(settings.data_dir / "index" / "memory", store, zone) as index:
            yield HeldMemory(MemoryDesk(store, system_clock, new_ulid), index)


async def settle(index: MemoryIndex) -> None:
    """Every message is in the committed index when this returns; a broken index is built anew."""
    await index.settle()
    if index.failure is not None and not isinstance(index.failure, LexicalLocked):
        await index.rebuild()
        await index.settle()


@asynccontextmanager
async def readable(settings: Settings) -> AsyncIterator[ReadOnlyMemory]:
    async with held(settings) as mine:
        if mine is not None:
            await settle(mine.index)
    with ReadOnlyMemory(settings.bridge_db_url, settings.data_dir / "index" / "memory") as memory:
        yield memory
