"""Passkeys of the owner, and the random numbers they are asked to sign, each once and within minutes."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from core.clock import Instant

from .desk import challenges, passkeys

Purpose = Literal["register", "sign_in"]
MOST_CHALLENGES = 200


@dataclass(frozen=True)
class Passkey:
    """`credential` and `public_key` in base64url. `sign_count` stays 0 where the authenticator does not count."""

    credential: str
    public_key: str
    sign_count: int
    name: str
    added_at: Instant
    used_at: Instant | None = None


_ADD = insert(passkeys)
_ONE = select(passkeys).where(passkeys.c.credential_id == bindparam("credential"))
_ALL = select(passkeys).order_by(passkeys.c.added_at_ms)
_USED = (
    update(passkeys)
    .where(passkeys.c.credential_id == bindparam("credential"), passkeys.c.sign_count == bindparam("was"))
    .values(sign_count=bindparam("now_count"), used_at_ms=bindparam("at_ms"))
)
_REMOVE = delete(passkeys).where(passkeys.c.credential_id == bindparam("credential"))
_ASK = insert(challenges)
_DROP_OLD = delete(challenges).where(challenges.c.expires_at_ms <= bindparam("now"))
# Anybody may ask to sign in: only the newest questions are kept.
_NEWEST = (
    select(challenges.c.challenge)
    .where(challenges.c.purpose == bindparam("of_purpose"))
    .order_by(challenges.c.expires_at_ms.desc(), challenges.c.challenge)
    .limit(MOST_CHALLENGES)
)
_DROP_MANY = delete(challenges).where(
    challenges.c.purpose == bindparam("of_purpose"), challenges.c.challenge.not_in(_NEWEST)
)
_ANSWER = delete(challenges).where(
    challenges.c.challenge == bindparam("asked"),
    challenges.c.purpose == bindparam("of_purpose"),
    challenges.c.expires_at_ms > bindparam("now"),
)


def add(conn: Connection, passkey: Passkey) -> None:
    conn.execute(
        _ADD,
        {
            "credential_id": passkey.credential,
            "public_key": passkey.public_key,
            "sign_count": passkey.sign_count,
            "name": passkey.name,
            "added_at_ms": passkey.added_at,
        },
    )


def one(conn: Connection, credential: str) -> Passkey | None:
    row = conn.execute(_ONE, {"credential": credential}).first()
    return _passkey(row) if row else None


def every(conn: Connection) -> tuple[Passkey, ...]:
    return tuple(_passkey(row) for row in conn.execute(_ALL))


def note_use(conn: Connection, passkey: Passkey, count: int, now: Instant) -> bool:
    """False when it was used in between: its counter is not what the signature was checked against."""
    values = {"credential": passkey.credential, "was": passkey.sign_count, "now_count": count, "at_ms": now}
    return conn.execute(_USED, values).rowcount == 1


def remove(conn: Connection, credential: str) -> bool:
    return conn.execute(_REMOVE, {"credential": credential}).rowcount == 1


def ask(conn: Connection, challenge: str, purpose: Purpose, now: Instant, expires: Instant) -> None:
    conn.execute(_DROP_OLD, {"now": now})
    conn.execute(_ASK, {"challenge": challenge, "purpose": purpose, "expires_at_ms": expires})
    conn.execute(_DROP_MANY, {"of_purpose": purpose})


def answer(conn: Connection, challenge: str, purpose: Purpose, now: Instant) -> bool:
    """True for the one caller who answers it, in time."""
    return conn.execute(_ANSWER, {"asked": challenge, "of_purpose": purpose, "now": now}).rowcount == 1


def _passkey(row: Row[tuple[object, ...]]) -> Passkey:
    return Passkey(
        row.credential_id,
        row.public_key,
        row.sign_count,
        row.name,
        Instant(row.added_at_ms),
        None if row.used_at_ms is None else Instant(row.used_at_ms),
    )
