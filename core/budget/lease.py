"""A lease: money and calls of the `chat` pool lent to the bridge, so that a reply never waits for the site.

For the site a lease is one reservation of its pool. Inside it the bridge keeps a ledger of its own by the same rules,
with the lease as the cap. Expiry stops new calls and nothing else: what was reserved stays, settlements that come
after it are taken, and a lease that is never reported stays held on the site until the owner writes it off
(`ledger.mark_unknown`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..clock import Instant
from ..ids import AttemptId
from .ledger import Balance, Change, Entry, Kind, Rejection, RejectionReason, adjust, reserve, settle
from .refusals import Limit, Refusal


@dataclass(frozen=True, slots=True)
class Lease:
    """`calls` and `granted_micros` are what the site lent; `calls_used` counts every reserve, released ones too."""

    granted_micros: int
    calls: int
    expires_at: Instant
    held: int = 0
    spent: int = 0
    calls_used: int = 0
    frozen: bool = False
    beyond_micros: int = 0
    """Charged by a provider over everything the lease could take; reported, so that the site's ledger stays true."""

    @property
    def balance(self) -> Balance:
        return Balance(self.granted_micros, self.held, self.spent, self.frozen)


@dataclass(frozen=True, slots=True)
class LeaseReport:
    """What the bridge says when a lease ends. `spent` may be above the grant after an overrun."""

    spent: int
    unspent: int
    frozen: bool


def reserve_in_lease(
    lease: Lease, past: Sequence[Entry], attempt: AttemptId, micros: int, now: Instant
) -> tuple[Lease, Change] | Refusal | Rejection:
    calls_left = lease.calls - lease.calls_used
    if now >= lease.expires_at:
        return Refusal(Limit.LEASE_EXPIRED, allowed=lease.calls, left=0, asked=1)
    if calls_left < 1:
        return Refusal(Limit.LEASE_CALLS, allowed=lease.calls, left=0, asked=1)
    change = reserve(lease.balance, past, attempt, micros)
    if isinstance(change, Refusal) and change.limit is Limit.CAP:
        return replace(change, limit=Limit.LEASE_MICROS)
    if not isinstance(change, Change):
        return change
    return replace(after_change(lease, change), calls_used=lease.calls_used + 1), change


def after_change(lease: Lease, change: Change) -> Lease:
    """The lease after a settle, release, unknown or adjust that was decided on `lease.balance`."""
    beyond = sum(entry.micros - entry.spent for entry in change.entries if entry.kind is Kind.OVERRUN)
    after = change.balance
    return replace(
        lease, held=after.held, spent=after.spent, frozen=after.frozen, beyond_micros=lease.beyond_micros + beyond
    )


def close_report(lease: Lease) -> LeaseReport | Rejection:
    """The closing report: what was spent, and the unspent part that goes back to the pool.

    While an attempt is still held its cost is not known, so the lease cannot be closed.
    """
    if lease.held:
        return Rejection(
            RejectionReason.STILL_HELD, f"{lease.held} micro-units are still held: settle those attempts, then report"
        )
    return LeaseReport(lease.spent + lease.beyond_micros, lease.granted_micros - lease.spent, lease.frozen)


def close_lease(pool: Balance, past: Sequence[Entry], report: LeaseReport) -> Change | Rejection:
    """The site's side of a closing report. One that comes after the owner's write-off corrects it."""
    written_off = any(entry.kind is Kind.UNKNOWN for entry in past)
    change = adjust(pool, past, report.spent) if written_off else settle(pool, past, report.spent)
    if isinstance(change, Rejection) or not report.frozen:
        return change
    return replace(change, balance=replace(change.balance, frozen=True))
