"""A whole small world around the real bridge: a platform, a provider, a site, a clock, each outliving the bridge.

Time stands still unless `settle` moves it. A restart opens the same folder again.
"""

import asyncio
import atexit
import mmap
import shutil
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TypeVar, TypeVarTuple
from zoneinfo import ZoneInfo

from sqlalchemy import Connection, Engine, event
from sqlalchemy import text as sql

from bridge.answering import Answering
from bridge.channels.contract import Capabilities, Update, UpdateKind
from bridge.deliver import Delivering
from bridge.gateway import Gateway, find_capabilities
from bridge.grant import GrantKeeper
from bridge.instructions import Instructing, carry_out_next
from bridge.memory.index import MemoryIndex
from bridge.store.schema import SCHEMA
from bridge.sync import Syncing
from core.clock import Instant
from core.ids import ChatId, EventKey, SenderId, new_ulid
from core.model.config import ModelConfig
from core.model.roles import model_of
from core.settings import Settings
from core.store import Store, open_store, sqlite_url
from core.store.engine import open_engine
from tests.fakes.messenger import CAPABILITIES, Fate, Platform
from tests.fakes.scripted_model import Does, ScriptedModel
from tests.fakes.site_double import Fault, SiteDouble
from website.owner import pairing
from website.store import pairings
from website.store.schema import SCHEMA as SITE_SCHEMA

from .points import reach

NOON = Instant(1_780_000_000_000)
MEMORY = Path("/dev/shm")
ROUNDS = 400
PEOPLE: dict[str, pairings.Role] = {"ann": "owner", "bob": "guest"}

Args = TypeVarTuple("Args")
T = TypeVar("T")


class Watch:
    """A clock and a counter in memory that a child process shares with its parent."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 16)
        self.set(NOON)

    def now(self) -> Instant:
        return Instant(struct.unpack_from("q", self._memory, 0)[0])

    def set(self, now: int) -> None:
        struct.pack_into("q", self._memory, 0, now)

    def advance(self, ms: int) -> None:
        self.set(self.now() + ms)

    def mint(self, now: Instant) -> str:
        number: int = struct.unpack_from("q", self._memory, 8)[0] + 1
        struct.pack_into("q", self._memory, 8, number)
        return new_ulid(now, lambda length: number.to_bytes(length, "big"))


_compiled: dict[str, Engine] = {}


def share_compiled(name: str, *engines: Engine) -> None:
    """Statements are compiled once for all the children of a process: half of a run's time would go into that."""
    for number, engine in enumerate(engines):
        warm = _compiled.setdefault(f"{name} {number}", engine)
        if warm is not engine:
            engine.dialect, engine._compiled_cache = warm.dialect, warm._compiled_cache


class WatchedStore(Store):
    """The real store, whose transactions and statements are points."""

    def __init__(self, path: Path, name: str, *, statements: bool = False) -> None:
        super().__init__(sqlite_url(path), None, inline=True)
        self._name = name
        self.twice = False
        """Whether every body runs twice, its first run rolled back: so does one of a group whose COMMIT failed."""
        share_compiled(name, self._writing, self._reader._engine)
        if statements:
            event.listen(self._writing, "before_cursor_execute", lambda *_args: reach(f"{name} statement"))

    async def write(self, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        what = getattr(fn, "__name__", "body").strip("_")
        reach(f"{self._name} {what} before")
        await asyncio.sleep(0)
        value: T
        if self.twice:
            value = await super().write(_twice, fn, args)
        else:
            value = await super().write(fn, *args)
        reach(f"{self._name} {what} committed")
        await asyncio.sleep(0)
        return value


def _twice(conn: Connection, fn: Callable[[Connection, *Args], T], args: tuple[*Args]) -> T:
    try:
        with conn.begin_nested():
            fn(conn, *args)
            raise _RolledBack
    except _RolledBack:
        pass
    return fn(conn, *args)


class _RolledBack(Exception):
    """Nothing of the first run may stay."""


@dataclass(frozen=True)
class Script:
    """What the world around the bridge does. All faults are finite, so that every run can come to rest."""

    sends: Sequence[Fate] = ()
    calls: Sequence[Does] = ()
    site: Sequence[Fault] = ()
    capabilities: Capabilities = CAPABILITIES
    settings: dict[str, object] = field(default_factory=dict)
    answer: str = "answer to: {question}"
    retry_after_s: float | None = None


def templates() -> Path:
    """Empty stores of bridge and site, in a folder that the caller removes."""
    folder = Path(mkdtemp(dir=MEMORY if MEMORY.is_dir() else None, prefix="penfriend-crash-"))
    open_store(sqlite_url(folder / "bridge.db"), SCHEMA).close()
    open_store(sqlite_url(folder / "site.db"), SITE_SCHEMA).close()
    engine = open_engine(sqlite_url(folder / "site.db"))
    with engine.connect() as conn:
        for number, (sender, role) in enumerate(PEOPLE.items()):
            place = pairings.Place("fake:bot", sender, sender)
            pairings.add(conn, pairings.Pairing(f"binding-{number}", place, role, sender.title(), NOON, None))
    engine.dispose()
    return folder


def settings_of(folder: Path, chosen: dict[str, object]) -> Settings:
    model = {
        "provider": "openai",
        "base_url": "http://127.0.0.1:1/v1",
        "name": "scripted",
        "api_key": "none",
        "price_input_per_mtok": "1",
        "price_output_per_mtok": "2",
        "max_output_tokens": 200,
        "context_tokens": 60_000,
    }
    plain: dict[str, object] = {
        "data_dir": folder,
        "models": {"default": model},
        "bridge": {"min_free_bytes": 0},
        "budgets": {"chat": {"lease_money": "1"}},
    }
    return Settings.model_validate(_merged(plain, chosen))


def _merged(below: dict[str, object], above: dict[str, object]) -> dict[str, object]:
    merged = dict(below)
    for name, value in above.items():
        before = merged.get(name)
        merged[name] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return merged


class World:
    """`folder` already holds the two stores. One process at a time may open it."""

    def __init__(self, folder: Path, watch: Watch, script: Script = Script(), *, statements: bool = False) -> None:
        self.folder, self.watch, self.script = folder, watch, script
        self.settings = settings_of(folder, script.settings)
        self.config: ModelConfig = model_of(self.settings, "chat")
        self.store = WatchedStore(folder / "bridge.db", "store", statements=statements)
        self.site_store = WatchedStore(folder / "site.db", "site")
        self.platform = Platform(folder, capabilities=script.capabilities, fates=script.sends, reach=reach)
        self.model = ScriptedModel(
            folder, self.config, script.calls, reach=reach, retry_after_s=script.retry_after_s, answer=script.answer
        )
        self.site = SiteDouble(
            folder, self.site_store, self.settings, watch.now, lambda: watch.mint(watch.now()), script.site, reach
        )
        self.gateway = self._gateway()
        self.cursor: str | None = None

    def _gateway(self) -> Gateway:
        mint, clock, settings = self.watch.mint, self.watch.now, self.settings
        memory = MemoryIndex(self.folder / "index", self.store, ZoneInfo(settings.persona.timezone))
        capabilities = find_capabilities([self.platform])
        answering = Answering(self.store, memory, settings, self.model, self.config, clock, mint, capabilities)
        delivering = Delivering(self.store, settings, clock, mint, capabilities)
        return Gateway(
            settings=settings,
            store=self.store,
            memory=memory,
            channels=[self.platform],
            control=self.site,
            answering=answering,
            delivering=delivering,
            grants=GrantKeeper(self.store, self.site, clock, mint, "bridge-1", settings.persona.language),
            syncing=Syncing(self.store, self.site, clock),
            instructing=Instructing(self.store, self.site, delivering, clock),
            clock=clock,
            mint=mint,
        )

    # --- the person ----------------------------------------------------------------------------------------------

    def say(self, text: str | None, key: str | None = None, *, who: str = "ann", **more: object) -> None:
        """Puts a message into the platform. `more` are other fields of `Update`."""
        self.platform.push(self.update(text, key, who=who, **more))

    def update(self, text: str | None, key: str | None = None, *, who: str = "ann", **more: object) -> Update:
        values: dict[str, object] = {
            "event_key": EventKey(key or f"m{len(self.platform.updates) + 1}"),
            "kind": UpdateKind.MESSAGE,
            "chat": ChatId(who),
            "sender": SenderId(who),
            "body": '{"raw": true}',
            "text": text,
            "said_at": self.watch.now(),
            **more,
        }
        return Update(**values)  # type: ignore[arg-type]

    # --- running -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        await self.gateway.start()
        self.cursor = await self.gateway.find_cursor(self.platform)

    async def settle(self, *, rounds: int = ROUNDS) -> None:
        """Runs every step until nothing moves any more, and lets time pass where something waits for it."""
        for _ in range(rounds):
            wait_s = await self.round()
            if self.at_rest():
                return
            self.watch.advance(max(50, int(wait_s * 1000)))

    async def round(self) -> float:
        """One step of every loop; the seconds until the next may do something."""
        gateway = self.gateway
        waits = [await gateway.renew_grant()]
        if await gateway.store.read(_has_grant) and self.platform.has_news(self.cursor):
            self.cursor = await gateway.poll_once(self.platform, self.cursor)
        waits.append(await gateway.answer_due())
        await gateway.answers()
        waits.append(await gateway.answer_due())
        await gateway.answers()
        waits.append(await gateway.deliver(self.platform))
        waits.append(await gateway.sync())
        return min(waits)

    async def follow_instructions(self) -> int:
        return await carry_out_next(self.gateway.instructing, 0)

    def at_rest(self) -> bool:
        busy = any(count != 0 for count in self.rows(AT_REST)[0])
        return not busy and not self.platform.has_news(self.cursor)

    def rows(self, query: str, **values: object) -> list[tuple[object, ...]]:
        """Of the bridge's store."""
        return self.store.read_now(_rows, query, values)

    def site_rows(self, query: str, **values: object) -> list[tuple[object, ...]]:
        return self.site_store.read_now(_rows, query, values)

    def close(self) -> None:
        """Nothing is drained: what a process that was killed leaves behind is the same."""
        self.store.close()
        self.site_store.close()

    def restarted(self, script: Script | None = None) -> "World":
        self.close()
        return World(self.folder, self.watch, script or self.script)

    async def pairing_code(self, code: str = "ABCDEFGH") -> str:
        await self.site_store.write(pairing.keep_code, code, pairing.CodeWish(role="guest"), self.watch.now())
        return code


AT_REST = (
    "SELECT (SELECT count(*) FROM turns t JOIN conversations c ON c.id = t.conversation_id WHERE c.paused = 0 AND "
    "t.phase IN ('ready', 'composing', 'calling', 'waiting_grant')), "
    "(SELECT count(*) FROM parts WHERE state IN ('intent', 'sending')), "
    "(SELECT count(*) FROM sync_records WHERE synced_at_ms IS NULL)"
)


def _rows(conn: Connection, query: str, values: dict[str, object]) -> list[tuple[object, ...]]:
    return [tuple(row) for row in conn.execute(sql(query), values)]


def _has_grant(conn: Connection) -> bool:
    return int(conn.execute(sql("SELECT count(*) FROM grants")).scalar_one()) == 1


@cache
def shared_templates() -> Path:
    folder = templates()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@asynccontextmanager
async def a_world(tmp_path: Path, script: Script = Script()) -> AsyncIterator[World]:
    """A started one, closed at the end."""
    world = World(copied(shared_templates(), tmp_path / "world"), Watch(), script)
    await world.start()
    try:
        yield world
    finally:
        world.close()


def copied(template: Path, into: Path) -> Path:
    into.mkdir(parents=True)
    for name in ("bridge.db", "site.db"):
        shutil.copyfile(template / name, into / name)
    return into
