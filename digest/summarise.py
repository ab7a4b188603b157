"""Makes a draft of one claim, or says why there is none. It asks the model at most twice and decides nothing else.

    claim ──offline──> excerpts
      └──> request ──> model ──> check ──> draft
              ^                    │ refused once: the reasons go back
              └────────────────────┘ refused twice: `failed`, with the report

What was said in the chat travels as data and comes back as text. There is nothing here that it could set off.
"""

import asyncio
from typing import Literal

from core.clock import Clock
from core.control.messages import Claim, Cost, Draft, Release
from core.model.contract import Attempt, Finish, ModelClient, ModelResult
from core.model.outcomes import Retry, Signal, Verdict, outcome_of
from core.model.request import ModelRequest

from .ask import MOST_CALLS, MOST_REASONS, Refused, Terms, most_cost, numbered, own_ids, request_for
from .check import Checked, check
from .cost import Call, total_cost
from .draft import Written, excerpt_draft, write_draft
from .wording import WORDING

NO_WORDS = "nothing in this batch has words that reached somebody: nothing was sent to the model"


async def summarise(
    terms: Terms, model: ModelClient, claim: Claim, clock: Clock, stopping: asyncio.Event
) -> Draft | Release:
    """`Release.state` is `released` where the same talk may be tried later, `unknown` where it may have been charged."""
    excerpts = excerpt_draft(claim, terms.persona, terms.zone)
    if excerpts is None:
        return Release(state="failed", reason=NO_WORDS, cost=total_cost(terms.config, (), 0))
    if terms.config.provider == "offline":
        return _draft(excerpts, _free(terms))
    return await _ask(terms, model, claim, clock, stopping)


async def _ask(
    terms: Terms, model: ModelClient, claim: Claim, clock: Clock, stopping: asyncio.Event
) -> Draft | Release:
    reserved, _ = most_cost(terms)
    own, batch, ids = terms.within(claim), numbered(claim), own_ids(claim)
    calls: list[Call] = []
    refused: Refused | None = None
    while len(calls) < MOST_CALLS:
        request = request_for(own, claim, clock(), refused)
        if len(request.body) > own.limit_bytes:
            cost = total_cost(own.config, calls, reserved)
            return Release(state="failed", reason=_does_not_fit(own, claim, request), cost=cost)
        result = await _answer(model, request, stopping)
        calls.append(Call(request, result))
        cost = total_cost(own.config, calls, reserved)
        if result.outcome.verdict is not Verdict.SETTLE or result.finish in (Finish.REFUSED, Finish.EMPTY):
            return Release(state=_state(result), reason=result.detail, cost=cost)
        checked = check(result.text, batch, known=(terms.persona,), zone=terms.zone)
        if isinstance(checked, Checked):
            return _draft(write_draft(checked.draft, claim, terms.persona, ids), cost)
        refused = Refused(result.text, _reasons(claim, result, tuple(checked.reasons(claim.language))))
    assert refused is not None
    return Release(state="failed", reason="\n".join(refused.reasons[:MOST_REASONS]), cost=cost)


async def _answer(model: ModelClient, request: ModelRequest, stopping: asyncio.Event) -> ModelResult:
    """The model's answer, or what is known when the worker is told to stop in the middle of it."""
    attempt = Attempt()
    asking = asyncio.ensure_future(model.answer(request, attempt))
    stop = asyncio.ensure_future(stopping.wait())
    await asyncio.wait({asking, stop}, return_when=asyncio.FIRST_COMPLETED)
    stop.cancel()
    if not asking.done():
        asking.cancel()
    await asyncio.wait({asking, stop})
    if not asking.cancelled():
        return asking.result()
    outcome = outcome_of(Signal.NO_ANSWER if attempt.sent else Signal.NOT_CONNECTED)
    return ModelResult(outcome, f"the worker was stopped at its work: {outcome.says}")


def _state(result: ModelResult) -> Literal["released", "failed", "unknown"]:
    if result.outcome.verdict is Verdict.UNKNOWN:
        return "unknown"
    return "released" if result.outcome.retry in (Retry.LATER, Retry.ONCE) else "failed"


def _reasons(claim: Claim, result: ModelResult, reasons: tuple[str, ...]) -> tuple[str, ...]:
    return (WORDING[claim.language].cut_short, *reasons) if result.finish is Finish.LENGTH else reasons


def _does_not_fit(terms: Terms, claim: Claim, request: ModelRequest) -> str:
    return WORDING[claim.language].does_not_fit.format(bytes=len(request.body), limit=terms.limit_bytes)


def _free(terms: Terms) -> Cost:
    return Cost(
        verdict="settle",
        provider=terms.config.provider,
        model=terms.config.name,
        outcome=Signal.ANSWERED.value,
        input_tokens=0,
        output_tokens=0,
    )


def _draft(written: Written, cost: Cost) -> Draft:
    return Draft(title=written.title, body=written.body, facts=written.facts, cost=cost)
