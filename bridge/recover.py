"""What a program finds at its start, put right before anything else happens: see the theory in `turn.py`."""

from collections import Counter

from sqlalchemy import Connection

from core.clock import Instant

from .answer import Answering, lose_attempt
from .channels.contract import SendOutcome, Sent
from .deliver import Delivering, keep_outcome
from .store.attempts import attempts_in
from .store.replies import parts_in
from .store.turns import move_turn, turns_in
from .turn import AttemptState, PartState, TurnEvent, TurnPhase

STOPPED = "the program was stopped while it ran"


def recover(conn: Connection, answering: Answering, delivering: Delivering, now: Instant) -> Counter[str]:
    """One transaction, safe to repeat: a crash inside it leaves everything as it was found."""
    found: Counter[str] = Counter()
    for attempt in attempts_in(conn, AttemptState.DISPATCHED):
        lose_attempt(conn, answering, attempt.turn, attempt.id, STOPPED, now)
        found["unknown calls"] += 1
    for turn in turns_in(conn, TurnPhase.COMPOSING):
        move_turn(conn, turn.id, TurnEvent.FOUND_AT_START, now)
        found["turns taken up again"] += 1
    for part in parts_in(conn, PartState.SENDING):
        keep_outcome(conn, delivering, part.id, SendOutcome(Sent.UNKNOWN, reason=STOPPED), now)
        found["unknown sends"] += 1
    return found
