"""Pairing codes by their hash: good once, for ten minutes, for the place they were made for."""

from dataclasses import dataclass
from typing import cast

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from core.clock import Instant

from .control import pairing_codes
from .pairings import Role


@dataclass(frozen=True)
class Code:
    """`account` and `chat` are None where the code is not bound to one."""

    code_hash: str
    role: Role
    account: str | None
    chat: str | None
    made_at: Instant
    expires_at: Instant
    used_at: Instant | None = None


_ADD = insert(pairing_codes)
_BY_HASH = select(pairing_codes).where(pairing_codes.c.code_hash == bindparam("hash"))
_USE = (
    update(pairing_codes)
    .where(
        pairing_codes.c.code_hash == bindparam("hash"),
        pairing_codes.c.used_at_ms.is_(None),
        pairing_codes.c.expires_at_ms > bindparam("now"),
    )
    .values(used_at_ms=bindparam("now"))
)
_DROP_OLD = delete(pairing_codes).where(pairing_codes.c.expires_at_ms < bindparam("before"))

KEPT_MS = 24 * 60 * 60 * 1000


def add(conn: Connection, code: Code) -> None:
    conn.execute(_DROP_OLD, {"before": code.made_at - KEPT_MS})
    conn.execute(
        _ADD,
        {
            "code_hash": code.code_hash,
            "role": code.role,
            "account": code.account,
            "chat": code.chat,
            "made_at_ms": code.made_at,
            "expires_at_ms": code.expires_at,
        },
    )


def by_hash(conn: Connection, code_hash: str) -> Code | None:
    row = conn.execute(_BY_HASH, {"hash": code_hash}).first()
    if row is None:
        return None
    used = None if row.used_at_ms is None else Instant(row.used_at_ms)
    return Code(
        row.code_hash,
        cast(Role, row.role),
        row.account,
        row.chat,
        Instant(row.made_at_ms),
        Instant(row.expires_at_ms),
        used,
    )


def use(conn: Connection, code_hash: str, now: Instant) -> bool:
    """True for the one caller who uses it first, in time."""
    return conn.execute(_USE, {"hash": code_hash, "now": now}).rowcount == 1
