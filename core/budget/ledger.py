"""The ledger: immutable entries, the balance they add up to, and who may write which entry.

A reservation (one attempt, one lease, or one digest claim) goes through these entries, each kind at most once, so a
store keeps it true with UNIQUE (pool, reservation, kind):

    reserve ─┬─ settle [+ overrun]               the provider told what it cost
             ├─ release                          proved that nothing was charged
             └─ unknown ── adjust [+ overrun]    maybe charged: the full reserve counts until better evidence comes

All amounts are whole micro-units of one currency. Laws, held by every function here:

    fold(entries) == (held, spent);  held >= 0;  spent >= 0;  held + spent <= cap when there is a cap.

No rule here looks at a clock: a deadline never releases money.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from ..errors import BadInput
from ..ids import AttemptId, ClaimId, LeaseId
from .refusals import Limit, Refusal

ReservationId = AttemptId | LeaseId | ClaimId


class Kind(StrEnum):
    RESERVE = "reserve"
    SETTLE = "settle"
    RELEASE = "release"
    UNKNOWN = "unknown"
    OVERRUN = "overrun"
    ADJUST = "adjust"


CLOSING = frozenset({Kind.SETTLE, Kind.RELEASE, Kind.UNKNOWN})


class Proof(StrEnum):
    """Why we know that nothing was charged; without one of these a reservation is not released."""

    NOT_SENT = "not_sent"
    REJECTED = "rejected"
    UNBILLED_BY_POLICY = "unbilled_by_policy"


@dataclass(frozen=True, slots=True)
class Entry:
    """`micros` is the amount the event names; `held` and `spent` are what it changes in the balance.

    They differ for an overrun only: its `micros` is all that the provider charged over the reserve, its `spent` the
    part that still fitted under the cap.
    """

    reservation: ReservationId
    kind: Kind
    micros: int
    held: int
    spent: int
    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Balance:
    cap: int | None
    held: int = 0
    spent: int = 0
    frozen: bool = False

    def __post_init__(self) -> None:
        assert self.held >= 0 and self.spent >= 0, f"{self}: held and spent are never negative"
        assert self.cap is None or self.held + self.spent <= self.cap, f"{self}: more is used than the cap allows"

    @property
    def left(self) -> int | None:
        """What may still be reserved; None without a cap."""
        return None if self.cap is None else self.cap - self.held - self.spent


@dataclass(frozen=True, slots=True)
class Change:
    """The entries to append, and the balance after them; both belong into one transaction."""

    balance: Balance
    entries: tuple[Entry, ...]


class RejectionReason(StrEnum):
    ALREADY_RESERVED = "already_reserved"
    NOT_RESERVED = "not_reserved"
    ALREADY_CLOSED = "already_closed"
    NOT_UNKNOWN = "not_unknown"
    ALREADY_ADJUSTED = "already_adjusted"
    CAP_BELOW_USED = "cap_below_used"
    STILL_HELD = "still_held"


@dataclass(frozen=True, slots=True)
class Rejection:
    """An entry that must not be written. For programs and logs; people are told a `Refusal`."""

    reason: RejectionReason
    message: str


def fold(entries: Iterable[Entry]) -> tuple[int, int]:
    """What the entries add up to: (held, spent).

    >>> a = AttemptId("a")
    >>> fold([Entry(a, Kind.RESERVE, 10, 10, 0), Entry(a, Kind.SETTLE, 4, -10, 4)])
    (0, 4)
    """
    held = spent = 0
    for entry in entries:
        held += entry.held
        spent += entry.spent
    return held, spent


def reserve(
    balance: Balance, past: Sequence[Entry], reservation: ReservationId, micros: int
) -> Change | Refusal | Rejection:
    """Hold the most that a call can cost, before any byte of it leaves.

    `past` is what the ledger holds of this reservation; it must be empty.
    """
    _check_amount(micros)
    if past:
        return Rejection(RejectionReason.ALREADY_RESERVED, f"{reservation} is reserved already: use a new id")
    if balance.frozen:
        return Refusal(Limit.FROZEN, allowed=balance.cap or 0, left=0, asked=micros)
    if balance.cap is not None and balance.left is not None and micros > balance.left:
        return Refusal(Limit.CAP, allowed=balance.cap, left=balance.left, asked=micros)
    return _change(balance, Entry(reservation, Kind.RESERVE, micros, held=micros, spent=0))


def settle(balance: Balance, past: Sequence[Entry], micros: int) -> Change | Rejection:
    """The provider told what the attempt cost. More than was reserved is true all the same: it is spent up to the
    cap, the whole excess is written as an overrun, and the pool is frozen until the owner looks at it.
    """
    _check_amount(micros)
    opened = _open_reserve(past)
    if isinstance(opened, Rejection):
        return opened
    inside = min(micros, opened.micros)
    settled = Entry(opened.reservation, Kind.SETTLE, inside, held=-opened.micros, spent=inside)
    return _with_overrun(_change(balance, settled), opened.reservation, micros - inside)


def release(balance: Balance, past: Sequence[Entry], proof: Proof) -> Change | Rejection:
    """Give the whole reserve back; only with the proof that nothing was charged."""
    opened = _open_reserve(past)
    if isinstance(opened, Rejection):
        return opened
    return _change(
        balance, Entry(opened.reservation, Kind.RELEASE, opened.micros, held=-opened.micros, spent=0, proof=proof)
    )


def mark_unknown(balance: Balance, past: Sequence[Entry]) -> Change | Rejection:
    """Maybe charged: the full reserve counts as spent. So the owner writes off a lease that was never reported."""
    opened = _open_reserve(past)
    if isinstance(opened, Rejection):
        return opened
    return _change(
        balance, Entry(opened.reservation, Kind.UNKNOWN, opened.micros, held=-opened.micros, spent=opened.micros)
    )


def adjust(balance: Balance, past: Sequence[Entry], micros: int) -> Change | Rejection:
    """Correct an unknown reservation, once, to what it really cost: by the owner, or by a settlement that came late."""
    _check_amount(micros)
    kinds = {entry.kind for entry in past}
    if Kind.UNKNOWN not in kinds:
        return Rejection(
            RejectionReason.NOT_UNKNOWN, "only a reservation that is unknown is adjusted: settle it instead"
        )
    if Kind.ADJUST in kinds:
        return Rejection(RejectionReason.ALREADY_ADJUSTED, f"{past[0].reservation} was adjusted before: it stays")
    charged = next(entry.micros for entry in past if entry.kind is Kind.UNKNOWN)
    less = min(micros, charged) - charged
    adjusted = Entry(past[0].reservation, Kind.ADJUST, less, held=0, spent=less)
    return _with_overrun(_change(balance, adjusted), past[0].reservation, max(0, micros - charged))


def thaw(balance: Balance) -> Balance:
    """The owner has looked at the overrun and lets the pool go on."""
    return replace(balance, frozen=False)


def set_cap(balance: Balance, cap: int | None) -> Balance | Rejection:
    """A cap below what is held and spent would make the ledger lie: it is refused with the lowest that can be set."""
    used = balance.held + balance.spent
    if cap is not None and cap < used:
        return Rejection(RejectionReason.CAP_BELOW_USED, f"cap {cap} is below the {used} in use: set {used} or more")
    return replace(balance, cap=cap)


def _check_amount(micros: int) -> None:
    if micros < 0:
        raise BadInput(f"{micros} micro-units is not an amount: a price is zero or more")


def _open_reserve(past: Sequence[Entry]) -> Entry | Rejection:
    opened = next((entry for entry in past if entry.kind is Kind.RESERVE), None)
    if opened is None:
        return Rejection(RejectionReason.NOT_RESERVED, "nothing was reserved under this id: reserve before the call")
    assert all(entry.reservation == opened.reservation for entry in past), "entries of two reservations were mixed"
    closed = next((entry for entry in past if entry.kind in CLOSING), None)
    if closed is not None:
        return Rejection(RejectionReason.ALREADY_CLOSED, f"{opened.reservation} was closed by {closed.kind} before")
    return opened


def _change(balance: Balance, entry: Entry) -> Change:
    after = replace(balance, held=balance.held + entry.held, spent=balance.spent + entry.spent)
    return Change(after, (entry,))


def _with_overrun(change: Change, reservation: ReservationId, excess: int) -> Change:
    if excess == 0:
        return change
    left = change.balance.left
    fitting = excess if left is None else min(excess, left)
    overrun = Entry(reservation, Kind.OVERRUN, excess, held=0, spent=fitting)
    after = _change(change.balance, overrun)
    return Change(replace(after.balance, frozen=True), (*change.entries, overrun))
