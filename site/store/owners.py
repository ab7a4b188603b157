"""The owner, one at most; the one-time links that make one; and tries at the owner's password."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select, update
from sqlalchemy import text as sql

from core.clock import Instant

from .desk import claim_links, owners, sign_in_attempts

LinkPurpose = Literal["claim", "reset"]


@dataclass(frozen=True)
class Tries:
    """Failed tries at the password: from one address in its window, and from all in theirs; the oldest of each."""

    from_here: int
    from_all: int
    oldest_here: Instant | None
    oldest_all: Instant | None


_PASSWORD = select(owners.c.password_hash)
_SET = sql(
    "INSERT INTO owners (id, password_hash, created_at_ms, password_changed_at_ms) VALUES (1, :hash, :at_ms, :at_ms) "
    "ON CONFLICT (id) DO UPDATE SET password_hash = excluded.password_hash, "
    "password_changed_at_ms = excluded.password_changed_at_ms"
)
_ADD_LINK = insert(claim_links)
_GOOD_LINK = (
    claim_links.c.used_at_ms.is_(None),
    or_(claim_links.c.expires_at_ms.is_(None), claim_links.c.expires_at_ms > bindparam("now")),
)
_LINKS = select(claim_links.c.purpose).where(*_GOOD_LINK)
_LINK = select(claim_links.c.purpose).where(claim_links.c.token_hash == bindparam("hash"), *_GOOD_LINK)
_USE_LINK = (
    update(claim_links)
    .where(claim_links.c.token_hash == bindparam("hash"), *_GOOD_LINK)
    .values(used_at_ms=bindparam("now"))
)
_DROP_LINKS = delete(claim_links).where(claim_links.c.used_at_ms.is_(None))
_ADD_TRY = insert(sign_in_attempts)
_TRY_SUCCEEDED = update(sign_in_attempts).where(sign_in_attempts.c.id == bindparam("try_id")).values(succeeded=1)
_FAILED = select(func.count().label("tries"), func.min(sign_in_attempts.c.at_ms).label("oldest")).where(
    sign_in_attempts.c.succeeded == 0, sign_in_attempts.c.at_ms > bindparam("since")
)
_FAILED_HERE = _FAILED.where(sign_in_attempts.c.address == bindparam("address_of"))
_DROP_TRIES = delete(sign_in_attempts).where(sign_in_attempts.c.at_ms < bindparam("before"))


def password_hash(conn: Connection) -> str | None:
    """None while there is no owner."""
    return conn.execute(_PASSWORD).scalar_one_or_none()


def set_password(conn: Connection, hashed: str, now: Instant) -> None:
    """Makes the owner, or changes the password."""
    conn.execute(_SET, {"hash": hashed, "at_ms": now})


def add_link(conn: Connection, token_hash: str, purpose: LinkPurpose, now: Instant, expires: Instant | None) -> None:
    """Earlier unused links stop working: one at a time."""
    conn.execute(_DROP_LINKS)
    conn.execute(
        _ADD_LINK, {"token_hash": token_hash, "purpose": purpose, "created_at_ms": now, "expires_at_ms": expires}
    )


def has_good_link(conn: Connection, now: Instant) -> bool:
    return conn.execute(_LINKS, {"now": now}).first() is not None


def is_good_link(conn: Connection, token_hash: str, now: Instant) -> bool:
    return conn.execute(_LINK, {"hash": token_hash, "now": now}).first() is not None


def use_link(conn: Connection, token_hash: str, now: Instant) -> bool:
    """True for the one caller who uses it first."""
    return conn.execute(_USE_LINK, {"hash": token_hash, "now": now}).rowcount == 1


def failed_tries(conn: Connection, address: str, since_here: Instant, since_all: Instant) -> Tries:
    here = conn.execute(_FAILED_HERE, {"address_of": address, "since": since_here}).one()
    everywhere = conn.execute(_FAILED, {"since": since_all}).one()
    return Tries(
        here.tries,
        everywhere.tries,
        None if here.oldest is None else Instant(here.oldest),
        None if everywhere.oldest is None else Instant(everywhere.oldest),
    )


def add_try(conn: Connection, address: str, now: Instant, keep_since: Instant) -> int:
    """Counts as failed until `try_succeeded`. Tries before `keep_since` are dropped."""
    conn.execute(_DROP_TRIES, {"before": keep_since})
    made = conn.execute(_ADD_TRY, {"address": address, "at_ms": now, "succeeded": 0}).inserted_primary_key
    assert made is not None, "an insert of one row gives its key back"
    return int(made[0])


def try_succeeded(conn: Connection, try_id: int) -> None:
    conn.execute(_TRY_SUCCEEDED, {"try_id": try_id})
