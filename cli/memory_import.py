"""`penfriend memory import`: a file into pages, with a progress bar. A second run goes on where a killed one ended."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol, TextIO
from zoneinfo import ZoneInfo

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bridge.memory.desk import MemoryDesk
from bridge.memory.import_formats import ExportFacts, ImportedLine, Read, Unreadable, format_of, read_lines
from bridge.memory.imports import PAGE, Imported
from core.errors import BadInput
from core.settings import Settings

from .bridge_client import ask_bridge
from .memory_door import held, settle
from .output import console

PAGE_BYTES = 100_000
"""Of text in one page; JSON and quoting make a request longer, and the bridge takes 256 KiB."""

MOST_TOLD = 5
"""Unreadable lines that are named; the rest is counted."""


@dataclass(frozen=True)
class ImportOptions:
    file: Path
    me: str | None
    chat: str | None
    apart: bool
    quiet: bool


class Takes(Protocol):
    async def import_(self, lines: list[ImportedLine], *, apart: bool) -> Imported: ...


class _RunningBridge:
    """Takes pages over the loopback HTTP."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def import_(self, lines: list[ImportedLine], *, apart: bool) -> Imported:
        body = {"apart": apart, "lines": [_generic(line) for line in lines]}
        facts = await asyncio.to_thread(ask_bridge, self._settings, "POST", "/memory/import", body)
        return Imported(**{name: int(str(facts[name])) for name in ("added", "known", "empty")})


def _generic(line: ImportedLine) -> dict[str, object]:
    at = datetime.fromtimestamp(line.said_at / 1000, UTC).isoformat()
    return {"chat": line.chat, "id": line.key, "who": line.who, "name": line.name, "at": at, "text": line.text}


async def import_file(settings: Settings, options: ImportOptions) -> dict[str, int]:
    """Counts. Raises BadInput for a file of no known form, and when none of its lines could be read."""
    done, unreadable = Imported(), 0
    async with _taker(settings) as takes:
        with options.file.open("r", encoding="utf-8", errors="replace", newline="\n") as file, _bar(options) as bar:
            task = bar.add_task("importing", total=options.file.stat().st_size)
            for page, wrong in _pages(_read(file, options, settings)):
                unreadable += _tell(wrong, unreadable, options)
                if page:
                    done += await takes.import_(page, apart=options.apart)
                bar.update(task, completed=_place(file))
    if unreadable and not done.added + done.known + done.empty:
        raise BadInput(f"{options.file} holds no line that could be read: see docs for the form of each line")
    return {**vars(done), "unreadable": unreadable}


@asynccontextmanager
async def _taker(settings: Settings) -> AsyncIterator[Takes]:
    async with held(settings) as mine:
        if mine is None:
            yield _RunningBridge(settings)
            return
        yield _Desk(mine.desk)
        await settle(mine.index)


@dataclass(frozen=True)
class _Desk:
    desk: MemoryDesk

    async def import_(self, lines: list[ImportedLine], *, apart: bool) -> Imported:
        return await self.desk.import_(lines, apart=apart)


def _read(file: TextIO, options: ImportOptions, settings: Settings) -> Iterator[Read]:
    beginning = file.read(8192)
    file.seek(0)
    form = format_of(beginning)
    if form != "jsonl" and options.me is None and not options.quiet:
        console.print("Without --me NAME nobody in this export is you: all of it is kept as other people's words.")
    facts = ExportFacts(options.chat or options.file.stem, options.me, ZoneInfo(settings.persona.timezone))
    return read_lines(form, iter(file.readline, ""), facts)


def _pages(lines: Iterator[Read]) -> Iterator[tuple[list[ImportedLine], list[Unreadable]]]:
    page: list[ImportedLine] = []
    wrong: list[Unreadable] = []
    size = 0
    for line in lines:
        if isinstance(line, Unreadable):
            wrong.append(line)
            continue
        size += len(line.text.encode("utf-8", "replace")) + 100
        page.append(line)
        if len(page) >= PAGE or size >= PAGE_BYTES:
            yield page, wrong
            page, wrong, size = [], [], 0
    yield page, wrong


def _tell(wrong: list[Unreadable], before: int, options: ImportOptions) -> int:
    for one in wrong[: max(0, MOST_TOLD - before)] if not options.quiet else []:
        console.print(f"line {one.line} is left out: {one.reason}", highlight=False, markup=False)
    return len(wrong)


def _bar(options: ImportOptions) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=console, disable=options.quiet or not console.is_terminal)


def _place(file: TextIO) -> int:
    return file.buffer.tell()
