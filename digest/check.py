"""The check between a model's digest and the owner's inbox. Pure: text in, a draft or the reasons against it out.

A fact must rest on sources of its batch, in the words of the person or in replies they heard; the persona's thoughts
stay apart. Quotes must be found word for word, numbers and names somewhere in the cited sources. What the text of a
chat asks for ("publish this now") is text here like everything else.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from core.clock import Instant, local_time
from core.ids import SourceId

from .particulars import folded, has_open_quote, latin_words, names_stated, number_values, numbers_stated, quotes
from .problems import Problem, ProblemKind, Problems
from .words import MONTHS

MAX_OUTPUT_BYTES = 65_536
# A run this long in a fact about the owner that is in a reply, and nowhere in the owner's words, is the persona's.
BORROWED_RUN = 10

Line = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=600)]
SourceIds = Annotated[list[SourceId], Field(min_length=1, max_length=50)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Fact(_Strict):
    statement: Line
    source_ids: SourceIds
    who: Literal["owner", "persona"]


class OpenThread(_Strict):
    """Something left undone or unanswered."""

    statement: Line
    source_ids: SourceIds


class DigestOutput(_Strict):
    """What the model is asked for; its JSON schema goes into the request."""

    title: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
    facts: Annotated[list[Fact], Field(min_length=1, max_length=60)]
    reflections: Annotated[list[Line], Field(max_length=10)]
    open_threads: Annotated[list[OpenThread], Field(max_length=20)]


@dataclass(frozen=True, slots=True)
class DigestSource:
    """`heard` is False for a reply that the person never got: it may not be told as said."""

    id: SourceId
    speaker: Literal["person", "persona"]
    text: str
    said_at: Instant
    heard: bool = True


@dataclass(frozen=True, slots=True)
class Checked:
    draft: DigestOutput


def check(
    output_json: str, batch: Sequence[DigestSource], known: Collection[str] = (), zone: ZoneInfo | None = None
) -> Checked | Problems:
    """The draft, or everything that is wrong with it.

    `known` are names that need no source (the persona, the owner). With a `zone` a sentence may name the local day on
    which a source of it was said.
    """
    size = len(output_json.encode("utf-8", "surrogatepass"))
    if size > MAX_OUTPUT_BYTES:
        return Problems((Problem(ProblemKind.TOO_LONG, "output", str(size)),))
    try:
        draft = DigestOutput.model_validate_json(output_json)
    except ValidationError as error:
        return Problems(tuple(_malformed(error)))
    problems = tuple(_Review(batch, known, zone).of(draft))
    return Problems(problems) if problems else Checked(draft)


def _malformed(error: ValidationError) -> Iterable[Problem]:
    for detail in error.errors(include_url=False, include_context=False, include_input=False)[:20]:
        where = re.sub(r"\.(\d+)", r"[\1]", ".".join(str(step)[:40] for step in detail["loc"])) or "output"
        yield Problem(ProblemKind.MALFORMED, where, detail["msg"][:200])


class _Review:
    """One batch with what every sentence about it is compared with."""

    def __init__(self, batch: Sequence[DigestSource], known: Collection[str], zone: ZoneInfo | None) -> None:
        self.sources = {source.id: source for source in batch}
        self.heard = [source for source in batch if source.heard]
        self.known = tuple(known)
        self.zone = zone
        self.own_runs = _runs(source.text for source in self.heard if source.speaker == "person")
        self.reply_runs = _runs(source.text for source in self.heard if source.speaker == "persona")

    def of(self, draft: DigestOutput) -> Iterable[Problem]:
        yield from self._sentence("title", draft.title, self.heard, self.heard, title=True)
        for number, fact in enumerate(draft.facts):
            yield from self._fact(f"facts[{number}]", fact)
        for number, thought in enumerate(draft.reflections):
            yield from self._sentence(f"reflections[{number}]", thought, self.heard, self.heard)
        for number, thread in enumerate(draft.open_threads):
            where = f"open_threads[{number}]"
            yield from self._citations(where, thread.source_ids)
            cited = self._cited(thread.source_ids)
            yield from self._sentence(where, thread.statement, cited, cited)

    def _fact(self, where: str, fact: Fact) -> Iterable[Problem]:
        yield from self._citations(where, fact.source_ids)
        cited = self._cited(fact.source_ids)
        speaker = "person" if fact.who == "owner" else "persona"
        said = [source for source in cited if source.speaker == speaker]
        if not said:
            yield Problem(ProblemKind.WRONG_SPEAKER, where, fact.who)
        if fact.who == "owner":
            borrowed = _runs([fact.statement]).keys() & (self.reply_runs.keys() - self.own_runs.keys())
            yield from (
                Problem(ProblemKind.BORROWED_WORDS, where, self.reply_runs[run]) for run in sorted(borrowed)[:1]
            )
        yield from self._sentence(where, fact.statement, cited, said)

    def _citations(self, where: str, ids: Sequence[SourceId]) -> Iterable[Problem]:
        for source_id in dict.fromkeys(ids):
            source = self.sources.get(source_id)
            if source is None:
                yield Problem(ProblemKind.UNKNOWN_SOURCE, where, source_id[:80])
            elif not source.heard:
                yield Problem(ProblemKind.UNHEARD, where, source_id)

    def _cited(self, ids: Sequence[SourceId]) -> list[DigestSource]:
        return [source for source in self.heard if source.id in ids]

    def _sentence(
        self,
        where: str,
        text: str,
        cited: Sequence[DigestSource],
        quotable: Sequence[DigestSource],
        title: bool = False,
    ) -> Iterable[Problem]:
        yield from (
            Problem(ProblemKind.HIDDEN_CHARACTER, where, f"U+{ord(char):04X}") for char in hidden_characters(text)
        )
        if any(folded(text) in folded(source.text) for source in quotable):
            return
        if has_open_quote(text):
            yield Problem(ProblemKind.OPEN_QUOTE, where, text[:80])
        for quote in quotes(text):
            if not any(folded(quote) in folded(source.text) for source in quotable):
                yield Problem(ProblemKind.QUOTE, where, quote)
        texts = [source.text for source in cited]
        allowed = number_values(texts)
        for written, values in numbers_stated(self._without_days(text, cited)):
            if not values & allowed:
                yield Problem(ProblemKind.NUMBER, where, written)
        yield from self._names(where, self._without_days(text, cited), [*texts, *self.known], title)

    def _names(self, where: str, text: str, texts: Sequence[str], title: bool) -> Iterable[Problem]:
        words = latin_words(texts)
        together = folded(" ".join(texts))
        for name in names_stated(text, words, title):
            if name.isascii() or folded(name) not in together:
                yield Problem(ProblemKind.NAME, where, name)

    def _without_days(self, text: str, cited: Sequence[DigestSource]) -> str:
        """The text without the dates on which its sources were said: those numbers come from the record itself."""
        if self.zone is None:
            return text
        for day in {local_time(source.said_at, self.zone).date() for source in cited}:
            text = re.sub(rf"(?<!\d)(?:{'|'.join(map(re.escape, _day_forms(day)))})(?!\d)", " ", text)
        return text


def _day_forms(day: date) -> list[str]:
    """
    >>> _day_forms(date(2026, 3, 5))[1:4]
    ['2026年3月5日', 'March 5, 2026', '5 March 2026']
    """
    month = MONTHS[day.month - 1]
    return [
        day.isoformat(),
        f"{day.year}年{day.month}月{day.day}日",
        f"{month} {day.day}, {day.year}",
        f"{day.day} {month} {day.year}",
        f"{day.month}月{day.day}日",
        f"{month} {day.day}",
        f"{day.day} {month}",
    ]


def hidden_characters(text: str) -> list[str]:
    """Characters that change how a text is shown or hide in it: controls, bidi overrides, tags, private use."""
    odd = [char for char in dict.fromkeys(text) if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co")]
    return [char for char in odd if char not in "\n\t\u200c\u200d"]


def _runs(texts: Iterable[str]) -> dict[tuple[str, ...], str]:
    """Every run of `BORROWED_RUN` words or Chinese characters, and how it reads."""
    runs: dict[tuple[str, ...], str] = {}
    for text in map(folded, texts):
        tokens = list(re.finditer(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+", text))
        for start in range(len(tokens) - BORROWED_RUN + 1):
            run = tokens[start : start + BORROWED_RUN]
            runs[tuple(token[0] for token in run)] = text[run[0].start() : run[-1].end()]
    return runs
