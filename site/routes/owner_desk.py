"""The desk itself: what needs the owner, what happened, what it cost today. And leaving it."""

from dataclasses import dataclass, replace
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant, local_day

from ..owner import sessions
from ..owner.door import AnyRequest, fields_of
from ..owner.origin import local_path
from ..owner.pages import LANGUAGES, DeskPages, zone_of
from ..parts import Parts
from ..store import audit, claims, digests, instructions, leases, pool_days, sources, synced
from ..store import sessions as rows
from ..store.claims import Claimed
from ..store.digests import DigestDraft
from ..store.pool_days import PoolDay
from ..store.sessions import Session
from ..store.synced import Synced


@dataclass(frozen=True)
class Desk:
    """Everything the first page says. `stuck` are claims nobody has come back with."""

    drafts: tuple[DigestDraft, ...]
    stuck: tuple[Claimed, ...]
    conflicts: tuple[Synced, ...]
    unknown_parts: tuple[Synced, ...]
    channels: tuple[Synced, ...]
    waiting_sources: int
    pools: tuple[PoolDay, ...]
    open_leases: int
    instructions: int


def look(conn: Connection, today: str) -> Desk:
    return Desk(
        digests.in_states(conn, ("waiting",), 20),
        claims.live(conn),
        synced.of_kind(conn, "conflict", 20),
        synced.parts_in_doubt(conn, 20),
        synced.of_kind(conn, "channel_health", 20),
        sources.count_waiting(conn),
        pool_days.since(conn, today),
        len(leases.open_ones(conn)),
        len(instructions.open_ones(conn)),
    )


@get("/")
async def desk_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], session: NamedDependency[Session]
) -> Response[str]:
    today = local_day(parts.clock(), zone_of(parts.settings))
    seen = await parts.store.read(look, today)
    return desk.page("desk.html", session, desk=seen, today=today)


@post("/sign-out", status_code=200)
async def sign_out(parts: NamedDependency[Parts], session: NamedDependency[Session]) -> Redirect:
    await parts.store.write(_sign_out, session, parts.clock())
    return Redirect("/owner/sign-in", status_code=303, cookies=[sessions.gone_cookie()])


def _sign_out(conn: Connection, session: Session, now: Instant) -> None:
    rows.end(conn, session.id_hash)
    audit.write(conn, audit.Deed("owner", session.address, "signed_out"), now)


@post("/language", status_code=200)
async def choose_language(
    request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session]
) -> Response[Any]:
    fields = await fields_of(request)
    if fields.get("language") in LANGUAGES:
        await parts.store.write(rows.keep_data, replace(session, language=fields["language"]))
    return Redirect(local_path(fields.get("from", ""), "/owner"), status_code=303)


HANDLERS = [desk_page, sign_out, choose_language]
