"""A digest worker between the site's real control API and a scripted model, all over loopback."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

import uvicorn
from litestar import Litestar
from litestar.di import Provide
from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.clock import Clock, Instant, instant_of, system_clock
from core.control.client import ControlClient
from core.control.keys import ensure_keys, load_keys
from core.control.messages import SaidRecord, SyncBatch
from core.control.signing import Scope, current_key
from core.model.provider import open_model
from core.model.roles import model_of
from core.settings import Budgets, Control, Digest, DigestPool, Model, Models, Persona, Settings
from core.store import Store, open_store
from digest.ask import Terms
from digest.rounds import Worker
from website.parts import Parts
from website.routes.control import control_router
from website.store import claims, digests
from website.store.claims import Claimed
from website.store.digests import DigestDraft
from website.store.schema import SCHEMA

SHANGHAI = ZoneInfo("Asia/Shanghai")
EVENING = instant_of(datetime(2026, 3, 5, 21, 0, tzinfo=SHANGHAI))
SLOT = "2026-03-05 21:30"

Language = Literal["zh", "en"]
TALK: Mapping[Language, tuple[str, str]] = {
    "en": (
        "I ran 12 km along the lake with Alice today. Slow is fine.",
        "The evening light by the lake must be lovely.",
    ),
    "zh": ("今天和王小明在西湖边跑了12公里。慢慢来也挺好。", "傍晚的湖边一定特别好看。"),
}


@dataclass
class Hand:
    """A clock that a test turns."""

    now: Instant = EVENING

    def __call__(self) -> Instant:
        return self.now

    def turn(self, minutes: int) -> None:
        self.now = Instant(self.now + minutes * 60_000)


@dataclass
class World:
    settings: Settings
    store: Store
    clock: Clock
    url: str
    said: int = 0
    workers: list[Worker] = field(default_factory=list)

    def control(self, scope: Scope, url: str = "") -> ControlClient:
        key = current_key(load_keys(self.settings.secrets_dir, (scope,)), scope, self.clock() // 1000)
        return ControlClient(url or self.url, key, self.clock)

    async def say(self, *lines: str, answer: str | None = None, heard: bool = True, hours_ago: int = 1) -> str:
        """One turn: what the owner wrote in `lines` and, if there is one, the persona's answer. Gives the turn's id."""
        self.said += 1
        turn, at = f"turn-{self.said}", self.clock() - hours_ago * 3_600_000 + self.said * 1000
        told = [("person", line, True) for line in lines] + ([("persona", answer, heard)] if answer else [])
        records = [
            SaidRecord(
                key=f"{turn}/{number}",
                turn=turn,
                conversation="c1",
                account="console:owner",
                role="owner",
                speaker="person" if who == "person" else "persona",
                text=text,
                said_at_ms=at + number,
                heard=reached,
            )
            for number, (who, text, reached) in enumerate(told)
        ]
        async with self.control("bridge") as bridge:
            await bridge.sync(SyncBatch(records=tuple(records)))
        return turn

    async def forget(self, key: str) -> None:
        """What the bridge tells when a message was forgotten."""
        turn = key.partition("/")[0]
        gone = SaidRecord(
            key=key,
            turn=turn,
            conversation="c1",
            account="console:owner",
            role="owner",
            speaker="person",
            text="",
            said_at_ms=self.clock(),
            version=2,
            deleted=True,
        )
        async with self.control("bridge") as bridge:
            await bridge.sync(SyncBatch(records=(gone,)))

    def worker(self) -> Worker:
        config = model_of(self.settings, "digest")
        made = Worker(
            self.control("digest"),
            open_model(config),
            Terms(self.settings.persona.name, SHANGHAI, config),
            self.settings.digest,
            self.clock,
            asyncio.Event(),
        )
        self.workers.append(made)
        return made

    async def drafts(self) -> tuple[DigestDraft, ...]:
        return await self.store.read(digests.in_states, ("waiting",))

    async def claims(self) -> tuple[Claimed, ...]:
        return await self.store.read(claims.newest)

    async def slot_state(self, slot: str = SLOT) -> str:
        found = await self.store.read(claims.slot, slot)
        return found.state if found else ""

    async def rows(self, table: str) -> list[dict[str, object]]:
        def read(conn: Connection) -> list[dict[str, object]]:
            return [{**row} for row in conn.execute(sql(f"SELECT * FROM {table}")).mappings()]

        return await self.store.read(read)

    async def run_program(self, *arguments: str, **environ: str) -> asyncio.subprocess.Process:
        """`python -m digest` with this world's settings in its environment."""
        model = self.settings.models.default
        told = {
            "PENFRIEND_DATA_DIR": str(self.settings.data_dir),
            "PENFRIEND_CONTROL__URL": self.url,
            "PENFRIEND_MODELS__DEFAULT__PROVIDER": model.provider or "offline",
            "PENFRIEND_MODELS__DEFAULT__BASE_URL": model.base_url or "",
            "PENFRIEND_MODELS__DEFAULT__NAME": model.name or "",
        }
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-W",
            "error",
            "-m",
            "digest",
            *arguments,
            env={**os.environ, **told, **environ},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )


@asynccontextmanager
async def a_world(
    folder: Path,
    *,
    language: Language = "en",
    model_url: str = "",
    clock: Clock | None = None,
    schedule: Digest | None = None,
    context_tokens: int | None = None,
) -> AsyncIterator[World]:
    settings = _settings(folder, language, model_url, schedule, context_tokens)
    clock = clock or system_clock
    ensure_keys(settings.secrets_dir, clock())
    async with open_store(settings.site_db_url, SCHEMA) as store:
        parts = Parts(settings, store, clock, os.urandom)
        async with _served(parts) as url:
            settings = settings.model_copy(update={"control": Control(url=url)})
            world = World(settings, store, clock, url)
            try:
                yield world
            finally:
                for worker in world.workers:
                    await worker.control.__aexit__(None, None, None)
                    await worker.model.aclose()


def _settings(
    folder: Path, language: Language, model_url: str, schedule: Digest | None, context_tokens: int | None
) -> Settings:
    model = Model(
        provider="openai" if model_url else "offline",
        base_url=model_url or None,
        name="scripted",
        context_tokens=context_tokens,
        price_input_per_mtok=Decimal(1),
        price_output_per_mtok=Decimal(2),
    )
    return Settings(
        data_dir=folder / "data",
        persona=Persona(name="Ada", language=language),
        models=Models(default=model),
        budgets=Budgets(digest=DigestPool(requests_per_minute=100)),
        digest=schedule or Digest(at=(time(21, 30),)),
    )


@asynccontextmanager
async def _served(parts: Parts) -> AsyncIterator[str]:
    app = Litestar(
        [control_router(parts)],
        dependencies={"parts": Provide(lambda: parts, sync_to_thread=False)},
        openapi_config=None,
        logging_config=None,
    )
    config = uvicorn.Config(app, host="127.0.0.1", port=0, access_log=False, log_config=None, lifespan="off")
    server = uvicorn.Server(config)
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def away_for(url: str, requests: int) -> AsyncIterator[str]:
    """The site behind a door that hangs up on the first `requests` connections, and then passes everything on."""
    host, port = url.removeprefix("http://").split(":")
    refused: list[asyncio.StreamWriter] = []

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(refused) < requests:
            refused.append(writer)
            writer.close()
            return
        there, back = await asyncio.open_connection(host, int(port))
        await asyncio.gather(_copy(reader, back), _copy(there, writer))

    async with await asyncio.start_server(pass_on, "127.0.0.1", 0) as door:
        yield f"http://127.0.0.1:{door.sockets[0].getsockname()[1]}"


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()


def answer(language: Language, **changes: object) -> str:
    """What an honest model makes of `TALK` as the first turn of a batch."""
    honest: dict[Language, dict[str, object]] = {
        "en": {
            "title": "A Slow Evening Run",
            "facts": [
                {"statement": "The owner ran 12 km along the lake with Alice.", "source_ids": ["s1"], "who": "owner"}
            ],
            "reflections": ["Perhaps the pace matters less than the evening light."],
            "open_threads": [{"statement": "Will there be another run with Alice?", "source_ids": ["s1"]}],
        },
        "zh": {
            "title": "西湖边的慢跑",
            "facts": [{"statement": "主人和王小明在西湖边跑了12公里。", "source_ids": ["s1"], "who": "owner"}],
            "reflections": ["也许比速度更重要的，是傍晚的湖边。"],
            "open_threads": [{"statement": "下次还和王小明一起跑吗？", "source_ids": ["s1"]}],
        },
    }
    return json.dumps(honest[language] | changes, ensure_ascii=False)
