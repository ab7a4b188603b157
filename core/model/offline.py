"""The embedded default provider: no network, no charge, no inventions. It quotes what it was given and says so.

It reads the request's quotes, never the prompt. Who is speaking is kept apart: what the persona said is never shown
as the person's words.
"""

import re
from collections.abc import AsyncGenerator

from .contract import Attempt, Finish, Finished, ModelEvent, ModelResult, TextPiece, Usage
from .outcomes import Signal, outcome_of
from .request import Language, ModelRequest, Quote, Speaker, Task

MOST_QUOTES = 3
LONGEST_QUOTE = 280

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LATIN = re.compile(r"[A-Za-z]")

_OPENING: dict[tuple[Task, Language], str] = {
    (Task.REPLY, "zh"): "我现在离线，身边没有模型，只能把记得的原话找给你：",
    (Task.REPLY, "en"): "I am offline, with no model at hand, so all I can do is quote what I remember:",
    (Task.READER, "zh"): "助手现在离线。文章里有这些原文：",
    (Task.READER, "en"): "The assistant is offline. The articles have these passages:",
    (Task.DIGEST, "zh"): "离线摘录，只有原话：",
    (Task.DIGEST, "en"): "Offline excerpts, in the words that were used:",
}

_NOTHING: dict[tuple[Task, Language], str] = {
    (Task.REPLY, "zh"): "我现在离线，身边没有模型。关于这件事，我没找到记得的话。你说的我收着。",
    (
        Task.REPLY,
        "en",
    ): "I am offline, with no model at hand, and I found nothing I remember about this. Your words are kept.",
    (Task.READER, "zh"): "助手现在离线，在文章里也没有找到相关的内容。",
    (Task.READER, "en"): "The assistant is offline, and nothing in the articles matches.",
    (Task.DIGEST, "zh"): "离线，也没有可以摘录的话。",
    (Task.DIGEST, "en"): "Offline, and nothing was said that could be excerpted.",
}

_SAID: dict[tuple[Speaker, Language], str] = {
    (Speaker.PERSON, "zh"): "你说",
    (Speaker.PERSON, "en"): "you said",
    (Speaker.PERSONA, "zh"): "我说",
    (Speaker.PERSONA, "en"): "I said",
    (Speaker.OTHER, "zh"): "别人说",
    (Speaker.OTHER, "en"): "somebody else said",
}


class OfflineModel:
    """`ModelClient` without a network: `Attempt.sent` stays False, and the usage is nothing."""

    async def answer(self, request: ModelRequest, attempt: Attempt | None = None) -> ModelResult:
        outcome = outcome_of(Signal.ANSWERED)
        detail = "offline: the answer only quotes; nothing was sent and nothing is charged"
        return ModelResult(outcome, detail, quote_text(request), Finish.STOP, Usage(0, 0))

    async def stream(self, request: ModelRequest, attempt: Attempt | None = None) -> AsyncGenerator[ModelEvent, None]:
        result = await self.answer(request, attempt)
        yield TextPiece(result.text)
        yield Finished(result)

    async def aclose(self) -> None:
        return None


def quote_text(request: ModelRequest) -> str:
    """A digest quotes everything it was given; a reply or a reader gets the first few, the best first."""
    language = language_of(request.question, request.language)
    quotes = [quote for quote in request.quotes if quote.text.strip()]
    if not quotes:
        return _NOTHING[request.task, language]
    shown = quotes if request.task is Task.DIGEST else quotes[:MOST_QUOTES]
    return "\n\n".join([_OPENING[request.task, language], *(_line(quote, language) for quote in shown)])


def language_of(question: str, otherwise: Language) -> Language:
    """
    >>> language_of("上次说的 Synapse 呢", "en"), language_of("what about 茶", "zh"), language_of("👍", "zh")
    ('zh', 'en', 'zh')
    """
    # A Han character carries about as much as half an English word, so three letters weigh as much as one.
    han, latin = len(_HAN.findall(question)), len(_LATIN.findall(question)) / 3
    if han == latin == 0:
        return otherwise
    return "zh" if han >= latin else "en"


def _line(quote: Quote, language: Language) -> str:
    words = _in_one_line(quote.text)
    quoted = f"「{words}」" if language == "zh" else f"“{words}”"
    return " ".join(part for part in (_lead(quote, language), quoted, _origin(quote, language)) if part)


def _lead(quote: Quote, language: Language) -> str:
    """When, and who; an article's passage needs neither.

    >>> _lead(Quote("hi", Speaker.PERSON, "2026-11-02T21:04:00+08:00"), "en")
    '2026-11-02, you said:'
    """
    who = _SAID[quote.speaker, language] if quote.speaker else ""
    parts = [part for part in ((quote.said_at or "")[:10], who) if part]
    comma, colon = ("，", "：") if language == "zh" else (", ", ":")
    return comma.join(parts) + colon if parts else ""


def _origin(quote: Quote, language: Language) -> str:
    title = quote.title and (f"《{quote.title}》" if language == "zh" else quote.title)
    where = " ".join(part for part in (title, quote.url) if part)
    named = f"— {where}" if where else ""
    return " ".join(part for part in (named, f"[{quote.source}]" if quote.source else "") if part)


def _in_one_line(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= LONGEST_QUOTE else words[: LONGEST_QUOTE - 1].rstrip() + "…"
