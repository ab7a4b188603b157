"""A provider that is told what to do, and writes down what it charges before it answers."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Literal

from core.model.config import ModelConfig
from core.model.contract import Attempt, Finish, Finished, ModelEvent, ModelResult, TextPiece, Usage
from core.model.outcomes import Kind, Signal, Verdict, outcome_of
from core.model.price import price, reserve_for
from core.model.request import ModelRequest

from .journal import Journal

Does = Signal | Literal["overrun"]

INPUT_TOKENS, OUTPUT_TOKENS = 100, 20


class ScriptedModel:
    """`script` says what becomes of each call, counted over the provider's whole life; after it every call is answered.

    An answer repeats the question, so that it can be told which one it answers. A maybe-charged call is charged in full.
    """

    def __init__(
        self,
        folder: Path,
        config: ModelConfig,
        script: Sequence[Does] = (),
        *,
        reach: Callable[[str], None] = lambda _point: None,
        retry_after_s: float | None = None,
        answer: str = "answer to: {question}",
    ) -> None:
        self.calls = Journal(folder / "model.log")
        self.script = list(script)
        self._config, self._reach, self._retry_after_s, self._answer = config, reach, retry_after_s, answer

    async def answer(self, request: ModelRequest, attempt: Attempt | None = None) -> ModelResult:
        self._reach("model before")
        await asyncio.sleep(0)
        number = len(self.calls)
        does: Does = self.script[number] if number < len(self.script) else Signal.ANSWERED
        outcome = outcome_of(Signal.ANSWERED if does == "overrun" else does)
        usage = self._usage(request, does)
        sent = outcome.kind is not Kind.NOT_SENT
        if attempt is not None:
            attempt.sent = sent
        self.calls.note(
            number=number,
            does=str(does),
            question=request.question,
            bytes=len(request.body),
            max_output_tokens=request.max_output_tokens,
            reserve_micros=reserve_for(self._config, len(request.body), request.max_output_tokens),
            charged_micros=self._charge(request, outcome.verdict, usage),
            maybe_charged=outcome.verdict is not Verdict.RELEASE,
        )
        self._reach("model applied")
        await asyncio.sleep(0)
        finish = Finish.STOP if outcome.verdict is Verdict.SETTLE else Finish.NONE
        finish = {Signal.LENGTH: Finish.LENGTH, Signal.FILTERED: Finish.REFUSED, Signal.EMPTY: Finish.EMPTY}.get(
            outcome.signal, finish
        )
        text = self._answer.format(question=request.question) if finish in (Finish.STOP, Finish.LENGTH) else ""
        told = None if outcome.signal is Signal.USAGE_MISSING else usage
        self._reach("model answered")
        await asyncio.sleep(0)
        return ModelResult(outcome, outcome.says, text, finish, told, retry_after_s=self._retry_after_s)

    async def stream(self, request: ModelRequest, attempt: Attempt | None = None) -> AsyncGenerator[ModelEvent, None]:
        result = await self.answer(request, attempt)
        yield TextPiece(result.text)
        yield Finished(result)

    async def aclose(self) -> None:
        return None

    def _usage(self, request: ModelRequest, does: Does) -> Usage | None:
        if does == "overrun":
            return Usage(len(request.body) * 3, OUTPUT_TOKENS)
        return Usage(INPUT_TOKENS, OUTPUT_TOKENS) if outcome_of(does).verdict is Verdict.SETTLE else None

    def _charge(self, request: ModelRequest, verdict: Verdict, usage: Usage | None) -> int:
        if verdict is Verdict.RELEASE:
            return 0
        if usage is None:
            return reserve_for(self._config, len(request.body), request.max_output_tokens)
        return price(self._config, usage.input_tokens, usage.output_tokens)
