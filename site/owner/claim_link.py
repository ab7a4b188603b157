"""The one-time link that makes somebody the owner. Only the hash of its token is kept; the link itself lies in a file
that this account alone may read, `data/secrets/claim-link`.

The token stands in the fragment, which no server, proxy or log ever sees.
"""

import base64
import hashlib
from pathlib import Path

from sqlalchemy import Connection

from core.clock import Clock, Instant
from core.control.keys import write_private
from core.ids import RandomBytes
from core.settings import Settings
from core.store import Store

from ..store import audit, owners, sessions
from ..store.sessions import Session

TOKEN_BYTES = 32
RESET_LIFE_MS = 60 * 60 * 1000


def link_file(settings: Settings) -> Path:
    return settings.secrets_dir / "claim-link"


def new_token(random_bytes: RandomBytes) -> str:
    return base64.urlsafe_b64encode(random_bytes(TOKEN_BYTES)).rstrip(b"=").decode()


def token_hash(token: str) -> str:
    return hashlib.sha256(token.strip().encode("utf-8", "surrogatepass")).hexdigest()


async def offer(store: Store, settings: Settings, clock: Clock, random_bytes: RandomBytes) -> str | None:
    """At each start: the link while there is no owner, the same one until it is used. None when there is an owner."""
    path = link_file(settings)
    if await store.read(owners.password_hash) is not None:
        return None
    if path.exists():
        kept = path.read_text("utf-8").strip()
        if await store.read(owners.is_good_link, token_hash(kept.rpartition("=")[2]), clock()):
            return kept
    token = new_token(random_bytes)
    await store.write(owners.add_link, token_hash(token), "claim", clock(), None)
    return _kept(settings, token)


async def offer_reset(store: Store, settings: Settings, clock: Clock, random_bytes: RandomBytes) -> str:
    """For somebody at the machine itself: a link, good for an hour, that sets a new password."""
    token, now = new_token(random_bytes), clock()
    await store.write(owners.add_link, token_hash(token), "reset", now, Instant(now + RESET_LIFE_MS))
    return _kept(settings, token)


def _kept(settings: Settings, token: str) -> str:
    link = f"{settings.site_url}/setup#token={token}"
    write_private(link_file(settings), link + "\n", replace=True)
    return link


def is_open(conn: Connection, now: Instant) -> bool:
    """Whether `/setup` is there at all: it is 404 once somebody owns the site and no reset was asked for."""
    return owners.has_good_link(conn, now)


def become_owner(conn: Connection, token: str, password_hash: str, session: Session, now: Instant) -> bool:
    """True for the one caller whose token is good: the password is set, and every earlier session ends."""
    if not owners.use_link(conn, token_hash(token), now):
        return False
    owners.set_password(conn, password_hash, now)
    sessions.end_others(conn, "")
    sessions.add(conn, session)
    audit.write(conn, audit.Deed("owner", session.address, "became_owner"), now)
    return True
