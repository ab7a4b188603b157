"""Real processes, killed with SIGKILL at random moments of a conversation. What the platform and the provider wrote down
is the truth: every answer at most once, every message answered or told, and money within the ledger.

Twelve kills by default; `RANDOM_KILLS=200 RANDOM_KILLS_MESSAGES=100` for the long run, `RANDOM_KILLS_SEED` for a repeat.
"""

import asyncio
import json
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from core.clock import system_clock
from core.control.keys import ensure_keys
from core.store import open_store, sqlite_url
from core.store.engine import open_engine
from website.store import pairings
from website.store.schema import SCHEMA as SITE_SCHEMA

from .crash.invariants import FROM_STORES, Evidence
from .crash.scenarios import ONE
from .fakes.model_server import ModelServer, Step
from .fakes.telegram_server import TOKEN, TelegramServer
from .installation import ROOT, answers, free_port

KILLS = int(os.environ.get("RANDOM_KILLS", "12"))
MESSAGES = int(os.environ.get("RANDOM_KILLS_MESSAGES", "12"))
SEED = int(os.environ.get("RANDOM_KILLS_SEED", str(random.SystemRandom().randrange(10**6))))
PROGRAMS = ("website", "bridge")
LONGEST_LIFE_S = 1.5
REST_S = 60.0

QUIET = (
    "SELECT (SELECT count(*) FROM turns WHERE phase IN ('ready', 'composing', 'calling', 'waiting_grant', 'replied')) + "
    "(SELECT count(*) FROM parts WHERE state IN ('intent', 'sending')) + "
    "(SELECT count(*) FROM sync_records WHERE synced_at_ms IS NULL)"
)


class Home:
    """An installation whose two programs are started again whenever they end."""

    def __init__(self, folder: Path, telegram: TelegramServer, model: ModelServer) -> None:
        self.folder, self.data = folder, folder / "data"
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.kills: Counter[str] = Counter()
        bridge_port = free_port()
        self.bridge = f"http://127.0.0.1:{bridge_port}"
        own = {
            "PENFRIEND_DATA_DIR": str(self.data),
            "PENFRIEND_SITE__PORT": str(free_port()),
            "PENFRIEND_BRIDGE__PORT": str(bridge_port),
            "PENFRIEND_BRIDGE__MERGE_WINDOW_MS": "50",
            "PENFRIEND_BRIDGE__MIN_FREE_BYTES": "0",
            "PENFRIEND_CHANNELS__CONSOLE__ENABLED": "false",
            "PENFRIEND_CHANNELS__TELEGRAM__ENABLED": "true",
            "PENFRIEND_CHANNELS__TELEGRAM__TOKEN": TOKEN,
            "PENFRIEND_CHANNELS__TELEGRAM__BASE_URL": telegram.base_url,
            "PENFRIEND_MODELS__DEFAULT__PROVIDER": "openai",
            "PENFRIEND_MODELS__DEFAULT__BASE_URL": model.base_url,
            "PENFRIEND_MODELS__DEFAULT__NAME": "echo",
            "PENFRIEND_MODELS__DEFAULT__PRICE_INPUT_PER_MTOK": "1",
            "PENFRIEND_MODELS__DEFAULT__PRICE_OUTPUT_PER_MTOK": "2",
            "PENFRIEND_MODELS__DEFAULT__MAX_OUTPUT_TOKENS": "16000",
            "PENFRIEND_MODELS__DEFAULT__CONTEXT_TOKENS": "128000",
            "PENFRIEND_BUDGETS__CHAT__REQUESTS_PER_MINUTE": "100000",
            "PENFRIEND_BUDGETS__CHAT__REQUESTS_PER_DAY": "1000000",
            "PENFRIEND_BUDGETS__CHAT__TOKENS_PER_DAY": "100000000",
            "PENFRIEND_BUDGETS__CHAT__CONCURRENCY": "1000",
            "PENFRIEND_BUDGETS__CHAT__OUTPUT_TOKENS": "16000",
            "PENFRIEND_BUDGETS__CHAT__ANOMALY_FLOOR_TOKENS": "100000000",
            "PYTHONPATH": str(ROOT),
        }
        outer = {name: value for name, value in os.environ.items() if not name.startswith("PENFRIEND_")}
        self._env = {**outer, **own}

    def prepare(self) -> None:
        """Keys, and the one person who writes."""
        ensure_keys(self.data / "secrets", system_clock())
        open_store(sqlite_url(self.data / "site.db"), SITE_SCHEMA).close()
        engine = open_engine(sqlite_url(self.data / "site.db"))
        with engine.connect() as conn:
            place = pairings.Place("telegram:7301", "42", "42")
            pairings.add(conn, pairings.Pairing("ann", place, "owner", "Ann", system_clock(), None))
        engine.dispose()

    def start(self, program: str) -> None:
        with (self.folder / f"{program}.log").open("ab") as log:
            self.running[program] = subprocess.Popen(
                [sys.executable, "-m", program], cwd=self.folder, env=self._env, stdout=log, stderr=log
            )

    def kill(self, program: str) -> None:
        self.running[program].kill()
        self.running[program].wait()
        self.kills[program] += 1

    def stop(self) -> dict[str, int]:
        """In order; the exit codes."""
        for process in self.running.values():
            process.send_signal(signal.SIGTERM)
        return {program: process.wait(40) for program, process in self.running.items()}

    def ask(self, query: str) -> list[tuple[object, ...]]:
        try:
            with closing(sqlite3.connect(f"file:{self.data / 'bridge.db'}?mode=ro", uri=True, timeout=5)) as conn:
                return list(conn.execute(query))
        except sqlite3.OperationalError:
            return []

    def tail(self) -> str:
        return "\n".join((self.folder / f"{program}.log").read_text()[-1500:] for program in PROGRAMS)


@asynccontextmanager
async def a_home(tmp_path: Path) -> AsyncIterator[tuple[Home, TelegramServer, ModelServer]]:
    chance = random.Random(SEED)
    slow = [Step("answer", delay_s=chance.choice((0.0, 0.1, 0.4))) for _ in range(MESSAGES * 3)]
    async with (
        TelegramServer(tmp_path / "telegram.log") as telegram,
        ModelServer(slow, log=tmp_path / "model.log") as model,
    ):
        home = Home(tmp_path, telegram, model)
        home.prepare()
        for program in PROGRAMS:
            home.start(program)
        try:
            yield home, telegram, model
        finally:
            for process in home.running.values():
                process.kill()
                process.wait()


async def talk_and_kill(home: Home, telegram: TelegramServer, chance: random.Random) -> None:
    """Most kills come shortly after a message that a running bridge is at work with; some hit a program that starts."""
    said = 0
    for number in range(1, KILLS + 1):
        if chance.random() < 0.75:
            await until_ready(home)
        while said < MESSAGES * number // KILLS:
            telegram.say(f"q{said:03}")
            said += 1
        program = chance.choice(("bridge", "bridge", "bridge", "website"))
        await asyncio.sleep(chance.uniform(0.0, LONGEST_LIFE_S))
        await asyncio.to_thread(home.kill, program)
        home.start(program)


async def until_ready(home: Home) -> None:
    async with asyncio.timeout(REST_S):
        while not await asyncio.to_thread(answers, f"{home.bridge}/readyz"):
            await asyncio.sleep(0.05)


async def come_to_rest(home: Home, telegram: TelegramServer) -> None:
    await until_ready(home)
    async with asyncio.timeout(REST_S):
        quiet = 0
        while quiet < 4:
            await asyncio.sleep(0.3)
            dead = [program for program, process in home.running.items() if process.poll() is not None]
            assert not dead, f"{dead} ended by itself:\n{home.tail()}"
            quiet = quiet + 1 if not telegram.queue and home.ask(QUIET) == [(0,)] else 0


async def test_no_kill_at_any_moment_doubles_loses_or_overspends(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(SEED)
    async with a_home(tmp_path) as (home, telegram, model):
        await talk_and_kill(home, telegram, chance)
        await come_to_rest(home, telegram)
        codes = await asyncio.to_thread(home.stop)
        asked = model.asked

    with capsys.disabled():
        print(
            f"\nseed {SEED}: {dict(home.kills)} kills, {MESSAGES} messages, {len(asked)} calls, {len(telegram.sent)} sends"
        )
    assert codes["bridge"] == 0 and codes["website"] in (0, -signal.SIGTERM), home.tail()  # uvicorn ends by its signal
    assert sum(home.kills.values()) == KILLS
    answered = Counter(question for sent in telegram.sent for question in answered_in(str(sent["text"])))
    assert all(times == 1 for times in answered.values()), f"answered more than once: {answered}"
    paid = Counter(question for call in asked for question in asked_in(call.body))
    assert all(times == 1 for times in paid.values()), f"paid for more than once: {paid}"
    left = Evidence(home.data, ONE)
    with closing(left):
        assert [broken for check in FROM_STORES for broken in check(left)] == []
        kept = {str(row[0]) for row in left.rows("SELECT text FROM messages WHERE speaker = 'person'")}
        spent = left.rows("SELECT COALESCE(sum(spent_micros), 0) FROM leases")[0][0]
    assert kept == {f"q{number:03}" for number in range(MESSAGES)}
    assert sum(call.input_tokens + 2 * call.output_tokens for call in asked) <= int(str(spent))


def answered_in(text: str) -> list[str]:
    """The provider repeats the last words it was given, and those end with the words to be answered."""
    return re.findall(r'"text":"(q\d+)"', text.rpartition("[{")[2]) if text.rstrip().endswith("}]") else []


def asked_in(body: str) -> list[str]:
    return answered_in(str(json.loads(body)["messages"][-1]["content"]))
