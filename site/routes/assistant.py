"""The assistant's stream: what it read, what it says as it is said, and how it ended; or a plan to confirm.

Events: `reads {sources}`, `text {text}`, `answer {how, note, language, paragraphs, sources}`, `plan {plan, seal}`.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.exceptions import ClientException, TooManyRequestsException
from litestar.params import JSONBody
from litestar.response import ServerSentEvent
from litestar.response.sse import ServerSentEventMessage
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from core.model.contract import TextPiece

from ..conditional import FOR_EVER, WebRequest, conditional
from ..language import Language
from ..pages import Pages
from ..parts import Parts
from ..plan.catalog import as_json
from ..plan.propose import propose
from ..plan.seal import Seals
from ..plan.validate import PlanRefused
from ..public_kb.asking import Answer, Asking, Event, Question, Reads
from ..rate import RateLimit
from ..words import WORDS
from .ask import BODY_LIMIT, address_of, question_problem, state_of

PING_S = 15.0
MOST_STREAMS = 64

Line = Annotated[str, StringConstraints(strip_whitespace=True, max_length=2_000)]


class AssistantQuestion(BaseModel):
    """What the page sends. There is no field for answers: what was said before is not the browser's to tell."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, StringConstraints(strip_whitespace=True)]
    language: Language
    page: Annotated[str, StringConstraints(max_length=200)] = ""
    selection: Line = ""
    earlier: Annotated[tuple[Line, ...], Field(max_length=2)] = ()


class ConfirmedPlan(BaseModel):
    model_config = ConfigDict(extra="forbid")

    plan: dict[str, object]
    seal: Annotated[str, StringConstraints(max_length=200)]


class Streams:
    """How many answers are being streamed now."""

    def __init__(self) -> None:
        self.running = 0


@post("/assistant/ask", status_code=200, request_max_body_size=BODY_LIMIT)
async def assistant_ask(
    request: WebRequest,
    data: JSONBody[AssistantQuestion],
    parts: NamedDependency[Parts],
    asking: NamedDependency[Asking],
    seals: NamedDependency[Seals],
    streams: NamedDependency[Streams],
    ask_limit: NamedDependency[RateLimit],
) -> ServerSentEvent:
    words = WORDS[data.language]
    if problem := question_problem(data.question, parts.settings.site.max_question_bytes, words):
        raise ClientException(problem)
    if streams.running >= MOST_STREAMS or not ask_limit.allows(address_of(request), parts.clock()):
        raise TooManyRequestsException(words.too_fast)
    plan = None if data.selection else propose(data.question, data.language)
    if plan is not None:
        return ServerSentEvent(_one("plan", {"plan": plan, "seal": seals.seal(plan, "reader", ())}))
    question = Question(data.question, data.language, data.page, data.selection, data.earlier)
    return ServerSentEvent(_told(asking.stream(question), data.language, streams))


@post("/assistant/plans/confirm", status_code=204, request_max_body_size=BODY_LIMIT)
async def confirm_plan(data: JSONBody[ConfirmedPlan], seals: NamedDependency[Seals]) -> None:
    """Opens the seal, once; the browser runs the steps after that."""
    try:
        seals.confirm(data.plan, data.seal, "reader")
    except PlanRefused as refused:
        raise ClientException(str(refused), status_code=409) from refused


@get("/assistant/catalog.json")
async def catalog(request: WebRequest, pages: NamedDependency[Pages]) -> Response[bytes]:
    """The actions there are; the page names this address with the version of the program, so it may be kept."""
    return conditional(request, json.dumps(as_json()).encode(), "application/json", caching=FOR_EVER)


async def _told(
    events: AsyncGenerator[Event, None], language: Language, streams: Streams
) -> AsyncIterator[ServerSentEventMessage]:
    streams.running += 1
    try:
        async with aclosing(_with_pings(events)) as paced:
            async for event in paced:
                yield ServerSentEventMessage(comment="ping") if event is None else _message(event, language)
    finally:
        streams.running -= 1


async def _with_pings(events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event | None, None]:
    """The events, and None for every PING_S seconds without one: proxies cut silent connections."""
    async with aclosing(events):
        while True:
            coming = asyncio.ensure_future(anext(events, None))
            try:
                while not (await asyncio.wait({coming}, timeout=PING_S))[0]:
                    yield None
            finally:
                if not coming.done():
                    coming.cancel()
                    await asyncio.wait({coming})
            event = coming.result()
            if event is None:
                return
            yield event


def _message(event: Event, language: Language) -> ServerSentEventMessage:
    if isinstance(event, TextPiece):
        return _event("text", {"text": event.text})
    if isinstance(event, Reads):
        return _event("reads", {"sources": [asdict(source) for source in event.sources]})
    return _event("answer", _answer(event, language))


def _answer(answer: Answer, language: Language) -> dict[str, object]:
    return {
        "how": answer.how,
        "note": state_of(answer, WORDS[language]),
        "language": answer.language,
        "paragraphs": [[asdict(piece) for piece in paragraph] for paragraph in answer.paragraphs],
        "sources": [asdict(source) for source in answer.sources],
    }


async def _one(name: str, data: dict[str, object]) -> AsyncIterator[ServerSentEventMessage]:
    yield _event(name, data)


def _event(name: str, data: dict[str, object]) -> ServerSentEventMessage:
    return ServerSentEventMessage(event=name, data=json.dumps(data, ensure_ascii=False))


HANDLERS = [assistant_ask, confirm_plan, catalog]
