"""What the calls for one draft come to for the ledger. Pure.

A repair shares the reservation of the first call, so both are one line there. One call that may have been charged makes
the whole unknown, at the full amount: what the other one cost is certain, but the reservation cannot be half open.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from core.control.messages import Cost
from core.model.config import ModelConfig
from core.model.contract import ModelResult
from core.model.outcomes import Signal, Verdict
from core.model.price import cost_of
from core.model.request import ModelRequest


@dataclass(frozen=True)
class Call:
    request: ModelRequest
    result: ModelResult


def total_cost(config: ModelConfig, calls: Sequence[Call], reserved_micros: int) -> Cost:
    """Without a call nothing was sent and nothing is owed."""
    if not calls:
        return Cost(verdict="release", provider=config.provider, model=config.name, outcome="not_sent")
    settled = [call for call in calls if call.result.outcome.verdict is Verdict.SETTLE]
    outcome = calls[-1].result.outcome.signal.value
    if any(call.result.outcome.verdict is Verdict.UNKNOWN for call in calls):
        return Cost(
            verdict="unknown", micros=reserved_micros, provider=config.provider, model=config.name, outcome=outcome
        )
    if not settled:
        return Cost(verdict="release", provider=config.provider, model=config.name, outcome=outcome)
    usages = [call.result.usage for call in settled if call.result.usage is not None]
    incomplete = len(usages) < len(settled) or any(
        call.result.outcome.signal in (Signal.USAGE_MISSING, Signal.USAGE_WRONG) for call in settled
    )
    return Cost(
        verdict="settle",
        micros=sum(cost_of(config, call.request, call.result) for call in settled),
        provider=config.provider,
        model=config.name,
        outcome=outcome,
        input_tokens=sum(usage.input_tokens for usage in usages) if usages else None,
        output_tokens=sum(usage.output_tokens for usage in usages) if usages else None,
        incomplete=incomplete,
    )
