"""Which batches are claimed when: the slots that are due, or what the owner asks for by hand.

Nothing is remembered here. The site refuses a slot that was taken, so asking again is always safe: after a restart, at
each wake, and from a second worker.
"""

import asyncio
from dataclasses import dataclass

import structlog

from core.clock import Clock, Instant
from core.control.client import ControlClient
from core.control.messages import ClaimRequest, Release
from core.errors import ControlError
from core.model.contract import ModelClient
from core.settings import Digest
from core.slots import Slot, decide_due, due_slots

from .ask import Terms, most_cost
from .submit import submit
from .summarise import summarise

LOOK_BACK_MS = 36 * 3_600_000
"""Slots older than this are let go: the next one takes all that was said since."""

log = structlog.get_logger("digest")


@dataclass(frozen=True)
class Worker:
    control: ControlClient
    model: ModelClient
    terms: Terms
    schedule: Digest
    clock: Clock
    stopping: asyncio.Event


@dataclass(frozen=True)
class Round:
    """`drafts` are inbox numbers. `ended` is `done`, `stopped`, a claim's refusal, or the state of a claim given back."""

    drafts: tuple[int, ...]
    ended: str
    text: str = ""


async def run_due(worker: Worker) -> bool:
    """Runs what is due. False when the site could not be asked: the caller comes back soon."""
    now = worker.clock()
    since = Instant(now - LOOK_BACK_MS)
    for slot in due_slots(worker.schedule.at, worker.terms.zone, since, now):
        if worker.stopping.is_set():
            break
        missed = decide_due(slot, now, worker.schedule.missed) == "tell"  # whether it ran only the site knows
        try:
            done = await run_batches(worker, slot=slot_key(slot), missed=missed)
        except ControlError as problem:
            log.warning("slot_not_run", slot=slot_key(slot), error=type(problem).__name__)
            return False
        log.info("slot_asked", slot=slot_key(slot), drafts=len(done.drafts), ended=done.ended)
    return True


async def run_batches(
    worker: Worker, slot: str | None = None, sources: tuple[str, ...] = (), *, missed: bool = False
) -> Round:
    """One batch after another until none is left, one fails, or `digest.max_batches` are drafted.

    Errors: ControlUnreachable, ControlRefused.
    """
    micros, tokens = most_cost(worker.terms)
    wish = ClaimRequest(slot=slot, sources=sources, missed=missed, max_cost_micros=micros, max_tokens=tokens)
    drafts: list[int] = []
    while len(drafts) < worker.schedule.max_batches:
        if worker.stopping.is_set():
            return Round(tuple(drafts), "stopped")
        answer = await worker.control.claim(wish)
        if answer.claim is None:
            return Round(tuple(drafts), answer.reason, answer.text)
        made = await summarise(worker.terms, worker.model, answer.claim, worker.clock, worker.stopping)
        number = await submit(worker.control, answer.claim, made)
        if isinstance(made, Release):
            return Round(tuple(drafts), made.state, made.reason)
        if number is None:
            return Round(tuple(drafts), "failed", "something in it was forgotten meanwhile; the rest is claimed again")
        drafts.append(number)
    return Round(tuple(drafts), "done")


def slot_key(slot: Slot) -> str:
    """
    >>> slot_key(Slot("2026-11-30", "21:30", Instant(0)))
    '2026-11-30 21:30'
    """
    return f"{slot.day} {slot.label}"
