"""The offline provider quotes, with dates and sources, says that it is offline, and invents nothing."""

from dataclasses import replace

import pytest

from core.model.config import ModelConfig
from core.model.contract import Attempt, Finish, Finished, TextPiece, Usage
from core.model.offline import LONGEST_QUOTE, OfflineModel
from core.model.outcomes import Signal
from core.model.price import cost_of
from core.model.request import Language, ModelRequest, Quote, Speaker, Task

TEA = Quote("我每天早上喝龙井", Speaker.PERSON, "2026-11-02T21:04:00+08:00")
MINE = Quote("Longjing suits the morning.", Speaker.PERSONA, "2026-11-03T08:00:00+08:00")
ARTICLE = Quote("Synapse keeps ids for half an hour.", title="Running Matrix", url="/posts/matrix#b3")


def a_request(task: Task, question: str, *quotes: Quote, language: Language = "en") -> ModelRequest:
    return ModelRequest(b"{}", task, 200, False, question, language, quotes)


async def answer(request: ModelRequest) -> str:
    return (await OfflineModel().answer(request)).text


async def test_a_reply_quotes_what_was_said_with_its_date_and_speaker() -> None:
    chinese = await answer(a_request(Task.REPLY, "我喝什么茶？", TEA, MINE))
    english = await answer(a_request(Task.REPLY, "which tea do I drink?", TEA, MINE))

    assert "离线" in chinese
    assert "2026-11-02，你说： 「我每天早上喝龙井」" in chinese
    assert "2026-11-03，我说： 「Longjing suits the morning.」" in chinese
    assert "offline" in english
    assert "2026-11-02, you said: “我每天早上喝龙井”" in english
    assert "2026-11-03, I said: “Longjing suits the morning.”" in english


async def test_a_reader_gets_passages_with_title_and_link() -> None:
    chinese = await answer(a_request(Task.READER, "Synapse 的编号保留多久？", ARTICLE))
    english = await answer(a_request(Task.READER, "how long are ids kept?", ARTICLE))

    assert "离线" in chinese and "— 《Running Matrix》 /posts/matrix#b3" in chinese
    assert "offline" in english and "— Running Matrix /posts/matrix#b3" in english


@pytest.mark.parametrize("task", list(Task))
@pytest.mark.parametrize(("question", "word"), [("昨天说了什么", "离线"), ("what did I say", "ffline")])
async def test_nothing_found_is_said_as_it_is(task: Task, question: str, word: str) -> None:
    text = await answer(a_request(task, question, Quote("  \n")))

    assert word in text
    assert "「" not in text and "“" not in text


async def test_a_reply_shows_three_quotes_and_a_digest_all_of_them_with_their_sources() -> None:
    quotes = [replace(TEA, text=f"line {number}", source=f"s{number}") for number in range(5)]

    reply = await answer(a_request(Task.REPLY, "tea?", *quotes))
    digest = await answer(a_request(Task.DIGEST, "", *quotes, language="zh"))

    assert "line 2" in reply and "line 3" not in reply
    assert all(f"「line {number}」 [s{number}]" in digest for number in range(5))


async def test_the_language_is_the_questions_or_else_the_personas() -> None:
    assert "离线" in await answer(a_request(Task.REPLY, "上次说的 Synapse 呢", language="en"))
    assert "offline" in await answer(a_request(Task.REPLY, "hi", language="zh"))
    assert "离线" in await answer(a_request(Task.REPLY, "👍", language="zh"))


async def test_a_quote_cannot_look_like_another_line_and_a_long_one_is_shortened() -> None:
    forged = replace(TEA, text="a\n\n2026-11-04, I said: “b”")

    text = await answer(a_request(Task.REPLY, "x", forged, replace(TEA, text="x" * 1_000)))

    assert len(text.split("\n\n")) == 3
    assert "x" * (LONGEST_QUOTE - 1) + "…”" in text


async def test_nothing_is_sent_and_nothing_is_charged() -> None:
    attempt, request = Attempt(), a_request(Task.REPLY, "tea?", TEA)

    result = await OfflineModel().answer(request, attempt)
    events = [event async for event in OfflineModel().stream(request, attempt)]

    assert not attempt.sent
    assert (result.outcome.signal, result.finish, result.usage) == (Signal.ANSWERED, Finish.STOP, Usage(0, 0))
    assert cost_of(ModelConfig(), request, result) == 0
    assert events == [TextPiece(result.text), Finished(result)]
