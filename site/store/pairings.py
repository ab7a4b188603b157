"""Bindings: who may talk with the persona, where, and as what."""

from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from core.clock import Instant

from .control import pairings

Role = Literal["owner", "guest"]


@dataclass(frozen=True)
class Place:
    """Where somebody talks: an account of ours, a chat in it, and the sender as the platform names them."""

    account: str
    chat: str
    sender: str


@dataclass(frozen=True)
class Pairing:
    id: str
    place: Place
    role: Role
    name: str
    made_at: Instant
    revoked_at: Instant | None


_AT_PLACE = (
    pairings.c.account == bindparam("account"),
    pairings.c.chat == bindparam("chat"),
    pairings.c.sender == bindparam("sender"),
)
_LIVE = select(pairings).where(pairings.c.revoked_at_ms.is_(None)).order_by(pairings.c.made_at_ms, pairings.c.id)
_ALL = select(pairings).order_by(pairings.c.revoked_at_ms.is_not(None), pairings.c.made_at_ms.desc())
_LIVE_AT = select(pairings).where(*_AT_PLACE, pairings.c.revoked_at_ms.is_(None))
_EVER_AT = select(func.count()).select_from(pairings).where(*_AT_PLACE)
_ADD = insert(pairings)
_REVOKE = (
    update(pairings)
    .where(pairings.c.id == bindparam("pairing"), pairings.c.revoked_at_ms.is_(None))
    .values(revoked_at_ms=bindparam("at_ms"))
)


def live(conn: Connection) -> tuple[Pairing, ...]:
    return tuple(_pairing(row) for row in conn.execute(_LIVE))


def every(conn: Connection) -> tuple[Pairing, ...]:
    """All of them, the live ones first."""
    return tuple(_pairing(row) for row in conn.execute(_ALL))


def live_at(conn: Connection, place: Place) -> Pairing | None:
    row = conn.execute(_LIVE_AT, _place(place)).first()
    return _pairing(row) if row else None


def was_ever_at(conn: Connection, place: Place) -> bool:
    return conn.execute(_EVER_AT, _place(place)).scalar_one() > 0


def add(conn: Connection, pairing: Pairing) -> None:
    conn.execute(
        _ADD,
        {
            "id": pairing.id,
            **_place(pairing.place),
            "role": pairing.role,
            "name": pairing.name,
            "made_at_ms": pairing.made_at,
        },
    )


def revoke(conn: Connection, pairing: str, now: Instant) -> bool:
    """False when there is no such live pairing."""
    return conn.execute(_REVOKE, {"pairing": pairing, "at_ms": now}).rowcount == 1


def _place(place: Place) -> dict[str, str]:
    return {"account": place.account, "chat": place.chat, "sender": place.sender}


def _pairing(row: Row[tuple[object, ...]]) -> Pairing:
    return Pairing(
        row.id,
        Place(row.account, row.chat, row.sender),
        cast(Role, row.role),
        row.name,
        Instant(row.made_at_ms),
        None if row.revoked_at_ms is None else Instant(row.revoked_at_ms),
    )
