"""Signed-in browsers and an end to one, the password, and the audit chain."""

from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant
from core.errors import BadInput

from ..owner import passwords, sessions
from ..owner.attempts import TooMany, begin_try
from ..owner.door import AnyRequest, browser_of, fields_of
from ..owner.pages import DeskPages
from ..parts import Parts
from ..store import audit, owners, passkeys
from ..store import sessions as rows
from ..store.sessions import Session

SECURITY = "/owner/security"
LINES = 100


@get("/security")
async def security_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], session: NamedDependency[Session]
) -> Response[str]:
    return await _page(parts, desk, session, "", 200)


async def _page(parts: Parts, desk: DeskPages, session: Session, error: str, status: int) -> Response[str]:
    live = [one for one in await parts.store.read(rows.every) if sessions.is_live(one, parts.clock())]
    keys = await parts.store.read(passkeys.every)
    return desk.page("security.html", session, status=status, sessions=live, passkeys=keys, error=error)


@post("/security/sessions/{id_hash:str}/end", status_code=200)
async def end_session(
    parts: NamedDependency[Parts], session: NamedDependency[Session], id_hash: FromPath[str]
) -> Redirect:
    if not await parts.store.write(_end, session, id_hash, parts.clock()):
        raise NotFoundException
    return Redirect(SECURITY, status_code=303)


def _end(conn: Connection, session: Session, id_hash: str, now: Instant) -> bool:
    ended = rows.end(conn, id_hash)
    if ended:
        audit.write(conn, audit.Deed("owner", session.address, "ended_session", id_hash[:12]), now)
    return ended


@post("/security/password", status_code=200)
async def change_password(
    request: AnyRequest,
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
) -> Response[Any]:
    """Wants the present one. Every other session ends, and this one gets a new id."""
    fields = await fields_of(request)
    error = await _fault(parts, session, fields)
    if error:
        return await _page(parts, desk, session, error, 400)
    hashed = await passwords.hashed(fields["password"])
    secret, fresh = sessions.new_session(parts.clock(), parts.random_bytes, browser_of(request), session.language)
    await parts.store.write(_change, hashed, fresh)
    return Redirect(SECURITY, status_code=303, cookies=[sessions.cookie(secret)])


async def _fault(parts: Parts, session: Session, fields: dict[str, str]) -> str:
    """What is wrong with the form. Tries count for this session alone, so that no stranger can use them up."""
    new = fields.get("password", "")
    if new != fields.get("again", ""):
        return "again"
    try:
        passwords.check_new(new)
    except BadInput:
        return "length"
    begun = await parts.store.write(begin_try, f"session {session.id_hash[:16]}", parts.clock())
    if isinstance(begun, TooMany):
        return "many"
    if not await passwords.matches(fields.get("present", ""), await parts.store.read(owners.password_hash)):
        return "wrong"
    await parts.store.write(owners.try_succeeded, begun.try_id)
    return ""


def _change(conn: Connection, hashed: str, fresh: Session) -> None:
    owners.set_password(conn, hashed, fresh.created_at)
    rows.end_others(conn, "")
    rows.add(conn, fresh)
    audit.write(conn, audit.Deed("owner", fresh.address, "changed_password"), fresh.created_at)


@get("/audit")
async def audit_page(
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    before: FromQuery[int] = 2**53,
) -> Response[str]:
    lines = await parts.store.read(audit.newest, before, LINES)
    broken = await parts.store.read(audit.verify)
    return desk.page("audit.html", session, lines=lines, broken=broken, more=len(lines) == LINES)


HANDLERS = [security_page, end_session, change_password, audit_page]
