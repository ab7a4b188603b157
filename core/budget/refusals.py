"""What a person is told when paid work is refused: the limit, what is left of it, and when it resets.

One `Refusal` serves every rule of this package, so that chat, site and command line say the same thing. Refusals of
a wrong ledger entry (settling twice) are not for people: see `ledger.Rejection`.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal
from zoneinfo import ZoneInfo

from ..clock import Instant, local_time

Language = Literal["zh", "en"]


class Limit(StrEnum):
    OUTPUT_TOKENS = "output_tokens"
    REQUESTS_PER_MINUTE = "requests_per_minute"
    REQUESTS_PER_DAY = "requests_per_day"
    CONCURRENCY = "concurrency"
    TOKENS_PER_DAY = "tokens_per_day"
    MICROS_PER_DAY = "micros_per_day"
    CAP = "cap"
    FROZEN = "frozen"
    LEASE_EXPIRED = "lease_expired"
    LEASE_CALLS = "lease_calls"
    LEASE_MICROS = "lease_micros"
    ANOMALY = "anomaly"
    BREAKER = "breaker"


@dataclass(frozen=True, slots=True)
class Refusal:
    """`allowed`, `left` and `asked` are in the unit of the limit: requests, tokens, calls, failures or micro-units.

    `resets_at` is the first instant at which it may be asked again; None when no clock resets it, but an event does
    (another request ends, the owner acts, the next lease comes).
    """

    limit: Limit
    allowed: int
    left: int
    asked: int
    resets_at: Instant | None = None


_MONEY = frozenset({Limit.MICROS_PER_DAY, Limit.CAP, Limit.FROZEN, Limit.LEASE_MICROS})

_NAMES: dict[Limit, tuple[str, str]] = {
    Limit.OUTPUT_TOKENS: ("单次回答的输出 token 上限", "output tokens of one answer"),
    Limit.REQUESTS_PER_MINUTE: ("每分钟请求次数上限", "requests a minute"),
    Limit.REQUESTS_PER_DAY: ("每日请求次数上限", "requests a day"),
    Limit.CONCURRENCY: ("同时进行的请求数上限", "requests at the same time"),
    Limit.TOKENS_PER_DAY: ("每日 token 上限", "tokens a day"),
    Limit.MICROS_PER_DAY: ("每日费用上限", "money a day"),
    Limit.CAP: ("预算总额", "the whole budget"),
    Limit.FROZEN: (
        "预算（已冻结：服务商报告的用量超过了预留）",
        "the budget (frozen: a provider charged over its reserve)",
    ),
    Limit.LEASE_EXPIRED: ("当前授权（已过期）的调用次数", "calls of the current grant (expired)"),
    Limit.LEASE_CALLS: ("当前授权的调用次数", "calls of the current grant"),
    Limit.LEASE_MICROS: ("当前授权的费用", "money of the current grant"),
    Limit.ANOMALY: ("今日 token 异常保护", "tokens today before the anomaly guard stops them"),
    Limit.BREAKER: ("连续失败次数保护", "failures in a row"),
}

_OWNER_CLEARS = ("由主人解除后恢复", "It resumes when the owner clears it")
_NEXT_GRANT = ("下一次授权到达后恢复", "It resumes with the next grant")

_EVENTS: dict[Limit, tuple[str, str]] = {
    Limit.OUTPUT_TOKENS: ("该上限不会随时间重置，请减少输出", "This limit does not reset: ask for a shorter answer"),
    Limit.CONCURRENCY: ("其他请求结束后恢复", "It resumes when another request ends"),
    Limit.CAP: ("由主人提高预算后恢复", "It resumes when the owner raises the budget"),
    Limit.LEASE_EXPIRED: _NEXT_GRANT,
    Limit.LEASE_CALLS: _NEXT_GRANT,
    Limit.LEASE_MICROS: _NEXT_GRANT,
}


def money_text(micros: int) -> str:
    """Micro-units as a plain number with at least two decimals; exact, never rounded.

    >>> money_text(1_250_000), money_text(42), money_text(-500_000)
    ('1.25', '0.000042', '-0.50')
    """
    whole, part = divmod(abs(micros), 1_000_000)
    decimals = f"{part:06}".rstrip("0").ljust(2, "0")
    return f"{'-' if micros < 0 else ''}{whole}.{decimals}"


def refusal_text(refusal: Refusal, language: Language, zone: ZoneInfo) -> str:
    """One line for a person, with times on their own clock.

    >>> no = Refusal(Limit.REQUESTS_PER_DAY, allowed=200, left=0, asked=1, resets_at=Instant(57_600_000))
    >>> refusal_text(no, "en", ZoneInfo("Asia/Shanghai"))
    'Over the limit: requests a day, 200 allowed, 0 left, 1 asked. It resets at 1970-01-02 00:00 (Asia/Shanghai).'
    >>> refusal_text(no, "zh", ZoneInfo("Asia/Shanghai"))
    '超出限额：每日请求次数上限 200，剩余 0，本次需要 1。将于 1970-01-02 00:00（Asia/Shanghai）重置。'
    """
    shown = money_text if refusal.limit in _MONEY else str
    allowed, left, asked = (shown(number) for number in (refusal.allowed, refusal.left, refusal.asked))
    zh_name, en_name = _NAMES[refusal.limit]
    reset = _reset_text(refusal, language, zone)
    if language == "zh":
        return f"超出限额：{zh_name} {allowed}，剩余 {left}，本次需要 {asked}。{reset}。"
    return f"Over the limit: {en_name}, {allowed} allowed, {left} left, {asked} asked. {reset}."


def _reset_text(refusal: Refusal, language: Language, zone: ZoneInfo) -> str:
    if refusal.resets_at is None:
        return _EVENTS.get(refusal.limit, _OWNER_CLEARS)[0 if language == "zh" else 1]
    # The minute shown is never before the reset, or a person who believes it is refused once more.
    minute_ms = 60_000
    at = local_time(Instant(-(-refusal.resets_at // minute_ms) * minute_ms), zone).strftime("%Y-%m-%d %H:%M")
    return f"将于 {at}（{zone.key}）重置" if language == "zh" else f"It resets at {at} ({zone.key})"
