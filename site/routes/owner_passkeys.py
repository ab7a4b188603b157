"""Passkeys: adding one (behind the door, with the password), and signing in with one (before it)."""

import asyncio
from typing import Any

from litestar import Response, Router, post
from litestar.di import NamedDependency
from litestar.exceptions import HTTPException, NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect
from sqlalchemy import Connection
from webauthn.helpers import bytes_to_base64url

from core.clock import Instant
from core.errors import BadInput

from ..owner import passkeys, passwords, sessions
from ..owner.attempts import TooMany, begin_try
from ..owner.door import AnyRequest, browser_of, fields_of, origin_door
from ..owner.origin import local_path
from ..owner.pages import DeskPages, chosen_language
from ..owner.passkeys import CHALLENGE_BYTES, CHALLENGE_LIFE_MS, Site
from ..parts import Parts
from ..store import audit, owners
from ..store import passkeys as rows
from ..store.passkeys import Passkey, Purpose
from ..store.sessions import Session

JSON = "application/json"
MAX_NAME = 60


async def prove(parts: Parts, session: Session, password: str) -> None:
    """The owner's password once more, before keys are changed. Tries count for this session alone."""
    begun = await parts.store.write(begin_try, f"session {session.id_hash[:16]}", parts.clock())
    if isinstance(begun, TooMany):
        raise HTTPException(status_code=429, detail="too many tries: wait ten minutes")
    if not await passwords.matches(password, await parts.store.read(owners.password_hash)):
        raise HTTPException(status_code=403, detail="that is not the password")
    await parts.store.write(owners.try_succeeded, begun.try_id)


@post("/security/passkeys/options", status_code=200)
async def ask_to_make(
    request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session]
) -> Response[str]:
    site = _site(request, parts)
    await prove(parts, session, (await fields_of(request)).get("present", ""))
    challenge = await _asked(parts, "register")
    known = await parts.store.read(rows.every)
    return Response(passkeys.creation_options(site, parts.settings.site_title, challenge, known), media_type=JSON)


@post("/security/passkeys", status_code=200)
async def make(request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session]) -> Response[Any]:
    fields = await fields_of(request)
    answer, name = fields.get("credential", ""), " ".join(fields.get("name", "").split())[:MAX_NAME]
    challenge = passkeys.asked_in(answer)
    site, now = _site(request, parts), parts.clock()
    made = await asyncio.to_thread(passkeys.made, site, answer, challenge, name or "passkey", now)
    await parts.store.write(_make, session, challenge, made)
    return Response({"name": made.name})


def _make(conn: Connection, session: Session, challenge: str, made: Passkey) -> None:
    if not rows.answer(conn, challenge, "register", made.added_at):
        raise BadInput("the question this passkey answers is an old one: begin again")
    if rows.one(conn, made.credential) is not None:
        raise BadInput("this passkey is here already")
    rows.add(conn, made)
    audit.write(conn, audit.Deed("owner", session.address, "added_passkey", made.name), made.added_at)


@post("/security/passkeys/{credential:str}/remove", status_code=200)
async def remove(
    parts: NamedDependency[Parts], session: NamedDependency[Session], credential: FromPath[str]
) -> Redirect:
    if not await parts.store.write(_remove, session, credential, parts.clock()):
        raise NotFoundException
    return Redirect("/owner/security", status_code=303)


def _remove(conn: Connection, session: Session, credential: str, now: Instant) -> bool:
    found = rows.one(conn, credential)
    if found is None:
        return False
    rows.remove(conn, credential)
    audit.write(conn, audit.Deed("owner", session.address, "removed_passkey", found.name), now)
    return True


# --- before the door ---------------------------------------------------------------------------------------------


@post("/owner/sign-in/passkey/options", status_code=200)
async def ask_to_sign(request: AnyRequest, parts: NamedDependency[Parts]) -> Response[str]:
    site = _site(request, parts)
    return Response(passkeys.request_options(site, await _asked(parts, "sign_in")), media_type=JSON)


@post("/owner/sign-in/passkey", status_code=200)
async def sign_in_with(
    request: AnyRequest, parts: NamedDependency[Parts], desk: NamedDependency[DeskPages]
) -> Response[Any]:
    """A new session, as after a password. The limits on passwords do not hold it up: a passkey cannot be guessed."""
    fields = await fields_of(request)
    answer = fields.get("credential", "")
    challenge, site = passkeys.asked_in(answer), _site(request, parts)
    passkey = await parts.store.read(rows.one, passkeys.credential_in(answer))
    if passkey is None:
        raise HTTPException(status_code=403, detail="this passkey does not sign in here")
    count = await asyncio.to_thread(passkeys.used, site, answer, challenge, passkey)
    language = chosen_language(desk.settings, None, request.headers.get("accept-language", ""))
    secret, session = sessions.new_session(parts.clock(), parts.random_bytes, browser_of(request), language)
    before = request.cookies.get(sessions.COOKIE)
    await parts.store.write(_signed_in, session, before, passkey, challenge, count)
    target = local_path(fields.get("next", ""), "/owner")
    return Response({"to": target}, cookies=[sessions.cookie(secret)])


def _signed_in(
    conn: Connection, session: Session, before: str | None, passkey: Passkey, challenge: str, count: int
) -> None:
    fresh = rows.answer(conn, challenge, "sign_in", session.created_at)
    if not (fresh and rows.note_use(conn, passkey, count, session.created_at)):
        raise BadInput("the question this passkey answers is an old one: try again")
    sessions.sign_in(conn, session, before)
    audit.write(conn, audit.Deed("owner", session.address, "signed_in", "passkey", passkey.name), session.created_at)


async def _asked(parts: Parts, purpose: Purpose) -> bytes:
    challenge, now = parts.random_bytes(CHALLENGE_BYTES), parts.clock()
    await parts.store.write(rows.ask, bytes_to_base64url(challenge), purpose, now, Instant(now + CHALLENGE_LIFE_MS))
    return challenge


def _site(request: AnyRequest, parts: Parts) -> Site:
    return passkeys.site_of(parts.settings.site.public_url, request.headers)


HANDLERS = [ask_to_make, make, remove]


def passkey_router(parts: Parts) -> Router:
    return Router(
        "/",
        route_handlers=[ask_to_sign, sign_in_with],
        before_request=origin_door(parts.settings.site_url),
        request_max_body_size=32 * 1024,
    )
