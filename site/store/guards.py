"""The anomaly guard of a pool, kept so that neither a restart nor midnight opens it again."""

from sqlalchemy import Connection, bindparam, select
from sqlalchemy import text as sql

from core.budget import AnomalyState

from .ledger import guards
from .pool_days import Pool

_ONE = select(guards).where(guards.c.pool == bindparam("of_pool"))
_KEEP = sql(
    "INSERT INTO guards (pool, tripped_on, cleared_on) VALUES (:pool, :tripped_on, :cleared_on) "
    "ON CONFLICT (pool) DO UPDATE SET tripped_on = excluded.tripped_on, cleared_on = excluded.cleared_on"
)


def state(conn: Connection, pool: Pool) -> AnomalyState:
    row = conn.execute(_ONE, {"of_pool": pool}).first()
    return AnomalyState(row.tripped_on, row.cleared_on) if row else AnomalyState()


def keep(conn: Connection, pool: Pool, new: AnomalyState) -> None:
    conn.execute(_KEEP, {"pool": pool, "tripped_on": new.tripped_on, "cleared_on": new.cleared_on})
