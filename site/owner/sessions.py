"""Strict server-side sessions. An id is made by us at each sign-in, never taken from a browser, and kept as a hash.

A visitor who is not signed in gets no cookie and no row; a request that only reads writes nothing (the time it was
seen apart, once a minute); signing out deletes. A session ends 12 hours after it was last seen and 14 days after it
began, whichever comes first.
"""

import hashlib
import hmac
from dataclasses import dataclass, replace

from litestar.datastructures import Cookie
from sqlalchemy import Connection

from core.clock import Instant
from core.ids import RandomBytes

from ..store import sessions
from ..store.sessions import Session

COOKIE = "__Host-sid"
ID_BYTES = 32
IDLE_MS = 12 * 60 * 60 * 1000
LIFE_MS = 14 * 24 * 60 * 60 * 1000
SEEN_EVERY_MS = 60 * 1000
PROOF_MS = 10 * 60 * 1000


@dataclass(frozen=True)
class Browser:
    """What is written beside a session, so that the owner recognises it in the list."""

    agent: str
    address: str


def new_session(now: Instant, random_bytes: RandomBytes, browser: Browser, language: str) -> tuple[str, Session]:
    """The cookie's value, which only the browser keeps, and the row."""
    secret, csrf = random_bytes(ID_BYTES).hex(), random_bytes(ID_BYTES).hex()
    expires = Instant(now + LIFE_MS)
    row = Session(id_hash(secret), csrf, language, now, browser.agent[:300], browser.address, now, now, expires)
    return secret, row


def id_hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def find(conn: Connection, secret: str, now: Instant) -> Session | None:
    """The live session of a cookie, if it is one of ours."""
    if len(secret) != ID_BYTES * 2:
        return None
    found = sessions.one(conn, id_hash(secret))
    return found if found is not None and is_live(found, now) else None


def is_live(session: Session, now: Instant) -> bool:
    return now < session.expires_at and now - session.seen_at < IDLE_MS


def is_proved(session: Session, now: Instant) -> bool:
    """Whether the owner showed a password or a passkey in it within the last ten minutes."""
    return now - session.proved_at < PROOF_MS


def sign_in(conn: Connection, fresh: Session, before: str | None) -> None:
    """Opens a session; the one the browser had before, if any, ends."""
    if before is not None:
        sessions.end(conn, id_hash(before))
    sessions.add(conn, fresh)


def prove(conn: Connection, session: Session, fresh: Session) -> None:
    """A step-up is a new session with what the old one knew: the old id is dead."""
    sessions.end(conn, session.id_hash)
    sessions.add(conn, replace(fresh, created_at=session.created_at, expires_at=session.expires_at))


def token_matches(session: Session, token: str) -> bool:
    # As bytes: compare_digest raises on text that is not ASCII.
    return hmac.compare_digest(session.csrf.encode(), token.encode("utf-8", "surrogatepass"))


def cookie(secret: str) -> Cookie:
    return Cookie(
        key=COOKIE, value=secret, path="/", max_age=LIFE_MS // 1000, secure=True, httponly=True, samesite="lax"
    )


def gone_cookie() -> Cookie:
    return Cookie(key=COOKIE, value="", path="/", max_age=0, secure=True, httponly=True, samesite="lax")
