"""Tokens to money: whole micro-units, always rounded up. Pure."""

import math
from fractions import Fraction

from .config import ModelConfig
from .contract import ModelResult
from .outcomes import Signal, Verdict
from .request import ModelRequest


def price(config: ModelConfig, input_tokens: int, output_tokens: int) -> int:
    """Micro-units of the configured currency. A price for a million tokens, in units, is one for a token, in micros.

    >>> from decimal import Decimal
    >>> config = ModelConfig(price_input_per_mtok=Decimal("0.27"), price_output_per_mtok=Decimal("1.10"))
    >>> price(config, 1_000_000, 0), price(config, 1, 1)
    (270000, 2)
    """
    if input_tokens < 0 or output_tokens < 0:
        raise ValueError(f"tokens cannot be negative: {input_tokens} in, {output_tokens} out")
    exact = input_tokens * Fraction(config.price_input_per_mtok) + output_tokens * Fraction(
        config.price_output_per_mtok
    )
    return math.ceil(exact)


def reserve_for(config: ModelConfig, body_bytes: int, max_output_tokens: int) -> int:
    """The most a request can cost: no tokenizer makes more tokens than its text has UTF-8 bytes."""
    return price(config, body_bytes, max_output_tokens)


def cost_of(config: ModelConfig, request: ModelRequest, result: ModelResult) -> int:
    """Micro-units to put into the ledger with `result.outcome.verdict`.

    More than the reserve only if the provider reports more; the ledger then writes an overrun.
    """
    reserve = reserve_for(config, len(request.body), request.max_output_tokens)
    verdict, usage = result.outcome.verdict, result.usage
    if verdict is Verdict.RELEASE:
        return 0
    if verdict is Verdict.UNKNOWN or usage is None:
        return reserve
    reported = price(config, usage.input_tokens, usage.output_tokens)
    return max(reserve, reported) if result.outcome.signal is Signal.USAGE_WRONG else reported
