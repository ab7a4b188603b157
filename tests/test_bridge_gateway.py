"""The running gateway: how it stops, what a clock that jumps does to it, and who may run it."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bridge.store.schema import SCHEMA
from core.clock import Instant
from core.errors import StoreLocked
from core.model.contract import Attempt, ModelResult
from core.model.outcomes import Signal
from core.model.request import ModelRequest
from core.store import open_store, sqlite_url
from tests.fakes.scripted_model import ScriptedModel

from .crash.world import Script, World, a_world

HOUR_MS = 3_600_000
AT_ONCE = Script(settings={"bridge": {"merge_window_ms": 0}})


class Slow(ScriptedModel):
    """Answers when it is told to."""

    def __init__(self, world: World) -> None:
        super().__init__(world.folder, world.config)
        self.asked, self.go = asyncio.Event(), asyncio.Event()

    async def answer(self, request: ModelRequest, attempt: Attempt | None = None) -> ModelResult:
        self.asked.set()
        await self.go.wait()
        return await super().answer(request, attempt)


@asynccontextmanager
async def running(world: World) -> AsyncIterator["asyncio.Task[None]"]:
    """The gateway with all its loops; polls of the fake platform come back at once, so it is slowed down a little."""
    poll = world.platform.poll

    async def slow_poll(cursor: str | None) -> object:
        await asyncio.sleep(0.02)
        return await poll(cursor)

    vars(world.platform)["poll"] = slow_poll
    vars(world.site)["instructions"] = _nothing_to_do
    task = asyncio.create_task(world.gateway.run())
    try:
        yield task
    finally:
        world.gateway.stopping.set()
        await asyncio.wait_for(task, 10)


async def _nothing_to_do(_wait_s: int = 0) -> tuple[()]:
    await asyncio.sleep(0.05)
    return ()


async def test_a_stop_lets_the_answer_in_hand_be_kept_and_closes_the_lease(tmp_path: Path) -> None:
    async with a_world(tmp_path, AT_ONCE) as world:
        slow = Slow(world)
        vars(world.gateway.answering)["model"] = slow
        world.say("hello")
        async with running(world) as task:
            await asyncio.wait_for(slow.asked.wait(), 5)
            world.gateway.stopping.set()
            await asyncio.sleep(0.1)
            assert not task.done()
            slow.go.set()
            await asyncio.wait_for(task, 5)

        assert world.rows("SELECT state FROM attempts") == [("settled",)]
        assert world.rows("SELECT state FROM parts") in ([("intent",)], [("sent",)])
        assert world.site_rows("SELECT state FROM leases") == [("reported",)]


async def test_what_was_kept_on_the_way_out_is_delivered_after_the_next_start(tmp_path: Path) -> None:
    async with a_world(tmp_path, AT_ONCE) as world:
        world.platform.can_send = False
        world.say("hello")
        await world.settle(rounds=4)
        again = world.restarted()
        await again.start()
        await again.settle()

        assert again.platform.texts == ["answer to: hello"]
        again.close()


async def test_a_stop_with_nothing_in_hand_is_quick(tmp_path: Path) -> None:
    async with a_world(tmp_path, AT_ONCE) as world:
        began = asyncio.get_running_loop().time()
        async with running(world):
            world.say("hello")
            while not world.platform.texts:
                await asyncio.sleep(0.02)

        assert asyncio.get_running_loop().time() - began < 5


async def test_a_second_bridge_over_the_same_store_is_refused_with_the_pid(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "bridge.db")
    with open_store(url, SCHEMA), pytest.raises(StoreLocked, match=r"\d+"):
        open_store(url, SCHEMA)
    assert threading.active_count() < 20


@pytest.mark.parametrize("jump", [-HOUR_MS, -30 * 24 * HOUR_MS, 3 * 24 * HOUR_MS])
async def test_a_clock_that_jumps_does_not_keep_a_person_waiting(tmp_path: Path, jump: int) -> None:
    async with a_world(tmp_path, Script(calls=(Signal.RATE_LIMITED,), sends=("slow_down",))) as world:
        world.say("hello")
        await world.round()
        world.watch.advance(jump)
        began = world.watch.now()
        for _ in range(40):
            await world.round()
            world.watch.advance(500)
            if len(world.model.calls) == 1:
                world.watch.advance(jump)
                began = Instant(began + jump)
                break
        await world.settle()

        assert world.platform.texts == ["answer to: hello"]
        assert world.watch.now() - began < 120_000


async def test_a_clock_set_back_does_not_renew_grants_for_ever_nor_never(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.round()
        world.watch.advance(-HOUR_MS)
        for _ in range(5):
            await world.round()
            world.watch.advance(1_000)

        assert sum(request["what"] == "grant" for request in world.site.requests.read()) == 2


async def test_a_start_goes_on_with_a_grant_that_is_still_good(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.round()
        again = world.restarted()
        await again.start()
        again.say("hello")
        await again.settle()

        assert again.platform.texts == ["answer to: hello"]
        assert sum(request["what"] == "grant" for request in again.site.requests.read()) == 1
        again.close()


async def test_a_channel_that_cannot_send_does_not_stop_the_others_from_being_heard(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.platform.can_send = False
        world.say("one")
        world.say("two", who="bob")
        await world.settle(rounds=8)

        assert world.rows("SELECT count(*) FROM events") == [(2,)]
        assert world.rows("SELECT state FROM parts") == [("intent",), ("intent",)]
