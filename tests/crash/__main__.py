"""`python -m tests.crash`: every crash point with every fault, every cancellation, the store's promises, and the mutants.

    runs N  violations 0  mutants caught M/M

`--night` adds the full fault matrix and a second crash on the way back from the first. Exit code 1 when a promise was
broken, a mutant got away, or nothing ran.
"""

import argparse
import json
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.powercut import library

from . import digest_runs
from .mutants import MUTANTS, Mutant
from .probes import PROBES, probe
from .runs import Verdict, judge_cancel, judge_images, judge_kill, judge_twice, warm_up
from .scenarios import EDGE, LONG, MANY, ONCE, ONE, SCRIPTS, Scenario, faulty
from .world import templates

Found = Iterator[tuple[str, tuple[str, ...]]]
"""What was run, and which promises it broke."""


@dataclass(frozen=True)
class Job:
    name: str
    run: Callable[[Path, Path], Found]
    mutant: bool = False


def jobs(*, night: bool) -> list[Job]:
    found = [_mutant(mutant) for mutant in MUTANTS]
    found += [Job(f"images of {one.name}", _images(one)) for one in (*SCRIPTS, *faulty(every=night))]
    found += [Job(f"kills of {one.name}", _one_by_one(judge_kill, one)) for one in ((ONE, LONG) if night else (ONE,))]
    found += [Job(f"cancellations of {one.name}", _one_by_one(judge_cancel, one)) for one in (ONE, LONG)]
    found += [Job(f"probe of {name}", _probe(name)) for name in PROBES]
    found += [Job("digest and publication", digest_runs.run)]
    if night:
        found += [Job(f"two crashes in {one.name}", _twice(one)) for one in (ONE, ONCE, EDGE, MANY, LONG)]
    return found


def _images(scenario: Scenario) -> Callable[[Path, Path], Found]:
    return lambda template, scratch: _told(judge_images(scenario, template, scratch / "images"))


def _twice(scenario: Scenario) -> Callable[[Path, Path], Found]:
    return lambda template, scratch: _told(judge_twice(scenario, template, scratch / "twice"))


def _one_by_one(
    judge: Callable[[Scenario, int, Path, Path], Verdict | None], scenario: Scenario
) -> Callable[[Path, Path], Found]:
    def run(template: Path, scratch: Path) -> Found:
        number = 1
        while (verdict := judge(scenario, number, template, scratch)) is not None:
            yield from _told(iter([verdict]))
            number += 1

    return run


def _told(verdicts: Iterator[Verdict]) -> Found:
    for verdict in verdicts:
        yield f"[{verdict.scenario}] {verdict.how} at {verdict.point}", verdict.broken


def _probe(name: str) -> Callable[[Path, Path], Found]:
    def run(template: Path, scratch: Path) -> Found:
        yield name, tuple(probe(name, template, scratch / "probe"))

    return run


def _mutant(mutant: Mutant) -> Job:
    def run(template: Path, scratch: Path) -> Found:
        mutant.seed()
        for where in mutant.where:
            if isinstance(where, str):
                yield from _probe(where)(template, scratch)
            elif mutant.how == "cancel":
                yield from _one_by_one(judge_cancel, where)(template, scratch)
            else:
                yield from _images(where)(template, scratch)

    return Job(mutant.name, run, mutant=True)


@dataclass
class Tally:
    runs: int = 0
    violations: int = 0
    caught: int = 0
    failed: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, job: Job, result: Path) -> None:
        if not result.exists():
            self.failed += 1
            print(f"{job.name}: the process that ran it is gone without a result")
            return
        found = json.loads(result.read_text())
        broken = [(what, tuple(promises)) for what, promises in found["broken"]]
        self.seconds[job.name] = found["seconds"]
        if job.mutant:
            self.caught += bool(broken)
            if not broken:
                print(f"NOT CAUGHT: {job.name}")
            return
        self.runs += found["runs"]
        self.violations += len(broken)
        if not found["runs"]:
            self.failed += 1
            print(f"{job.name}: nothing ran")
        for what, promises in broken:
            print(f"BROKEN {what}\n    " + "\n    ".join(promises))


def work(job: Job, template: Path, scratch: Path, result: Path) -> None:
    """A forked process's whole life. A mutant is caught by its first broken promise."""
    code = 1
    try:
        sys.stderr.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the store logs of faults that are played
        scratch.mkdir()
        began = time.process_time()
        runs, broken = 0, []
        for what, promises in job.run(template, scratch):
            runs += 1
            if promises:
                broken.append((what, promises))
                if job.mutant:
                    break
        result.write_text(json.dumps({"runs": runs, "broken": broken, "seconds": time.process_time() - began}))
        code = 0
    finally:
        os._exit(code)


def run_all(todo: Sequence[Job], template: Path, workers: int) -> Tally:
    tally, running = Tally(), dict[int, tuple[Job, Path]]()
    waiting = list(enumerate(todo))
    while waiting or running:
        while waiting and len(running) < workers:
            number, job = waiting.pop(0)
            result = template / f"result-{number}.json"
            child = os.fork()
            if child == 0:
                work(job, template, template / f"job-{number}", result)
            running[child] = (job, result)
        child, _ = os.wait()
        tally.add(*running.pop(child))
    return tally


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--night", action="store_true", help="the full matrix, and two crashes")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help="jobs whose name contains this")
    asked = parser.parse_args()
    loaded, path = library()
    version = loaded.sqlite3_libversion().decode()
    print(f"SQLite {version} at {path}")
    if version != sqlite3.sqlite_version:
        print(f"the store uses another SQLite, {sqlite3.sqlite_version}: this would prove nothing")
        return 1
    began, template = time.monotonic(), templates()
    try:
        warm_up(template, template / "warm", (ONE,))
        todo = [job for job in jobs(night=asked.night) if asked.only in job.name]
        tally = run_all(todo, template, asked.workers)
    finally:
        shutil.rmtree(template)
    mutants = sum(job.mutant for job in todo)
    slowest = sorted(tally.seconds.items(), key=lambda one: -one[1])[:5]
    print(
        f"{time.monotonic() - began:.0f} s; most of the processor: " + ", ".join(f"{n} {s:.0f} s" for n, s in slowest)
    )
    print(f"runs {tally.runs}  violations {tally.violations}  mutants caught {tally.caught}/{mutants}")
    bad = tally.violations or tally.failed or tally.caught < mutants or not tally.runs
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
