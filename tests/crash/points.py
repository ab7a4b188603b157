"""Where a process may die or a task may be cancelled: the ports call `reach`, business code never does."""

import asyncio
import os
from collections.abc import Callable

CUT = ("_stopped", "Gateway._answer")
KILLED = 17
"""Exit code of a process that died at a point on purpose."""

Visit = Callable[[str], None]

_visit: Visit | None = None


def reach(name: str) -> None:
    if _visit is not None:
        _visit(name)


def at_each(visit: Visit | None) -> None:
    """`visit` is called with the name of each point from now on."""
    global _visit
    _visit = visit


class Countdown:
    """Counts the points, and at the one with that number does what it is told."""

    def __init__(self, number: int | None, act: Callable[[], None]) -> None:
        self._number, self._act = number, act
        self.seen: list[str] = []

    def __call__(self, name: str) -> None:
        self.seen.append(name)
        if len(self.seen) == self._number:
            self._act()


def die() -> None:
    os._exit(KILLED)


def stop() -> None:
    """What a stop cuts is cancelled, each at its next await: the steps of the loops and the turns under way."""
    for task in asyncio.all_tasks():
        if getattr(task.get_coro(), "__qualname__", "") in CUT:
            task.cancel()
