"""The states of a turn, of an attempt and of a part, and every step between them.

A **turn** is one answer to one or more messages of a conversation. It waits in `ready` until its merge window is over
and no other turn of the conversation is active; in `waiting_grant` until the site lends money again. `composing` reads
and reserves and has cost nothing. `calling` is committed together with the reservation before any byte leaves, so a
turn found there at start may have cost money: it becomes `unknown` and is not called again, unless the owner has set
`retry_unknown = "once"`: then it is asked once more, as an attempt with its own reservation. `replied`
means that the reply, its parts and their intents are stored in one transaction; `done`, that no part is on its way.

An **attempt** is one call of the model. `dispatched` ends as `settled`, as `released` (only with proof that it cost
nothing) or as `unknown` (charged in full). A turn has one attempt that is not released, unless somebody asked again.

A **part** is one message of the platform. `sending` is committed before the network call, so a part found there at
start is `unknown`: nothing tells whether the person has it. `unknown` is left by proof from the platform or by the
owner, never by time, a restart or a later success. Parts of one reply go in order: behind one that is `unknown` or
`failed`, the rest is `held`.

What cannot happen: a second call after `unknown` by itself; a send without a stored intent; `sent` without the
platform's id; a step that is not in these tables, which raises an error that names both.
"""

from enum import StrEnum
from typing import Literal

from core.errors import TransitionError

Actor = Literal["bridge", "owner", "platform"]


class TurnPhase(StrEnum):
    READY = "ready"
    COMPOSING = "composing"
    CALLING = "calling"
    REPLIED = "replied"
    DONE = "done"
    REFUSED = "refused"
    WAITING_GRANT = "waiting_grant"
    FAILED = "failed"
    UNKNOWN = "unknown"


class TurnEvent(StrEnum):
    TAKEN = "taken"
    RESERVED = "reserved"
    NO_GRANT = "no_grant"
    GRANT_CAME = "grant_came"
    REFUSED = "refused"
    TOO_OLD = "too_old"
    ANSWERED = "answered"
    NOT_CHARGED = "not_charged"
    NOT_NOW = "not_now"
    GAVE_UP = "gave_up"
    OUTCOME_UNKNOWN = "outcome_unknown"
    ASKED_AGAIN = "asked_again"
    NOTHING_ON_ITS_WAY = "nothing_on_its_way"
    PART_MOVED_AGAIN = "part_moved_again"
    FOUND_AT_START = "found_at_start"


_T, _E = TurnPhase, TurnEvent
NEXT_TURN: dict[tuple[TurnPhase, TurnEvent], TurnPhase] = {
    (_T.READY, _E.TAKEN): _T.COMPOSING,
    (_T.COMPOSING, _E.RESERVED): _T.CALLING,
    (_T.COMPOSING, _E.NO_GRANT): _T.WAITING_GRANT,
    (_T.COMPOSING, _E.REFUSED): _T.REFUSED,
    (_T.COMPOSING, _E.NOT_NOW): _T.READY,
    (_T.COMPOSING, _E.GAVE_UP): _T.FAILED,
    (_T.COMPOSING, _E.FOUND_AT_START): _T.READY,
    (_T.WAITING_GRANT, _E.GRANT_CAME): _T.READY,
    (_T.WAITING_GRANT, _E.TOO_OLD): _T.REFUSED,
    (_T.WAITING_GRANT, _E.REFUSED): _T.REFUSED,
    (_T.CALLING, _E.ANSWERED): _T.REPLIED,
    (_T.CALLING, _E.NOT_CHARGED): _T.READY,
    (_T.CALLING, _E.GAVE_UP): _T.FAILED,
    (_T.CALLING, _E.OUTCOME_UNKNOWN): _T.UNKNOWN,
    (_T.UNKNOWN, _E.ASKED_AGAIN): _T.READY,
    (_T.REPLIED, _E.NOTHING_ON_ITS_WAY): _T.DONE,
    (_T.DONE, _E.PART_MOVED_AGAIN): _T.REPLIED,
}


class AttemptState(StrEnum):
    DISPATCHED = "dispatched"
    SETTLED = "settled"
    RELEASED = "released"
    UNKNOWN = "unknown"


class AttemptEvent(StrEnum):
    SETTLED = "settled"
    RELEASED = "released"
    LOST = "lost"
    SETTLED_LATE = "settled_late"


NEXT_ATTEMPT: dict[tuple[AttemptState, AttemptEvent], AttemptState] = {
    (AttemptState.DISPATCHED, AttemptEvent.SETTLED): AttemptState.SETTLED,
    (AttemptState.DISPATCHED, AttemptEvent.RELEASED): AttemptState.RELEASED,
    (AttemptState.DISPATCHED, AttemptEvent.LOST): AttemptState.UNKNOWN,
    (AttemptState.UNKNOWN, AttemptEvent.SETTLED_LATE): AttemptState.SETTLED,
}


class PartState(StrEnum):
    INTENT = "intent"
    SENDING = "sending"
    SENT = "sent"
    ACCEPTED = "accepted"
    FAILED = "failed"
    UNKNOWN = "unknown"
    DEFERRED = "deferred"
    EXPIRED = "expired"
    HELD = "held"


class PartEvent(StrEnum):
    BEGUN = "begun"
    CONFIRMED = "confirmed"
    TAKEN = "taken"
    REFUSED = "refused"
    NOT_SENT = "not_sent"
    PUT_OFF = "put_off"
    OUTCOME_UNKNOWN = "outcome_unknown"
    FOUND_AT_START = "found_at_start"
    INBOUND_CAME = "inbound_came"
    TOO_OLD = "too_old"
    BLOCKED = "blocked"
    UNBLOCKED = "unblocked"
    SEND_AGAIN = "send_again"
    GIVEN_UP = "given_up"


_P, _S = PartState, PartEvent
NEXT_PART: dict[tuple[PartState, PartEvent], PartState] = {
    (_P.INTENT, _S.BEGUN): _P.SENDING,
    (_P.INTENT, _S.PUT_OFF): _P.DEFERRED,
    (_P.INTENT, _S.TOO_OLD): _P.EXPIRED,
    (_P.INTENT, _S.BLOCKED): _P.HELD,
    (_P.INTENT, _S.GIVEN_UP): _P.FAILED,
    (_P.SENDING, _S.CONFIRMED): _P.SENT,
    (_P.SENDING, _S.TAKEN): _P.ACCEPTED,
    (_P.SENDING, _S.REFUSED): _P.FAILED,
    (_P.SENDING, _S.NOT_SENT): _P.INTENT,
    (_P.SENDING, _S.PUT_OFF): _P.DEFERRED,
    (_P.SENDING, _S.OUTCOME_UNKNOWN): _P.UNKNOWN,
    (_P.SENDING, _S.FOUND_AT_START): _P.UNKNOWN,
    (_P.DEFERRED, _S.INBOUND_CAME): _P.INTENT,
    (_P.DEFERRED, _S.TOO_OLD): _P.EXPIRED,
    (_P.DEFERRED, _S.BLOCKED): _P.HELD,
    (_P.DEFERRED, _S.GIVEN_UP): _P.FAILED,
    (_P.HELD, _S.UNBLOCKED): _P.INTENT,
    (_P.HELD, _S.TOO_OLD): _P.EXPIRED,
    (_P.HELD, _S.GIVEN_UP): _P.FAILED,
    (_P.UNKNOWN, _S.CONFIRMED): _P.SENT,
    (_P.UNKNOWN, _S.GIVEN_UP): _P.FAILED,
    (_P.UNKNOWN, _S.SEND_AGAIN): _P.INTENT,
    (_P.FAILED, _S.SEND_AGAIN): _P.INTENT,
    (_P.EXPIRED, _S.SEND_AGAIN): _P.INTENT,
    (_P.ACCEPTED, _S.CONFIRMED): _P.SENT,
}

ON_ITS_WAY = frozenset({PartState.INTENT, PartState.SENDING, PartState.DEFERRED})
HEARD = frozenset({PartState.SENT, PartState.ACCEPTED})
BLOCKS_THE_REST = frozenset({PartState.FAILED, PartState.UNKNOWN, PartState.EXPIRED, PartState.HELD})


def next_turn(phase: TurnPhase, event: TurnEvent) -> TurnPhase:
    if (phase, event) not in NEXT_TURN:
        raise TransitionError(f"a turn that is {phase} cannot take {event}")
    return NEXT_TURN[phase, event]


def next_attempt(state: AttemptState, event: AttemptEvent) -> AttemptState:
    if (state, event) not in NEXT_ATTEMPT:
        raise TransitionError(f"an attempt that is {state} cannot take {event}")
    return NEXT_ATTEMPT[state, event]


def next_part(state: PartState, event: PartEvent, actor: Actor) -> PartState:
    """`unknown` is left by the platform's proof or by the owner only (invariant I10)."""
    if (state, event) not in NEXT_PART:
        raise TransitionError(f"a part that is {state} cannot take {event}")
    if state is PartState.UNKNOWN and actor == "bridge":
        raise TransitionError(
            f"a part that is unknown takes {event} from the platform or the owner, not from the bridge"
        )
    return NEXT_PART[state, event]
