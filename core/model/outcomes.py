"""What may happen to a model request, what it may have cost, and whether it may be tried again. Pure.

Rows 1 to 24 are what OpenAI-compatible providers are known to do; their numbers are used in tests and notices. Three
facts decide:

- did a byte leave? If not, nothing was charged.
- did the provider say no, in a way known to be free? Then nothing was charged either.
- everything else is "maybe charged": the reservation stays at its full amount and nobody asks a second time.

Row 0 is the plain answer; rows from 25 on are what is left: answers that are none, and requests that cannot be sent.
"""

from dataclasses import dataclass, replace
from enum import Enum


class Kind(Enum):
    NOT_SENT = "not_sent"
    REJECTED = "rejected"
    AMBIGUOUS = "ambiguous"
    PARTLY_CHARGED = "partly_charged"
    INCOMPLETE = "incomplete"
    ANSWERED = "answered"


class Verdict(Enum):
    """What becomes of the reservation."""

    RELEASE = "release"
    UNKNOWN = "unknown"
    SETTLE = "settle"


class Retry(Enum):
    """Whether another attempt, with its own reservation, may follow."""

    NEVER = "never"
    LATER = "later"
    """After `ModelResult.retry_after_s`; without it, back off with jitter."""
    ONCE = "once"
    REPACK_ONCE = "repack_once"
    """Once, with a smaller context."""


class Signal(Enum):
    ANSWERED = "answered"
    NOT_CONNECTED = "not_connected"
    NO_FREE_CONNECTION = "no_free_connection"
    CONTEXT_TOO_LONG = "context_too_long"
    BAD_REQUEST = "bad_request"
    KEY_REFUSED = "key_refused"
    NO_BALANCE = "no_balance"
    NO_SUCH_MODEL = "no_such_model"
    SERVER_TIMED_OUT = "server_timed_out"
    CONFLICT = "conflict"
    BAD_PARAMETERS = "bad_parameters"
    RATE_LIMITED = "rate_limited"
    QUOTA_EXHAUSTED = "quota_exhausted"
    SERVER_ERROR = "server_error"
    GATEWAY_ERROR = "gateway_error"
    OVERLOADED = "overloaded"
    NO_ANSWER = "no_answer"
    CUT_OFF = "cut_off"
    ERROR_INSIDE = "error_inside"
    ENDED_EARLY = "ended_early"
    USAGE_MISSING = "usage_missing"
    USAGE_WRONG = "usage_wrong"
    LENGTH = "length"
    FILTERED = "filtered"
    EMPTY = "empty"
    ONLY_KEEP_ALIVE = "only_keep_alive"
    UNREADABLE = "unreadable"
    REDIRECTED = "redirected"
    ODD_STATUS = "odd_status"
    NOT_SENDABLE = "not_sendable"


@dataclass(frozen=True)
class Outcome:
    """`alerts_owner` asks for a notice, `pauses_provider` for no further call until the owner has acted."""

    signal: Signal
    row: int
    kind: Kind
    verdict: Verdict
    retry: Retry
    says: str
    alerts_owner: bool = False
    pauses_provider: bool = False


@dataclass(frozen=True)
class ProviderPolicy:
    """What a provider's documents promise about money. The default promises nothing: maybe charged."""

    unbilled_500: bool = False
    retry_503: bool = False


def _unsent(row: int, signal: Signal, retry: Retry, says: str, *, alert: bool = False) -> Outcome:
    return Outcome(signal, row, Kind.NOT_SENT, Verdict.RELEASE, retry, says, alert)


def _refused(row: int, signal: Signal, retry: Retry, says: str, *, alert: bool = False, pause: bool = False) -> Outcome:
    return Outcome(signal, row, Kind.REJECTED, Verdict.RELEASE, retry, says, alert or pause, pause)


def _maybe_charged(row: int, signal: Signal, says: str, kind: Kind = Kind.AMBIGUOUS, *, alert: bool = False) -> Outcome:
    kept = "; it may have been charged, so the reservation stays and nothing is sent again"
    return Outcome(signal, row, kind, Verdict.UNKNOWN, Retry.NEVER, says + kept, alert)


def _answered(row: int, signal: Signal, says: str, *, alert: bool = False) -> Outcome:
    return Outcome(signal, row, Kind.ANSWERED, Verdict.SETTLE, Retry.NEVER, says, alert)


_NEVER, _LATER, _ONCE, _REPACK = Retry.NEVER, Retry.LATER, Retry.ONCE, Retry.REPACK_ONCE

_ROWS = (
    _answered(0, Signal.ANSWERED, "the model answered"),
    _unsent(1, Signal.NOT_CONNECTED, _LATER, "there is no connection to the provider"),
    _unsent(2, Signal.NO_FREE_CONNECTION, _LATER, "every connection to the provider was in use"),
    _refused(3, Signal.CONTEXT_TOO_LONG, _REPACK, "the request exceeds the model's context; lower context_tokens"),
    _refused(3, Signal.BAD_REQUEST, _NEVER, "the provider does not understand the request", alert=True),
    _refused(4, Signal.KEY_REFUSED, _NEVER, "the provider refused the key; check api_key", pause=True),
    _refused(5, Signal.NO_BALANCE, _NEVER, "the provider account has no balance; top it up", pause=True),
    _refused(6, Signal.NO_SUCH_MODEL, _NEVER, "no such model or address; check name and base_url", alert=True),
    _maybe_charged(7, Signal.SERVER_TIMED_OUT, "the provider says that it timed out"),
    _refused(8, Signal.CONFLICT, _ONCE, "the provider was busy with a conflicting request"),
    _refused(9, Signal.BAD_PARAMETERS, _NEVER, "the provider refused the size or a parameter", alert=True),
    _refused(10, Signal.RATE_LIMITED, _LATER, "the provider asks to slow down"),
    _refused(11, Signal.QUOTA_EXHAUSTED, _NEVER, "the quota or credit at the provider is used up", alert=True),
    _maybe_charged(12, Signal.SERVER_ERROR, "the provider failed"),
    _maybe_charged(13, Signal.GATEWAY_ERROR, "the gateway before the provider failed"),
    _maybe_charged(14, Signal.OVERLOADED, "the provider is overloaded"),
    _maybe_charged(15, Signal.NO_ANSWER, "no whole answer came after the request was sent"),
    _maybe_charged(16, Signal.CUT_OFF, "the connection broke inside the answer", Kind.PARTLY_CHARGED),
    _maybe_charged(17, Signal.ERROR_INSIDE, "the provider put an error into its answer", Kind.PARTLY_CHARGED),
    _maybe_charged(18, Signal.ENDED_EARLY, "the answer stopped without its end mark", Kind.INCOMPLETE),
    _answered(19, Signal.USAGE_MISSING, "no usage was reported; the full reservation is charged", alert=True),
    _answered(
        20, Signal.USAGE_WRONG, "the reported usage cannot be right; at least the reservation is charged", alert=True
    ),
    _answered(21, Signal.LENGTH, "the answer was cut short by its length limit"),
    _answered(22, Signal.FILTERED, "the model or its provider declined to answer"),
    _answered(23, Signal.EMPTY, "the model answered without words"),
    _maybe_charged(24, Signal.ONLY_KEEP_ALIVE, "the provider only kept the line open until time ran out"),
    _maybe_charged(25, Signal.UNREADABLE, "the answer is not readable or too long", alert=True),
    _refused(26, Signal.REDIRECTED, _NEVER, "the address redirects, which is not followed; check base_url", alert=True),
    _maybe_charged(27, Signal.ODD_STATUS, "the provider answered with an unexpected status", alert=True),
    _unsent(28, Signal.NOT_SENDABLE, _NEVER, "it cannot be sent as configured; check base_url and api_key", alert=True),
)

TABLE: dict[Signal, Outcome] = {outcome.signal: outcome for outcome in _ROWS}

_BY_STATUS: dict[int, Signal] = {
    301: Signal.REDIRECTED,
    302: Signal.REDIRECTED,
    307: Signal.REDIRECTED,
    308: Signal.REDIRECTED,
    400: Signal.BAD_REQUEST,
    401: Signal.KEY_REFUSED,
    402: Signal.NO_BALANCE,
    403: Signal.KEY_REFUSED,
    404: Signal.NO_SUCH_MODEL,
    405: Signal.NO_SUCH_MODEL,
    408: Signal.SERVER_TIMED_OUT,
    409: Signal.CONFLICT,
    413: Signal.BAD_PARAMETERS,
    422: Signal.BAD_PARAMETERS,
    429: Signal.RATE_LIMITED,
    500: Signal.SERVER_ERROR,
    502: Signal.GATEWAY_ERROR,
    503: Signal.OVERLOADED,
    504: Signal.GATEWAY_ERROR,
}

_TOO_LONG = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_USED_UP = frozenset(
    {"insufficient_quota", "billing_hard_limit_reached", "credit_exhausted", "insufficient_balance", "quota_exceeded"}
)


def outcome_of(signal: Signal, policy: ProviderPolicy = ProviderPolicy()) -> Outcome:
    """The row of a signal, after what the provider's documents promise.

    >>> outcome_of(Signal.SERVER_ERROR).verdict
    <Verdict.UNKNOWN: 'unknown'>
    >>> outcome_of(Signal.SERVER_ERROR, ProviderPolicy(unbilled_500=True)).verdict
    <Verdict.RELEASE: 'release'>
    """
    outcome = TABLE[signal]
    if signal is Signal.SERVER_ERROR and policy.unbilled_500:
        return replace(
            outcome,
            kind=Kind.REJECTED,
            verdict=Verdict.RELEASE,
            retry=_ONCE,
            says="the provider failed; it does not charge for that",
        )
    if signal is Signal.OVERLOADED and policy.retry_503:
        return replace(
            outcome, kind=Kind.REJECTED, verdict=Verdict.RELEASE, retry=_LATER, says="the provider is overloaded"
        )
    return outcome


def signal_of_status(status: int, codes: frozenset[str] = frozenset(), says_too_long: bool = False) -> Signal:
    """What a status other than 2xx means; `codes` are the error codes and types of its body.

    >>> signal_of_status(429, frozenset({"insufficient_quota"}))
    <Signal.QUOTA_EXHAUSTED: 'quota_exhausted'>
    >>> signal_of_status(499)
    <Signal.ODD_STATUS: 'odd_status'>
    """
    if status == 400 and (says_too_long or codes & _TOO_LONG):
        return Signal.CONTEXT_TOO_LONG
    if status == 429 and codes & _USED_UP:
        return Signal.QUOTA_EXHAUSTED
    return _BY_STATUS.get(status, Signal.ODD_STATUS)
