"""Stops paid work of a conversation or a provider after failures in a row. The rules are `core.budget.breaker`.

A call that is tried again by itself is not counted before it has given up, so that a short outage is one failure.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from core.budget import Breaker, BreakerRule, CallOutcome, Refusal, begin_call, end_call
from core.budget.breaker import Phase
from core.clock import Instant
from core.ids import ConversationId

from .store.breakers import get_breaker, keep_breaker

RULE = BreakerRule()


@dataclass(frozen=True)
class Subjects:
    """What a call is counted for."""

    conversation: str
    provider: str


@dataclass(frozen=True)
class Stopped:
    """`trial`: the cool-down is over and another call tries whether things are well again; that one decides soon."""

    refusal: Refusal
    trial: bool


def subjects_of(conversation: ConversationId, provider: str) -> Subjects:
    return Subjects(f"conversation:{conversation}", f"provider:{provider}")


def why_stopped(conn: Connection, subjects: Subjects, now: Instant) -> Stopped | None:
    """Looks, and changes nothing."""
    for subject in (subjects.provider, subjects.conversation):
        before = get_breaker(conn, subject)
        _, refusal = begin_call(before, RULE, now)
        if refusal is not None:
            return Stopped(refusal, before.phase is Phase.TRIAL)
    return None


def note_begin(conn: Connection, subjects: Subjects, now: Instant) -> None:
    """The call leaves: where the cool-down is over, it is the trial."""
    for subject in (subjects.provider, subjects.conversation):
        before = get_breaker(conn, subject)
        _keep(conn, subject, before, begin_call(before, RULE, now)[0], now)


def note_end(
    conn: Connection, subjects: Subjects, outcome: CallOutcome, now: Instant, *, goes_on: bool = False
) -> None:
    """How a call ended. `goes_on`: another one follows by itself, so only a trial is decided by it."""
    # A wrong key is the provider's matter: it does not lock the conversation, which may get another model.
    of_conversation = CallOutcome.FAILED if outcome is CallOutcome.DENIED else outcome
    for subject, its in ((subjects.provider, outcome), (subjects.conversation, of_conversation)):
        before = get_breaker(conn, subject)
        if not goes_on or before.phase is Phase.TRIAL:
            _keep(conn, subject, before, end_call(before, RULE, its, now), now)


def _keep(conn: Connection, subject: str, before: Breaker, after: Breaker, now: Instant) -> None:
    if after != before:
        keep_breaker(conn, subject, after, now)
