"""`python -m digest`: wakes at the times of the digest, and now and then besides, and runs what the site says is due.

`python -m digest --once [--source ID …]` makes drafts of what waits, or of what is named, and prints what happened.
It ends with 0 when a draft was made or nothing waits, and else with a sentence.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import time
from zoneinfo import ZoneInfo

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from core.clock import system_clock
from core.control.client import ControlClient
from core.control.keys import load_keys
from core.control.signing import current_key
from core.errors import PenfriendError
from core.logs import log_as_json
from core.model.provider import open_model
from core.model.roles import model_of
from core.parent import stop_with_parent
from core.settings import Settings
from core.settings_files import load_settings

from .ask import Terms
from .report import exit_code, sentences
from .rounds import Worker, run_batches, run_due

LOOK_AGAIN_MINUTES = 5
"""Between the times of the digest: for a budget that was used up, a clock that jumped, a model that was away."""
SITE_AWAY_S = 15.0


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _arguments(arguments)
    log_as_json()
    try:
        return asyncio.run(run(load_settings(), asked.once, tuple(asked.source)))
    except PenfriendError as problem:
        print(f"penfriend digest: {problem}", file=sys.stderr)
        return problem.exit_code


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m digest", description="Drafts of what was said, for the inbox.")
    parser.add_argument("--once", action="store_true", help="make drafts of what waits, then end")
    parser.add_argument("--source", action="append", default=[], metavar="ID", help="with --once: only of these")
    asked = parser.parse_args(arguments)
    if asked.source and not asked.once:
        parser.error("--source goes with --once")
    return asked


async def run(settings: Settings, once: bool, sources: tuple[str, ...]) -> int:
    async with AsyncExitStack() as stack:
        key = current_key(load_keys(settings.secrets_dir, ("digest",)), "digest", system_clock() // 1000)
        control = await stack.enter_async_context(ControlClient(settings.control_url, key, system_clock))
        worker = build(settings, control)
        stack.push_async_callback(worker.model.aclose)
        _stop_on_signals(worker.stopping)
        if once:
            return await _run_once(worker, sources)
        await _run_until_stopped(worker)
        return 0


def build(settings: Settings, control: ControlClient) -> Worker:
    """The parts of a worker. Opens no connection."""
    config = model_of(settings, "digest")
    return Worker(
        control=control,
        model=open_model(config),
        terms=Terms(settings.persona.name, ZoneInfo(settings.digest.timezone), config),
        schedule=settings.digest,
        clock=system_clock,
        stopping=asyncio.Event(),
    )


async def _run_once(worker: Worker, sources: tuple[str, ...]) -> int:
    done = await run_batches(worker, sources=sources)
    code = exit_code(done)
    for sentence in sentences(done):
        print(sentence, file=sys.stderr if code else sys.stdout)
    return code


async def _run_until_stopped(worker: Worker) -> None:
    wake = asyncio.Event()
    scheduler = _scheduler(worker.schedule.at, worker.terms.zone, wake)
    scheduler.start()
    try:
        while not worker.stopping.is_set():
            wake.clear()
            reached = await run_due(worker)
            await _first_of(wake, worker.stopping, None if reached else SITE_AWAY_S)
    finally:
        scheduler.shutdown(wait=False)


def _scheduler(at: Sequence[time], zone: ZoneInfo, wake: asyncio.Event) -> AsyncIOScheduler:
    """It only rings; what is due is worked out from the clock each time, so a lost or doubled ring changes nothing."""

    async def ring() -> None:
        wake.set()

    scheduler = AsyncIOScheduler(timezone=zone, job_defaults={"coalesce": True, "misfire_grace_time": None})
    for moment in at:
        scheduler.add_job(ring, "cron", hour=moment.hour, minute=moment.minute)
    scheduler.add_job(ring, "interval", minutes=LOOK_AGAIN_MINUTES)
    return scheduler


async def _first_of(wake: asyncio.Event, stopping: asyncio.Event, timeout_s: float | None) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in (wake, stopping)]
    await asyncio.wait(waits, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
    for wait in waits:
        wait.cancel()


def _stop_on_signals(stopping: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopping.set)
    stop_with_parent(lambda: loop.call_soon_threadsafe(stopping.set))


if __name__ == "__main__":
    sys.exit(main())
