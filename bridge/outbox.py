"""The owner's hand on parts that did not simply arrive: what is unknown is decided by a person who can look."""

from typing import Literal

from sqlalchemy import Connection

from core.clock import Instant
from core.errors import BadInput, TransitionError
from core.ids import PartId

from .deliver import Delivering, after_move
from .store.replies import Part, find_part, move_part, parts_in, parts_of
from .turn import Actor, PartEvent, PartState

Resolution = Literal["delivered", "not_delivered", "send_again"]

EVENTS: dict[Resolution, PartEvent] = {
    "delivered": PartEvent.CONFIRMED,
    "not_delivered": PartEvent.GIVEN_UP,
    "send_again": PartEvent.SEND_AGAIN,
}

LISTED = (PartState.UNKNOWN, PartState.FAILED, PartState.EXPIRED, PartState.HELD, PartState.DEFERRED, PartState.INTENT)


def list_outbox(conn: Connection) -> list[Part]:
    """Every part that is not delivered, the ones that need the owner first."""
    return [part for state in LISTED for part in parts_in(conn, state)]


def resolution(how: str) -> Resolution:
    for known in EVENTS:
        if known == how:
            return known
    raise BadInput(f"{how!r} is no way to resolve a part: use {', '.join(EVENTS)}")


def resolve_part(conn: Connection, parts: Delivering, part: PartId, how: Resolution, now: Instant) -> PartState:
    """Takes the owner's word for a part. Raises BadInput when it is not one that waits for it."""
    before = find_part(conn, part)
    if before is None:
        raise BadInput(f"there is no part {part}: see `penfriend outbox list`")
    if how == "send_again" and not before.text:
        raise BadInput(f"the words of part {part} were forgotten: there is nothing to send again")
    try:
        proof = "owner" if how == "delivered" else None
        after = move_part(
            conn, part, EVENTS[how], now, actor="owner", detail=f"the owner says: {how}", platform_id=proof
        )
    except TransitionError:
        raise BadInput(
            f"part {part} is {before.state}, so it cannot be marked {how}: see `penfriend outbox list`"
        ) from None
    if after in (PartState.SENT, PartState.INTENT):
        let_the_rest_go(conn, before, now, "owner")
    after_move(conn, parts, part, now)
    return after


def let_the_rest_go(conn: Connection, part: Part, now: Instant, actor: Actor) -> None:
    """The parts that a now resolved one held up."""
    for other in parts_of(conn, part.reply):
        if other.number > part.number and other.state is PartState.HELD:
            detail = f"part {part.number} was resolved"
            move_part(conn, other.id, PartEvent.UNBLOCKED, now, actor=actor, detail=detail)
