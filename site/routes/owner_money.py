"""Money: every pool with what is held, spent and unknown told apart; leases that are out; and letting a pool go on."""

import csv
import io

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect
from sqlalchemy import Connection

from core.budget import clear_anomaly
from core.clock import Instant, local_day

from ..ledger import grants, overview
from ..ledger.chart import chart
from ..ledger.models_used import models_used
from ..ledger.rules import pool_rules
from ..owner.pages import DeskPages, zone_of
from ..parts import Parts
from ..store import audit, guards, pool_days
from ..store.pool_days import Pool
from ..store.sessions import Session

MONEY = "/owner/money"
COLUMNS = ("held", "spent", "unknown", "overrun", "tokens", "requests")


@get("/money")
async def money_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], session: NamedDependency[Session]
) -> Response[str]:
    rules = tuple(pool_rules(parts.settings, pool) for pool in overview.POOLS)
    now = parts.clock()
    seen = await parts.store.write(overview.look, rules, now)
    today = local_day(now, zone_of(parts.settings))
    charts = {pool: chart(seen.days, pool, overview.days_up_to(today)) for pool in overview.POOLS}
    return desk.page(
        "money.html",
        session,
        money_seen=seen,
        now=now,
        today=today,
        charts=charts,
        models=models_used(parts.settings),
        forecast=overview.forecast(seen.days, today),
    )


@get("/money.csv")
async def money_csv(parts: NamedDependency[Parts], session: NamedDependency[Session]) -> Response[str]:
    """The table of the last thirty days; money in whole micro-units, so that nothing is rounded."""
    today = local_day(parts.clock(), zone_of(parts.settings))
    rows = await parts.store.read(pool_days.since, overview.days_up_to(today)[0])
    out = io.StringIO()
    write = csv.writer(out)
    write.writerow(("day", "pool", *COLUMNS))
    write.writerows((row.day, row.pool, *(getattr(row, column) for column in COLUMNS)) for row in rows)
    headers = {"Content-Disposition": f'attachment; filename="money-{today}.csv"'}
    return Response(out.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


@post("/money/leases/{lease:str}/write-off", status_code=200)
async def write_off(parts: NamedDependency[Parts], session: NamedDependency[Session], lease: FromPath[str]) -> Redirect:
    await parts.store.write(_write_off, session, lease, parts.clock())
    return Redirect(MONEY, status_code=303)


def _write_off(conn: Connection, session: Session, lease: str, now: Instant) -> None:
    grants.write_off(conn, lease, now)
    audit.write(conn, audit.Deed("owner", session.address, "wrote_off_lease", lease), now)


@post("/money/{pool:str}/thaw", status_code=200)
async def thaw(parts: NamedDependency[Parts], session: NamedDependency[Session], pool: FromPath[str]) -> Redirect:
    """The owner has looked at an overrun, or at an unusual day, and lets the pool go on."""
    found = next((known for known in overview.POOLS if known == pool), None)
    if found is None:
        raise NotFoundException
    today = local_day(parts.clock(), zone_of(parts.settings))
    await parts.store.write(_thaw, session, found, today, parts.clock())
    return Redirect(MONEY, status_code=303)


def _thaw(conn: Connection, session: Session, pool: Pool, today: str, now: Instant) -> None:
    pool_days.thaw(conn, pool)
    guards.keep(conn, pool, clear_anomaly(today))
    audit.write(conn, audit.Deed("owner", session.address, "thawed_pool", pool), now)


HANDLERS = [money_page, money_csv, write_off, thaw]
