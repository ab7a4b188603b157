"""`penfriend memory search`: one question for a person, or a file of them for a measurement."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from zoneinfo import ZoneInfo

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from bridge.memory.naming import conversations_named, public_ids
from bridge.memory.reading import ReadOnlyMemory
from bridge.memory.recall import Recalled, RecallQuery
from bridge.store.messages import messages_by_id
from core.clock import Instant, instant_of, local_time, system_clock
from core.errors import BadInput
from core.settings import Settings

from .memory_door import readable
from .output import show_table

Hit = dict[str, object]


@dataclass(frozen=True)
class SearchOptions:
    chat: str | None
    limit: int


class Question(BaseModel):
    """One line of a batch. `previous`: the person's messages before it, oldest first; `at`: when it is asked, now without."""

    model_config = ConfigDict(extra="forbid")
    id: str | int
    query: str = Field(max_length=100_000)
    chat: str | None = None
    at: AwareDatetime | None = None
    previous: tuple[str, ...] = ()
    limit: int | None = Field(None, ge=1, le=100)


class Answer(BaseModel):
    id: str | int
    hits: list[Hit]


async def search_once(settings: Settings, text: str, options: SearchOptions) -> list[Hit]:
    """With time, speaker and words beside what a batch gives."""
    async with readable(settings) as memory:
        asking = _Asking(memory, settings, options)
        recalled = asking.recall(Question(id=0, query=text))
        rows = memory.read_now(messages_by_id, [hit.id for hit in recalled.hits])
        known = {int(key): message for key, message in rows.items()}
        return [
            {**hit, "at_ms": known[one.id].said_at, "who": known[one.id].speaker, "text": known[one.id].text}
            for hit, one in zip(asking.hits(recalled), recalled.hits, strict=True)
            if one.id in known
        ]


async def search_batch(settings: Settings, file: Path, options: SearchOptions) -> None:
    """JSONL to standard output, one line for each question, in its order."""
    async with readable(settings) as memory:
        asking = _Asking(memory, settings, options)
        with _opened(file) as lines:
            for question in _questions(lines):
                answer = Answer(id=question.id, hits=asking.hits(asking.recall(question)))
                sys.stdout.write(answer.model_dump_json() + "\n")


class _Asking:
    """Remembers which chat names mean which conversations, so that a batch asks once for each."""

    def __init__(self, memory: ReadOnlyMemory, settings: Settings, options: SearchOptions) -> None:
        self._memory = memory
        self._zone = ZoneInfo(settings.persona.timezone)
        self._options = options
        self._scopes: dict[str | None, tuple[str, ...]] = {}

    def recall(self, question: Question) -> Recalled:
        scopes = self._scopes_of(question.chat or self._options.chat)
        if not scopes:
            return Recalled((), nothing_found=True)
        query = RecallQuery(
            text=question.query,
            scope=scopes[0],
            at=system_clock() if question.at is None else instant_of(question.at),
            zone=self._zone,
            previous=tuple(reversed(question.previous[-2:])),
            limit=question.limit or self._options.limit,
            also=scopes[1:],
        )
        return self._memory.recall_now(query)

    def hits(self, recalled: Recalled) -> list[Hit]:
        names = self._memory.read_now(public_ids, [hit.id for hit in recalled.hits]) if recalled.hits else {}
        return [
            {
                "id": names[hit.id],
                "score": round(hit.score, 4),
                "parts": {name: round(value, 4) for name, value in hit.parts.items()},
            }
            for hit in recalled.hits
            if hit.id in names
        ]

    def _scopes_of(self, chat: str | None) -> tuple[str, ...]:
        if chat not in self._scopes:
            found = self._memory.read_now(conversations_named, chat)
            self._scopes[chat] = tuple(str(one.id) for one in found)
        return self._scopes[chat]


def _opened(file: Path) -> TextIO:
    if str(file) == "-":
        return sys.stdin
    try:
        return file.open(encoding="utf-8")
    except OSError as problem:
        raise BadInput(f"{file} cannot be read: {problem.strerror}") from problem


def _questions(lines: Iterable[str]) -> Iterator[Question]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield Question.model_validate_json(line)
        except ValidationError as wrong:
            first = wrong.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the line"
            raise BadInput(f"line {number} of the batch: {where}: {first['msg']}") from wrong


def show_hits(hits: list[Hit], zone: ZoneInfo) -> None:
    rows = [
        (
            f"{local_time(Instant(int(str(hit['at_ms']))), zone):%Y-%m-%d %H:%M}",
            hit["who"],
            hit["score"],
            hit["id"],
            hit["text"],
        )
        for hit in hits
    ]
    show_table(("said", "who", "score", "id", "words"), rows, "Nothing was found.")
