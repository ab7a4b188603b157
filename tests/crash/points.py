"""Where a process may die or a task may be cancelled: the ports call `reach`, business code never does."""

import asyncio
import os
from collections.abc import Callable

KILLED = 17
"""Exit code of a process that died at a point on purpose."""

Visit = Callable[[str], None]

_visit: Visit | None = None


def reach(name: str) -> None:
    if _visit is not None:
        _visit(name)


def at_each(visit: Visit | None) -> None:
    """`visit` is called with the name of each point from now on."""
    global _visit  # noqa: PLW0603 - one process, one visitor, and the ports must not carry it around
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


def cancel_current() -> None:
    """The task is cancelled at its next await, as a stop would do it."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
