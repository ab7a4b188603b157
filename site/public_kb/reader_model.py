"""One call of the model for one reader: held before it, asked once, settled after it whatever happened."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from core.budget import Proof, Refusal
from core.clock import Clock, local_time
from core.model.config import ModelConfig
from core.model.contract import Attempt, Finished, ModelClient, ModelResult, TextPiece
from core.model.outcomes import Kind, Verdict
from core.model.price import cost_of, reserve_for
from core.model.request import Message, ModelRequest, Task, build_request
from core.model.system_text import Passage, PersonaFacts, ReaderBrief, build_system_text
from core.settings import Settings

from ..ledger.readers import ReaderBudget, Spent
from ..store.articles import Language
from ..store.reservations import Reservation


@dataclass(frozen=True)
class Asked:
    """What a reader asks. `selected` says that passage 1 is what they marked on the page."""

    question: str
    language: Language
    earlier: tuple[str, ...] = ()
    selected: bool = False


class ReaderModel:
    """`config.max_output_tokens` must be within the pool's, or every answer would be refused."""

    def __init__(
        self, settings: Settings, config: ModelConfig, client: ModelClient, budget: ReaderBudget, clock: Clock
    ) -> None:
        self._settings = settings
        self._config = config
        self._client = client
        self._budget = budget
        self._clock = clock

    @property
    def offline(self) -> bool:
        return self._config.provider == "offline"

    async def stream(
        self, asked: Asked, passages: tuple[Passage, ...]
    ) -> AsyncGenerator[TextPiece | ModelResult | Refusal, None]:
        """Pieces, then how it ended; or at once the limit that forbids it. Closing it early still settles the hold."""
        request = self._request(asked, passages)
        held = await self._budget.reserve(
            reserve_for(self._config, len(request.body), request.max_output_tokens),
            len(request.body) + request.max_output_tokens,
            request.max_output_tokens,
        )
        if isinstance(held, Refusal):
            yield held
            return
        async with aclosing(self._called(request, held)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        await self._client.aclose()

    def _request(self, asked: Asked, passages: tuple[Passage, ...]) -> ModelRequest:
        persona = self._settings.persona
        facts = PersonaFacts(persona.name, persona.language, persona.timezone)
        now = local_time(self._clock(), ZoneInfo(persona.timezone))
        system = build_system_text(ReaderBrief(facts, now, None, passages))
        messages = [Message("system", system.whole), Message("user", _said_by_reader(asked))]
        return build_request(
            self._config, messages, task=Task.READER, question=asked.question, language=asked.language, streamed=True
        )

    async def _called(self, request: ModelRequest, held: Reservation) -> AsyncGenerator[TextPiece | ModelResult, None]:
        attempt, result = Attempt(), None
        try:
            async with aclosing(self._client.stream(request, attempt)) as events:
                async for event in events:
                    if isinstance(event, TextPiece):
                        yield event
                    elif isinstance(event, Finished):
                        result = event.result
                        yield result
        finally:
            await asyncio.shield(self._settle(request, held, attempt, result))

    async def _settle(
        self, request: ModelRequest, held: Reservation, attempt: Attempt, result: ModelResult | None
    ) -> None:
        """What the ledger is told. A reader who left in the middle leaves a call that may have been charged in full."""
        verdict = attempt.verdict_if_stopped if result is None else result.outcome.verdict
        if verdict is Verdict.RELEASE:
            sent = result is not None and result.outcome.kind is not Kind.NOT_SENT
            await self._budget.release(held, Proof.REJECTED if sent else Proof.NOT_SENT)
            return
        spent = self._spent(request, result)
        await (self._budget.unknown if verdict is Verdict.UNKNOWN else self._budget.settle)(held, spent)

    def _spent(self, request: ModelRequest, result: ModelResult | None) -> Spent:
        provider, name = self._config.provider, self._config.name
        if result is None:
            return Spent(provider, name, "stopped", incomplete=True)
        usage = result.usage
        return Spent(
            provider,
            name,
            result.outcome.signal.value,
            cost_of(self._config, request, result),
            usage.input_tokens if usage else None,
            usage.output_tokens if usage else None,
            incomplete=usage is None,
        )


def _said_by_reader(asked: Asked) -> str:
    """Earlier questions are data, so they travel as JSON beside the question."""
    if not asked.earlier and not asked.selected:
        return asked.question
    marked = {"about_passage": 1} if asked.selected else {}
    return json.dumps({"earlier_questions": asked.earlier, **marked, "question": asked.question}, ensure_ascii=False)
