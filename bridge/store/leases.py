"""Leases and the ledger inside them. The rules are `core.budget`; here is what the store keeps of them."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select
from sqlalchemy import text as sql

from core import budget
from core.clock import Instant
from core.control import messages as control
from core.ids import AttemptId, LeaseId
from core.store.columns import AnyRow

from .schema import lease_entries, leases

ADD = sql(
    "INSERT INTO leases (id, granted_micros, granted_calls, output_tokens, expires_at_ms, state, updated_at_ms) "
    "VALUES (:id, :micros, :calls, :output_tokens, :expires_at_ms, 'open', :now) ON CONFLICT (id) DO NOTHING"
)
OPEN = (
    select(leases)
    .where(leases.c.state == "open", leases.c.expires_at_ms > sql(":now"), leases.c.frozen == 0)
    .order_by(leases.c.expires_at_ms.desc())
)
GET = select(leases).where(leases.c.id == sql(":id"))
KEEP = sql(
    "UPDATE leases SET held_micros = :held, spent_micros = :spent, overrun_micros = :beyond, used_calls = :calls, "
    "tokens = tokens + :tokens, frozen = :frozen, updated_at_ms = :now "
    "WHERE id = :id AND :held >= 0 AND :spent >= 0 AND :held + :spent <= granted_micros"
)
ADD_ENTRY = insert(lease_entries)
PAST = select(lease_entries).where(lease_entries.c.attempt_id == sql(":attempt")).order_by(lease_entries.c.id)
ENDED = (
    select(leases)
    .where(leases.c.state.in_(("open", "closed")), leases.c.held_micros == 0)
    .where(
        (leases.c.state == "closed")  # its report left before and was not heard
        | (leases.c.expires_at_ms <= sql(":now"))
        | (leases.c.frozen == 1)
        | (leases.c.used_calls >= leases.c.granted_calls)
    )
)
UNUSED = select(leases).where(leases.c.state.in_(("open", "closed")), leases.c.held_micros == 0)
UNKNOWN_SPENT = sql(
    "SELECT COALESCE(sum(spent_micros), 0) FROM lease_entries WHERE lease_id = :id AND kind IN ('unknown', 'adjust')"
)
OVERRUN = sql(
    "SELECT COALESCE(sum(amount_micros), 0) AS whole, COALESCE(sum(spent_micros), 0) AS inside FROM lease_entries "
    "WHERE lease_id = :id AND kind = 'overrun'"
)
SET_STATE = sql("UPDATE leases SET state = :state, updated_at_ms = :now WHERE id = :id AND state IN ('open', 'closed')")


@dataclass(frozen=True)
class OpenLease:
    id: LeaseId
    output_tokens: int
    rules: budget.Lease


def add_lease(conn: Connection, lease: control.Lease, now: Instant) -> None:
    conn.execute(ADD, {**lease.model_dump(), "now": now})


def open_leases(conn: Connection, now: Instant) -> list[OpenLease]:
    """Those that still carry a call, the one that lasts longest first."""
    return [_open(row) for row in conn.execute(OPEN, {"now": now}) if row.used_calls < row.granted_calls]


def lease_for(conn: Connection, micros: int, output_tokens: int, now: Instant) -> OpenLease | None:
    """One that carries a call of that cost and length."""
    for lease in open_leases(conn, now):
        left = lease.rules.balance.left
        if output_tokens <= lease.output_tokens and left is not None and micros <= left:
            return lease
    return None


def output_tokens_lent(conn: Connection, now: Instant) -> int | None:
    """The most one answer may have under every open lease; None without one."""
    return min((lease.output_tokens for lease in open_leases(conn, now)), default=None)


def unused_lease(conn: Connection, now: Instant) -> OpenLease | None:
    """A whole one: what does not fit into it will not fit into the next one either."""
    return next((lease for lease in open_leases(conn, now) if lease.rules.calls_used == 0), None)


def get_lease(conn: Connection, lease: LeaseId) -> OpenLease:
    return _open(conn.execute(GET, {"id": lease}).one())


def past_entries(conn: Connection, attempt: AttemptId) -> list[budget.Entry]:
    rows = conn.execute(PAST, {"attempt": attempt})
    return [
        budget.Entry(attempt, budget.Kind(row.kind), row.amount_micros, row.held_micros, row.spent_micros)
        for row in rows
    ]


def keep_change(
    conn: Connection, lease: LeaseId, after: budget.Lease, change: budget.Change, now: Instant, *, tokens: int = 0
) -> None:
    """Writes the new entries and the balance they add up to."""
    for entry in change.entries:
        row = {
            "lease_id": lease,
            "attempt_id": entry.reservation,
            "kind": entry.kind,
            "amount_micros": entry.micros,
            "held_micros": entry.held,
            "spent_micros": entry.spent,
            "at_ms": now,
        }
        conn.execute(ADD_ENTRY, row)
    values = {
        "id": lease,
        "held": after.held,
        "spent": after.spent,
        "beyond": after.beyond_micros,
        "calls": after.calls_used,
        "frozen": int(after.frozen),
        "tokens": tokens,
        "now": now,
    }
    assert conn.execute(KEEP, values).rowcount == 1, f"lease {lease} cannot hold {after.held} and spend {after.spent}"


def reports_due(conn: Connection, now: Instant, *, leaving: bool = False) -> list[control.LeaseReport]:
    """Closing reports of leases that nobody uses any more; of all without a held call when the bridge leaves."""
    rows = conn.execute(UNUSED if leaving else ENDED, {} if leaving else {"now": now})
    return [_report(conn, row) for row in rows.all()]


def close_reporting(conn: Connection, reports: list[control.LeaseReport], now: Instant) -> None:
    """Before a report leaves its lease is closed, so that no call uses it after the site took the rest back."""
    for report in reports:
        conn.execute(SET_STATE, {"id": report.lease, "state": "closed", "now": now})


def mark_reported(conn: Connection, reports: list[control.LeaseReport], now: Instant) -> None:
    for report in reports:
        conn.execute(SET_STATE, {"id": report.lease, "state": "reported", "now": now})


def _report(conn: Connection, row: AnyRow) -> control.LeaseReport:
    unknown = int(conn.execute(UNKNOWN_SPENT, {"id": row.id}).scalar_one())
    overrun = conn.execute(OVERRUN, {"id": row.id}).one()
    return control.LeaseReport(
        lease=row.id,
        spent_micros=row.spent_micros - unknown - overrun.inside,
        unknown_micros=unknown,
        overrun_micros=overrun.whole,  # also where the lease had room for it: the site freezes its pool for it
        calls=row.used_calls,
        tokens=row.tokens,
    )


def _open(row: AnyRow) -> OpenLease:
    rules = budget.Lease(
        granted_micros=row.granted_micros,
        calls=row.granted_calls,
        expires_at=Instant(row.expires_at_ms),
        held=row.held_micros,
        spent=row.spent_micros,
        calls_used=row.used_calls,
        frozen=bool(row.frozen),
        beyond_micros=row.overrun_micros,
    )
    return OpenLease(LeaseId(row.id), row.output_tokens, rules)
