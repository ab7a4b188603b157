"""A reader's question, from the search for sources to the checked answer, piece by piece or at once.

Order of things: sources first; none → that is the answer, and no model is called. Then money is held, then the model
is asked once; whatever happens, the hold is settled, shielded from the reader closing the page. Offline, over budget
and a failing model all end in an extractive answer that says which of these it was.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from core.budget import Refusal
from core.model.contract import ModelResult, TextPiece
from core.model.offline import language_of
from core.settings import Settings
from core.text.tokens import query_weights

from ..store.articles import Language
from ..store.publications import Teaser
from .chunks import Chunk, Piece
from .citations import Paragraph, Said, cited, read_answer
from .knowledge import Knowledge, with_earlier
from .ranking import Found
from .reader_model import Asked, ReaderModel
from .selection import published_copy
from .sources import Reading, Source, passages_within, source_of

How = Literal["model", "offline", "budget", "failed", "nothing"]

REMEMBERED = 256


@dataclass(frozen=True)
class Question:
    """`page` is a slug and `selection` a text of it; both are only hints, looked up among what is published."""

    text: str
    language: Language
    page: str = ""
    selection: str = ""
    earlier: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    how: How
    language: Language
    paragraphs: tuple[Paragraph, ...] = ()
    sources: tuple[Source, ...] = ()
    refusal: Refusal | None = None
    cited: bool = True
    """False for a model's answer that names none of its sources."""


@dataclass(frozen=True)
class Reads:
    """What the answer will rest on, told before any of it is written."""

    sources: tuple[Source, ...]


Event = Reads | TextPiece | Answer


class Asking:
    def __init__(self, settings: Settings, knowledge: Knowledge, model: ReaderModel) -> None:
        self._settings = settings
        self._knowledge = knowledge
        self._model = model
        self._answers: OrderedDict[tuple[object, ...], Answer] = OrderedDict()

    async def answer(self, question: Question) -> Answer:
        last: Event | None = None
        async with aclosing(self.stream(question)) as events:
            async for event in events:
                last = event
        assert isinstance(last, Answer)
        return last

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """`Reads`, any number of `TextPiece`s, and one `Answer` at the end. Closing it early still settles what was held."""
        edition = await self._knowledge.refresh()
        key = (question, edition)
        if (known := self._answers.get(key)) is not None:
            self._answers.move_to_end(key)
            yield known
            return
        readings = await asyncio.to_thread(self._readings, question)
        language = language_of(question.text, question.language)
        if not readings:
            yield Answer("nothing", language)
            return
        yield Reads(tuple(reading.source for reading in readings))
        async with aclosing(self._written(question, readings, language)) as events:
            async for event in events:
                if isinstance(event, Answer) and event.how == "model":
                    self._remember(key, event)
                yield event

    def _readings(self, question: Question) -> list[Reading]:
        """Sources with what may be read of each: the selected passage first, then what the question finds."""
        page = self._knowledge.at(question.page) if question.page else None
        asked = with_earlier(query_weights(question.text), question.earlier)
        found = self._knowledge.find(question.text, page.id if page else None, question.earlier)
        selected = self._selected(question.selection, page) if page else None
        if page and selected:
            others = [one for one in found if one.article != page.id][:2]
            readings = [self._reading(at, one, asked) for at, one in enumerate(others, 2)]
            first = source_of(1, page, selected, asked)
            return [self._told(first, (selected, *self._knowledge.chunks_in(page.id))), *readings]
        return [self._reading(at, one, asked) for at, one in enumerate(found, 1)]

    def _selected(self, selection: str, page: Teaser) -> Chunk | None:
        """The selected words as a passage of their own, with the block they stand in."""
        copy = published_copy(selection, self._knowledge.publication(page.id).plain) if selection else None
        if copy is None:
            return None
        pieces = [piece for chunk in self._knowledge.chunks_in(page.id) for piece in chunk.pieces]
        holding = next((piece for piece in pieces if published_copy(copy, piece.text)), pieces[0])
        return Chunk(page.id, -1, (), (Piece(holding.block, copy),))

    def _reading(self, number: int, found: Found, asked: dict[str, float]) -> Reading:
        teaser = self._knowledge.publication(found.article).teaser
        best = [self._knowledge.chunk(one) for one in found.chunks]
        rest = [chunk for chunk in self._knowledge.chunks_in(found.article) if chunk not in best]
        return self._told(source_of(number, teaser, best[0], asked), (*best, *rest))

    def _told(self, source: Source, chunks: tuple[Chunk, ...]) -> Reading:
        return Reading(source, self._settings.site_url + source.path, chunks)

    async def _written(
        self, question: Question, readings: list[Reading], language: Language
    ) -> AsyncGenerator[Event, None]:
        sources = tuple(reading.source for reading in readings)
        passages = passages_within(self._settings.site.reader_context_bytes, readings)
        if self._model.offline or not passages:
            yield extract("offline", language, sources)
            return
        asked = Asked(question.text, language, question.earlier, selected=readings[0].chunks[0].place < 0)
        async with aclosing(self._model.stream(asked, passages)) as events:
            async for event in events:
                yield event if isinstance(event, TextPiece) else _answer(event, language, sources)

    def _remember(self, key: tuple[object, ...], answer: Answer) -> None:
        self._answers[key] = answer
        if len(self._answers) > REMEMBERED:
            self._answers.popitem(last=False)


def _answer(end: Refusal | ModelResult, language: Language, sources: tuple[Source, ...]) -> Answer:
    if isinstance(end, Refusal):
        return extract("budget", language, sources, end)
    if not end.text.strip():
        return extract("failed", language, sources)
    paragraphs = read_answer(end.text, {source.number for source in sources})
    return Answer("model", language, paragraphs, sources, cited=bool(cited(paragraphs)))


def extract(how: How, language: Language, sources: tuple[Source, ...], refusal: Refusal | None = None) -> Answer:
    """An answer in the articles' own words: one quote from each source, with its number."""
    return Answer(how, language, tuple(_quoted(source) for source in sources), sources, refusal)


def _quoted(source: Source) -> Paragraph:
    left, right = ("「", "」") if source.language == "zh" else ("“", "”")
    return Said(f"{left}{source.text}{right}"), Said("", source.number)
