"""The rules of money and of limits, as plain functions: no clock, no store, no log.

The site's ledger and the bridge's reservations inside a lease use the same rules. What a store keeps and which SQL
statement guards it is written where the store is.

    ledger.py    entries and the balance they add up to: reserve, settle, release, unknown, overrun, adjust
    lease.py     a piece of a pool lent to the bridge: spending inside it and the report that closes it
    limits.py    requests, tokens and money by minute and by the owner's day
    anomaly.py   the guard on the owner's own chat, which has no money cap
    breaker.py   consecutive failures stop further calls
    refusals.py  what a person is told: which limit, what is left, when it resets
"""

from .anomaly import AnomalyRule, AnomalyState, clear_anomaly, judge_day
from .breaker import Breaker, BreakerRule, CallOutcome, Phase, begin_call, clear_breaker, end_call
from .lease import Lease, LeaseReport, after_change, close_lease, close_report, reserve_in_lease
from .ledger import (
    Balance,
    Change,
    Entry,
    Kind,
    Proof,
    Rejection,
    RejectionReason,
    ReservationId,
    adjust,
    fold,
    mark_unknown,
    release,
    reserve,
    set_cap,
    settle,
    thaw,
)
from .limits import Admitted, Limits, Request, Usage, admit, close_request, no_usage
from .refusals import Language, Limit, Refusal, money_text, refusal_text

__all__ = [
    "Admitted",
    "AnomalyRule",
    "AnomalyState",
    "Balance",
    "Breaker",
    "BreakerRule",
    "CallOutcome",
    "Change",
    "Entry",
    "Kind",
    "Language",
    "Lease",
    "LeaseReport",
    "Limit",
    "Limits",
    "Phase",
    "Proof",
    "Refusal",
    "Rejection",
    "RejectionReason",
    "Request",
    "ReservationId",
    "Usage",
    "adjust",
    "admit",
    "after_change",
    "begin_call",
    "clear_anomaly",
    "clear_breaker",
    "close_lease",
    "close_report",
    "close_request",
    "end_call",
    "fold",
    "judge_day",
    "mark_unknown",
    "money_text",
    "no_usage",
    "refusal_text",
    "release",
    "reserve",
    "reserve_in_lease",
    "set_cap",
    "settle",
    "thaw",
]
