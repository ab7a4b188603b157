"""What a program finds at its start, put right before anything else happens: see the theory in `turn.py`."""

from collections import Counter
from collections.abc import Collection

from sqlalchemy import Connection

from core.clock import Instant
from core.ids import Account, TurnId

from .answering import Answering
from .channels.contract import SendOutcome, Sent
from .deliver import Delivering, expire_old, keep_outcome
from .ending import lose_attempt
from .store.attempts import attempts_in
from .store.conversations import list_conversations
from .store.replies import parts_in
from .store.turns import move_turn, turns_in
from .turn import AttemptState, PartState, TurnEvent, TurnPhase

STOPPED = "the program was stopped while it ran"


def recover(conn: Connection, answering: Answering, delivering: Delivering, now: Instant) -> Counter[str]:
    """One transaction, safe to repeat: a crash inside it leaves everything as it was found."""
    found = recover_turns(conn, answering, (), now)
    for part in parts_in(conn, PartState.SENDING):
        keep_outcome(conn, delivering, part.id, SendOutcome(Sent.UNKNOWN, reason=STOPPED), now)
        found["unknown sends"] += 1
    for account in {conversation.account for conversation in list_conversations(conn)}:
        # Also of channels that were taken out of the settings: nobody else looks at theirs.
        found["replies too old"] += expire_old(
            conn, delivering, Account(account), delivering.capabilities(account), now
        )
    return found


def recover_turns(conn: Connection, answering: Answering, busy: Collection[TurnId], now: Instant) -> Counter[str]:
    """Turns that nobody works at although they are under way: at start, and after a step that the store failed.

    `busy` are those that somebody works at.
    """
    found: Counter[str] = Counter()
    for attempt in attempts_in(conn, AttemptState.DISPATCHED):
        if attempt.turn not in busy:
            lose_attempt(conn, answering, attempt.turn, attempt.id, STOPPED, now)
            found["unknown calls"] += 1
    for turn in turns_in(conn, TurnPhase.COMPOSING):
        if turn.id not in busy:
            move_turn(conn, turn.id, TurnEvent.FOUND_AT_START, now)
            found["turns taken up again"] += 1
    return found
