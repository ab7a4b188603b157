"""What a message costs on its way through the bridge, as ratios to plain `sqlite3`: `python -m bench.pipeline`.

Counted is the processor time of intake, packing, reserving, settling, delivering and syncing, with every transaction;
what the provider, the platform and the site themselves take is measured and left out. Best of three. Ends with 1 when a
goal is missed.
"""

import asyncio
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from core.ids import EventKey
from tests.crash.world import Script, Watch, World, copied, shared_templates

from .store import _create, raw_loop

REPEATS = 3
MESSAGES = 120
BATCH = 100
GOAL_PIPELINE = 12.0
"""Times the cost of eight plain transactions: a message takes about as many."""
GOAL_INTAKE = 4.0
"""Times the cost of one plain transaction for one update of a full batch."""

T = TypeVar("T")


class Outside:
    """Processor time that is not the bridge's."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def metered(self, call: Callable[..., Awaitable[T]]) -> Callable[..., Awaitable[T]]:
        async def timed(*args: object, **more: object) -> T:
            began = time.process_time()
            try:
                return await call(*args, **more)
            finally:
                self.seconds += time.process_time() - began

        return timed

    def metered_now(self, call: Callable[..., T]) -> Callable[..., T]:
        def timed(*args: object, **more: object) -> T:
            began, before = time.process_time(), self.seconds
            try:
                return call(*args, **more)
            finally:
                self.seconds = before + time.process_time() - began  # one may call another

        return timed


def a_world(folder: Path, outside: Outside) -> World:
    settings: dict[str, object] = {
        "bridge": {"merge_window_ms": 0},
        "budgets": {"chat": {"requests_per_minute": 100_000, "requests_per_day": 100_000, "lease_calls": 10_000}},
    }
    world = World(copied(shared_templates(), folder), Watch(), Script(settings=settings))
    for thing, names in ((world.platform, ("poll", "send")), (world.model, ("answer",)), (world.site, ("_do",))):
        for name in names:
            vars(thing)[name] = outside.metered(getattr(thing, name))
    for name in ("at_rest", "say"):
        vars(world)[name] = outside.metered_now(getattr(world, name))
    for name in ("has_news", "push"):
        vars(world.platform)[name] = outside.metered_now(getattr(world.platform, name))
    return world


async def _talk(world: World) -> None:
    await world.start()
    for number in range(MESSAGES):
        world.say(f"message {number}: 今天的风很大，我们在河边走了很久")
        await world.settle()


async def _take_in(world: World) -> None:
    await world.start()
    for number in range(10):
        for at in range(BATCH):
            world.platform.push(world.update("今天的风很大", EventKey(f"{number}-{at}"), said_at=world.watch.now()))
        world.cursor = await world.gateway.poll_once(world.platform, world.cursor)


def cpu_of(work: Callable[[World], Coroutine[None, None, None]], folder: Path, count: int) -> float:
    """Microseconds of processor time for one message."""
    outside = Outside()
    world = a_world(folder, outside)
    pushing = time.process_time()
    asyncio.run(work(world))
    spent = time.process_time() - pushing - outside.seconds
    world.close()
    return spent / count * 1e6


def floor_us(folder: Path) -> float:
    folder.mkdir()
    _create(folder / "floor.db")
    return raw_loop(folder / "floor.db", 2_000).cpu_us


def main() -> int:
    with TemporaryDirectory() as scratch:
        runs = [_once(Path(scratch) / str(number)) for number in range(REPEATS)]
    floor, message, update = (min(column) for column in zip(*runs, strict=True))
    print(f"plain transaction        {floor:8.0f} us of processor time")
    print(
        f"message, without a model {message:8.0f} us  {message / floor / 8:5.1f} x eight of them (goal {GOAL_PIPELINE})"
    )
    print(f"update in a batch of {BATCH} {update:8.0f} us  {update / floor:5.1f} x one of them (goal {GOAL_INTAKE})")
    return int(message / floor / 8 > GOAL_PIPELINE or update / floor > GOAL_INTAKE)


def _once(folder: Path) -> tuple[float, float, float]:
    folder.mkdir()
    return (
        floor_us(folder / "floor"),
        cpu_of(_talk, folder / "talk", MESSAGES),
        cpu_of(_take_in, folder / "intake", 10 * BATCH),
    )


if __name__ == "__main__":
    sys.exit(main())
