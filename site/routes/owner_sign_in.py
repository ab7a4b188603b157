"""Becoming the owner and signing in. These pages stand before the door; their POSTs still need our own origin."""

from typing import Any

from litestar import Response, Router, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.response import Redirect
from sqlalchemy import Connection

from core.budget import Language
from core.errors import BadInput

from ..owner import claim_link, passwords, sessions
from ..owner.attempts import TooMany, begin_try
from ..owner.door import AnyRequest, browser_of, fields_of, origin_door
from ..owner.origin import local_path
from ..owner.pages import DeskPages, chosen_language
from ..parts import Parts
from ..store import audit, owners
from ..store.sessions import Session

HOME = "/owner"


@get("/setup")
async def setup_page(
    request: AnyRequest, parts: NamedDependency[Parts], desk: NamedDependency[DeskPages]
) -> Response[str]:
    """404 once somebody owns the site, unless a new password was asked for at the machine itself."""
    await _require_open(parts)
    return desk.outside("setup.html", _language(request, desk), error="", token="")


@post("/setup", status_code=200)
async def set_up(request: AnyRequest, parts: NamedDependency[Parts], desk: NamedDependency[DeskPages]) -> Response[Any]:
    await _require_open(parts)
    fields = await fields_of(request)
    token, password = fields.get("token", "").strip().rpartition("=")[2], fields.get("password", "")
    language = _language(request, desk)
    error = await _setup_fault(parts, token, password, fields.get("again", ""))
    if not error:
        hashed = await passwords.hashed(password)
        secret, session = sessions.new_session(parts.clock(), parts.random_bytes, browser_of(request), language)
        if await parts.store.write(claim_link.become_owner, token, hashed, session, session.created_at):
            claim_link.link_file(parts.settings).unlink(missing_ok=True)
            return Redirect(HOME, status_code=303, cookies=[sessions.cookie(secret)])
        error = "link"
    return desk.outside("setup.html", language, status=400, error=error, token=token)


async def _setup_fault(parts: Parts, token: str, password: str, again: str) -> str:
    """What is wrong with the form, before a password is hashed: strangers cannot make us work."""
    if not await parts.store.read(owners.is_good_link, claim_link.token_hash(token), parts.clock()):
        return "link"
    if password != again:
        return "again"
    try:
        passwords.check_new(password)
    except BadInput:
        return "length"
    return ""


@get("/owner/sign-in")
async def sign_in_page(request: AnyRequest, desk: NamedDependency[DeskPages]) -> Response[str]:
    target = request.query_params.get("next", "")
    return desk.outside("sign_in.html", _language(request, desk), error="", again_at=None, target=target)


@post("/owner/sign-in", status_code=200)
async def sign_in(
    request: AnyRequest, parts: NamedDependency[Parts], desk: NamedDependency[DeskPages]
) -> Response[Any]:
    fields = await fields_of(request)
    language, target, browser = _language(request, desk), fields.get("next", ""), browser_of(request)
    begun = await parts.store.write(begin_try, browser.address, parts.clock())
    if isinstance(begun, TooMany):
        wait = {"Retry-After": str(max(1, (begun.again_at - parts.clock()) // 1000))}
        page = desk.outside("sign_in.html", language, status=429, error="many", again_at=begun.again_at, target=target)
        page.headers.update(wait)
        return page
    if not await passwords.matches(fields.get("password", ""), await parts.store.read(owners.password_hash)):
        return desk.outside("sign_in.html", language, status=403, error="wrong", again_at=None, target=target)
    secret, session = sessions.new_session(parts.clock(), parts.random_bytes, browser, language)
    await parts.store.write(_signed_in, session, request.cookies.get(sessions.COOKIE), begun.try_id)
    return Redirect(local_path(target, HOME), status_code=303, cookies=[sessions.cookie(secret)])


def _signed_in(conn: Connection, session: Session, before: str | None, try_id: int) -> None:
    owners.try_succeeded(conn, try_id)
    sessions.sign_in(conn, session, before)
    audit.write(conn, audit.Deed("owner", session.address, "signed_in", "password"), session.created_at)


async def _require_open(parts: Parts) -> None:
    if not await parts.store.read(claim_link.is_open, parts.clock()):
        raise NotFoundException


def _language(request: AnyRequest, desk: DeskPages) -> Language:
    asked = request.query_params.get("lang")
    return chosen_language(desk.settings, asked, request.headers.get("accept-language", ""))


def sign_in_router(parts: Parts) -> Router:
    return Router(
        "/",
        route_handlers=[setup_page, set_up, sign_in_page, sign_in],
        before_request=origin_door(parts.settings.site_url),
        request_max_body_size=16 * 1024,
    )
