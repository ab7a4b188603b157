"""When a digest is due: local times of day, each once in every local day of its zone.

A slot is named by (day, label), as text; the site's store keeps that pair unique, which is what makes a slot run once
whatever crashes, restarts, second schedulers or clock jumps do. This module only says which slots there are.

A local time that comes twice is due the first time. One that a clock change skips is due as much later as the clock
was put forward. A local day that does not exist (Samoa had no 30 December 2011) has no slots.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from .clock import Instant, local_day
from .days import day_exists, wall_instant
from .errors import BadInput

MissedPolicy = Literal["run", "tell"]

GRACE_MS = 15 * 60_000
"""A slot that starts this late is still on time: a restart or a short sleep is not worth a word."""


@dataclass(frozen=True, slots=True)
class Slot:
    """`day` is the local day as ISO 8601, `label` the local time as HH:MM; together they are its key."""

    day: str
    label: str
    instant: Instant


def due_slots(at: Sequence[time], zone: ZoneInfo, since: Instant, until: Instant) -> list[Slot]:
    """The slots after `since` and up to `until`, both instants of the caller's clock, earliest first.

    Neighbouring spans neither share a slot nor lose one. A clock that went back gives none.

    >>> slots = due_slots([time(9), time(21)], ZoneInfo("Asia/Shanghai"), Instant(0), Instant(86_400_000))
    >>> [(slot.day, slot.label) for slot in slots]
    [('1970-01-01', '09:00'), ('1970-01-01', '21:00')]
    """
    times = sorted({_checked(moment) for moment in at})
    day = date.fromisoformat(local_day(since, zone)) - timedelta(days=1)
    last = date.fromisoformat(local_day(until, zone))
    found: list[Slot] = []
    while day <= last:
        if day_exists(day, zone):
            found += [Slot(day.isoformat(), f"{moment:%H:%M}", wall_instant(day, moment, zone)) for moment in times]
        day += timedelta(days=1)
    due = [slot for slot in found if since < slot.instant <= until]
    return sorted(due, key=lambda slot: (slot.instant, slot.label))


def decide_due(slot: Slot, now: Instant, missed: MissedPolicy, grace_ms: int = GRACE_MS) -> MissedPolicy:
    """What to do with a due slot that nobody has claimed: run it, or only tell the owner that it was missed."""
    assert now >= slot.instant, f"{slot} is not due at {now}"
    return missed if now - slot.instant > grace_ms else "run"


def _checked(moment: time) -> time:
    if moment.tzinfo is not None or moment != moment.replace(second=0, microsecond=0):
        raise BadInput(
            f"digest time {moment.isoformat()} cannot be a slot: write local hours and minutes, such as 21:30"
        )
    return moment.replace(fold=0)
