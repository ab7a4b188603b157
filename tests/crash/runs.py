"""One run: a world is stopped at a point, opened again from what is on the disk, brought to rest, and judged from outside.

Three ways to stop. `kill` really ends a forked process. An image is what a kill at that moment leaves behind, copied
while the process lives on: a kill keeps what was written to files and nothing else, so one process gives the images of
all its points. `cancel` cancels the task at that point, as a stop does.
"""

import asyncio
import gc
import hashlib
import os
import shutil
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import structlog

from core.clock import Instant

from .invariants import Evidence, violations
from .points import Countdown, Visit, at_each, die, stop
from .scenarios import Scenario, play
from .world import Watch, World, copied

How = Literal["kill", "image", "cancel", "undisturbed"]
FAULTY = 70
"""Exit code of a child in which something raised: a fault as bad as a broken promise."""


@dataclass(frozen=True)
class Verdict:
    """`broken` has a sentence for each promise that did not hold."""

    scenario: str
    how: How
    point: str
    broken: tuple[str, ...]

    def __str__(self) -> str:
        return f"[{self.scenario}] {self.how} at {self.point}: {'; '.join(self.broken) or 'all promises hold'}"


@dataclass(frozen=True)
class Image:
    """What a kill at `point` leaves: a folder, and the world's time then."""

    point: str
    folder: Path
    now: Instant


class Camera:
    """Takes an image at every point at which the disk differs from all points before."""

    def __init__(self, folder: Path, into: Path, watch: Watch) -> None:
        self._folder, self._into, self._watch = folder, into, watch
        self._seen: set[bytes] = set()
        self.images: list[Image] = []
        self.points = 0

    def __call__(self, point: str) -> None:
        self.points += 1
        files = {path.name: path.read_bytes() for path in self._folder.iterdir() if not path.name.endswith("-shm")}
        digest = hashlib.blake2b()
        for name in sorted(files):
            digest.update(name.encode() + len(files[name]).to_bytes(8, "big") + files[name])
        if digest.digest() in self._seen:
            return
        self._seen.add(digest.digest())
        folder = self._into / str(len(self.images))
        folder.mkdir(parents=True)
        for name, content in files.items():
            (folder / name).write_bytes(content)
        self.images.append(Image(f"{self.points} ({point})", folder, self._watch.now()))


def take_images(
    scenario: Scenario, start: Path, now: Instant | None, into: Path, *, statements: bool = False
) -> Camera:
    """Lives the scenario once from what is in `start`, and photographs it; whatever it raises is left to the runs."""
    folder, watch = into / "lived", Watch()
    shutil.copytree(start, folder)
    if now is not None:
        watch.set(now)
    camera = Camera(folder, into / "images", watch)
    world = World(folder, watch, scenario.script, statements=statements)
    _live(world, scenario, camera)
    world.close()
    return camera


def _live(world: World, scenario: Scenario, visit: Visit | None) -> str:
    """Plays it to the end; returns what it raised, if anything."""
    at_each(visit)
    try:
        asyncio.run(play(world, scenario))
    except Exception:
        return f"FAULT {traceback.format_exc().strip()[-1500:]}"
    finally:
        at_each(None)
    return ""


def judge_image(scenario: Scenario, image: Image) -> Verdict:
    """Opens what the kill left, twice (a start must be safe to repeat), and brings it to rest."""
    watch = Watch()
    watch.set(image.now + 5_000)
    world = World(image.folder, watch, scenario.script)
    fault = _recovered(world)
    if not fault:
        world = world.restarted()
        fault = _live(world, scenario, None)
    world.close()
    broken = (fault,) if fault else tuple(violations(Evidence(image.folder, scenario)))
    return Verdict(scenario.name, "image", image.point, broken)


def _recovered(world: World) -> str:
    try:
        asyncio.run(world.start())
    except Exception:
        return f"FAULT {traceback.format_exc().strip()[-1500:]}"
    return ""


def judge_images(scenario: Scenario, template: Path, scratch: Path) -> Iterator[Verdict]:
    """A verdict for every image of the scenario, then one for it undisturbed."""
    start = copied(template, scratch / "start")
    try:
        camera = take_images(scenario, start, None, scratch / "taken")
        for image in camera.images:
            yield judge_image(scenario, image)
            shutil.rmtree(image.folder)
    finally:
        shutil.rmtree(scratch)


def judge_twice(scenario: Scenario, template: Path, scratch: Path) -> Iterator[Verdict]:
    """Killed, and killed again on the way to rest, at every pair of points."""
    start = copied(template, scratch / "start")
    try:
        for number, first in enumerate(take_images(scenario, start, None, scratch / "taken").images):
            again = scratch / f"again-{number}"
            for second in take_images(scenario, first.folder, Instant(first.now + 5_000), again).images:
                verdict = judge_image(scenario, second)
                yield Verdict(verdict.scenario, "image", f"{first.point}, then {second.point}", verdict.broken)
            shutil.rmtree(again, ignore_errors=True)
    finally:
        shutil.rmtree(scratch)


# --- really killed, really cancelled ------------------------------------------------------------------------------


def judge_kill(scenario: Scenario, number: int, template: Path, scratch: Path) -> Verdict | None:
    """A forked process ends at that point. None when it came to its end before."""
    folder, watch = copied(template, scratch / "killed"), Watch()
    try:
        child = os.fork()
        if child == 0:
            _end_at(number, folder, watch, scenario)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            return None
        if code == FAULTY:
            return Verdict(scenario.name, "kill", str(number), ("FAULT in the process before it was killed",))
        verdict = judge_image(scenario, Image(str(number), folder, watch.now()))
        return Verdict(scenario.name, "kill", str(number), verdict.broken)
    finally:
        shutil.rmtree(folder)


def _end_at(number: int, folder: Path, watch: Watch, scenario: Scenario) -> None:
    code = FAULTY
    try:
        world = World(folder, watch, scenario.script, statements=True)
        code = FAULTY if _live(world, scenario, Countdown(number, die)) else 0
    finally:
        os._exit(code)


def judge_cancel(scenario: Scenario, number: int, template: Path, scratch: Path) -> Verdict | None:
    """The task that is at that point is cancelled, the rest ends in order. None when there is no such point."""
    folder, watch = copied(template, scratch / "cancelled"), Watch()
    try:
        world = World(folder, watch, scenario.script)
        seen = Countdown(number, stop)
        at_each(seen)
        asyncio.run(_stopped(world, scenario))
        at_each(None)
        world.close()
        if len(seen.seen) < number:
            return None
        verdict = judge_image(scenario, Image(str(number), folder, watch.now()))
        return Verdict(scenario.name, "cancel", f"{number} ({seen.seen[number - 1]})", verdict.broken)
    finally:
        at_each(None)
        shutil.rmtree(folder)


async def _stopped(world: World, scenario: Scenario) -> None:
    try:
        await play(world, scenario)
    except asyncio.CancelledError:
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*rest, return_exceptions=True)  # what was shielded goes on to its end


def warm_up(template: Path, scratch: Path, scenarios: Sequence[Scenario]) -> None:
    """What forked children need not do again. No thread may run yet."""
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory(), cache_logger_on_first_use=False)
    for number, scenario in enumerate(scenarios):
        world = World(copied(template, scratch / f"warm-{number}"), Watch(), scenario.script)
        _live(world, scenario, None)
        world.close()
    gc.collect()
    gc.freeze()
