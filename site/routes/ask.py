"""Asking the articles with a plain form: a question in, a whole page out. The assistant's stream is beside it."""

from typing import Annotated, Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromQuery, URLEncodedBody
from pydantic import BaseModel, ConfigDict, StringConstraints

from ..conditional import WebRequest
from ..pages import Pages, View
from ..parts import Parts
from ..public_kb.asking import Answer, Asking, How, Question
from ..public_kb.knowledge import Knowledge
from ..rate import RateLimit
from ..words import WORDS, Words

BODY_LIMIT = 16 * 1024
A_MINUTE_MS = 60_000
ASKS_A_MINUTE = 20

Short = Annotated[str, StringConstraints(strip_whitespace=True, max_length=200)]


class AskForm(BaseModel):
    """What the form sends. The question's own limit is in bytes and has a sentence for the reader."""

    model_config = ConfigDict(extra="forbid")

    question: Annotated[str, StringConstraints(strip_whitespace=True)] = ""
    page: Short = ""


@get("/ask")
async def ask_form(
    request: WebRequest,
    pages: NamedDependency[Pages],
    knowledge: NamedDependency[Knowledge],
    question: FromQuery[str] = "",
    page: FromQuery[str] = "",
) -> Response[bytes]:
    """The empty form, or one with a question in it: an address never asks by itself, so no crawler spends money."""
    await knowledge.refresh()
    return pages.page(request, "ask.html", **_shown(knowledge, question, page))


@post("/ask", status_code=200, request_max_body_size=BODY_LIMIT)
async def ask(
    request: WebRequest,
    data: URLEncodedBody[AskForm],
    pages: NamedDependency[Pages],
    parts: NamedDependency[Parts],
    knowledge: NamedDependency[Knowledge],
    asking: NamedDependency[Asking],
    ask_limit: NamedDependency[RateLimit],
) -> Response[bytes]:
    await knowledge.refresh()
    view = View.of(request, pages.house)
    words = WORDS[view.language]
    shown = _shown(knowledge, data.question, data.page)
    problem = question_problem(data.question, parts.settings.site.max_question_bytes, words)
    if problem:
        return pages.page(request, "ask.html", status=400, **shown | {"problem": problem})
    if not ask_limit.allows(address_of(request), parts.clock()):
        return pages.page(request, "ask.html", status=429, **shown | {"problem": words.too_fast})
    answer = await asking.answer(Question(data.question, view.language, data.page))
    return pages.page(request, "ask.html", **shown | {"answer": answer, "note": state_of(answer, words)})


def question_problem(question: str, limit: int, words: Words) -> str:
    """What the reader must change about a question, or nothing."""
    if not question:
        return words.question_missing
    if len(question.encode("utf-8", "replace")) > limit:
        return words.question_too_long.format(limit=limit)
    return ""


def state_of(answer: Answer, words: Words) -> str:
    """One sentence on how an answer came to be, where that is not the model's plain one."""
    sentences: dict[How, str] = {
        "offline": words.state_offline,
        "budget": words.state_budget,
        "failed": words.state_failed,
        "nothing": "",
        "model": "" if answer.cited else words.state_uncited,
    }
    return sentences[answer.how]


def address_of(request: WebRequest) -> str:
    return request.client.host if request.client else ""


def _shown(knowledge: Knowledge, question: str, page: str) -> dict[str, Any]:
    # What the template names, as `Pages.page` takes it.
    return {
        "question": question,
        "page": knowledge.at(page) if page else None,
        "answer": None,
        "problem": "",
        "note": "",
    }


HANDLERS = [ask_form, ask]
