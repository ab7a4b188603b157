"""Circuit breakers by subject: `conversation:<number>` or `provider:<name>`. The rules are `core.budget.breaker`."""

from sqlalchemy import Connection, delete, select
from sqlalchemy import text as sql

from core.budget import Breaker
from core.budget.breaker import Phase
from core.clock import Instant
from core.store.columns import AnyRow

from .schema import breakers

GET = select(breakers).where(breakers.c.subject == sql(":subject"))
ALL = select(breakers).where(breakers.c.phase != "closed").order_by(breakers.c.subject)
KEEP = sql(
    "INSERT INTO breakers (subject, phase, failures, until_ms, updated_at_ms) VALUES (:subject, :phase, :failures, :until, "
    ":now) ON CONFLICT (subject) DO UPDATE SET phase = :phase, failures = :failures, until_ms = :until, updated_at_ms = :now"
)
CLEAR = delete(breakers).where(breakers.c.subject == sql(":subject"))


def get_breaker(conn: Connection, subject: str) -> Breaker:
    """A subject that never failed has a closed one."""
    row = conn.execute(GET, {"subject": subject}).one_or_none()
    return Breaker() if row is None else _breaker(row)


def keep_breaker(conn: Connection, subject: str, breaker: Breaker, now: Instant) -> None:
    row = {"subject": subject, "phase": breaker.phase, "failures": breaker.failures, "until": breaker.until, "now": now}
    conn.execute(KEEP, row)


def stopped_breakers(conn: Connection) -> dict[str, Breaker]:
    """Those that stop paid work just now, by subject."""
    return {row.subject: _breaker(row) for row in conn.execute(ALL)}


def clear_breaker(conn: Connection, subject: str) -> bool:
    """Whether there was one."""
    return conn.execute(CLEAR, {"subject": subject}).rowcount == 1


def _breaker(row: AnyRow) -> Breaker:
    return Breaker(Phase(row.phase), row.failures, None if row.until_ms is None else Instant(row.until_ms))
