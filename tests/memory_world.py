"""A bridge's memory over a real store and a real index: talk is put in, asked about, and looked at from outside."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from sqlalchemy import Connection
from sqlalchemy import text as sql

from bridge.compose import Composed, compose_for, imagine_situation
from bridge.memory.import_formats import ImportedLine, Who
from bridge.memory.imports import Imported, import_page
from bridge.memory.index import MemoryIndex
from bridge.memory.preferences import note_statements
from bridge.memory.scopes import IMPORTED
from bridge.store.conversations import open_conversation
from bridge.store.messages import NewMessage, Speaker, add_message
from bridge.store.schema import SCHEMA
from core.clock import Instant, instant_of
from core.ids import Account, ChatId, ConversationId, Trace, new_ulid
from core.model.roles import model_of
from core.settings import Settings
from core.store import Store, open_store
from core.store.engine import sqlite_url

SHANGHAI = ZoneInfo("Asia/Shanghai")
START = datetime(2026, 1, 5, 9, tzinfo=SHANGHAI)


def after(**passed: int) -> Instant:
    return instant_of(START + timedelta(**passed))


class MemoryWorld:
    """`me` is the owner's console conversation."""

    def __init__(self, folder: Path, store: Store, index: MemoryIndex) -> None:
        self.folder, self.store, self.index = folder, store, index
        self.settings = Settings(data_dir=folder)
        self.me = ConversationId(0)

    async def say(self, text: str, at: Instant, *, who: Speaker = "person", where: ConversationId | None = None) -> str:
        """The trace of the message, which is accepted as the bridge accepts one."""
        trace = Trace(new_ulid(at))
        await self.store.write(_say, where or self.me, trace, text, at, who)
        return trace

    async def open(self, account: str, chat: str, role: str = "owner") -> ConversationId:
        return await self.store.write(_open, account, chat, role)

    async def import_(self, lines: Sequence[ImportedLine], account: Account = IMPORTED) -> Imported:
        return await self.store.write(import_page, account, lines, after(days=400), new_ulid)

    async def ask(self, text: str, at: Instant, where: ConversationId | None = None) -> Composed:
        """What the model would be told if the person said this now."""
        situation = await self.store.read(imagine_situation, where or self.me, text, at)
        config = model_of(self.settings, "chat")
        composed = await compose_for(self.store, self.index, self.settings, config, situation, at)
        assert isinstance(composed, Composed)
        return composed

    async def stated(self, at: Instant) -> list[str]:
        return [record.text for record in (await self.ask("…", at)).material.preferences]

    async def scalar(self, query: str) -> object:
        return await self.store.read(_scalar, query)

    def files_hold(self, words: str) -> list[str]:
        """Files under the data folder in which these words stand in plain bytes."""
        wanted = words.encode()
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return [path.name for path in files if wanted in path.read_bytes()]


@asynccontextmanager
async def a_memory(folder: Path) -> AsyncIterator[MemoryWorld]:
    async with open_store(sqlite_url(folder / "bridge.db"), SCHEMA) as store:
        with MemoryIndex(folder / "index" / "memory", store, SHANGHAI, mend_every_s=0.05) as index:
            world = MemoryWorld(folder, store, index)
            world.me = await world.open("console:local", "console")
            yield world


def line(
    number: int, text: str, at: Instant, who: Who = "person", chat: str = "old", name: str | None = None
) -> ImportedLine:
    return ImportedLine(chat, str(number), who, name, text, at)


def _say(conn: Connection, where: ConversationId, trace: Trace, text: str, at: Instant, who: Speaker) -> None:
    message = add_message(conn, NewMessage(trace, where, who, text, at, at))
    if who == "person":
        note_statements(conn, where, message, text, at)


def _open(conn: Connection, account: str, chat: str, role: str) -> ConversationId:
    assert role in ("owner", "guest")
    known = "owner" if role == "owner" else "guest"
    return open_conversation(conn, Account(account), ChatId(chat), known, Instant(0)).id  # type: ignore[arg-type]


def _scalar(conn: Connection, query: str) -> object:
    return conn.execute(sql(query)).scalar_one()
