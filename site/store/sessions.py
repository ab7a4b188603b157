"""Signed-in browsers. Only the hash of a cookie is kept, so a copy of the store holds nobody's session."""

import json
from dataclasses import dataclass

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update

from core.clock import Instant

from .desk import sessions


@dataclass(frozen=True)
class Session:
    """`csrf` is the token its forms carry; `proved_at` is when the owner last showed a password or passkey in it."""

    id_hash: str
    csrf: str
    language: str
    proved_at: Instant
    agent: str
    address: str
    created_at: Instant
    seen_at: Instant
    expires_at: Instant


_ADD = insert(sessions)
_ONE = select(sessions).where(sessions.c.id_hash == bindparam("hash"))
_ALL = select(sessions).order_by(sessions.c.seen_at_ms.desc())
_SEEN = update(sessions).where(sessions.c.id_hash == bindparam("hash")).values(seen_at_ms=bindparam("at_ms"))
_DATA = update(sessions).where(sessions.c.id_hash == bindparam("hash")).values(data=bindparam("new_data"))
_END = delete(sessions).where(sessions.c.id_hash == bindparam("hash"))
_END_OTHERS = delete(sessions).where(sessions.c.id_hash != bindparam("kept"))
_DROP_OLD = delete(sessions).where(sessions.c.expires_at_ms <= bindparam("now"))


def add(conn: Connection, session: Session) -> None:
    conn.execute(_DROP_OLD, {"now": session.created_at})
    conn.execute(
        _ADD,
        {
            "id_hash": session.id_hash,
            "data": _data(session),
            "agent": session.agent,
            "address": session.address,
            "created_at_ms": session.created_at,
            "seen_at_ms": session.seen_at,
            "expires_at_ms": session.expires_at,
        },
    )


def one(conn: Connection, id_hash: str) -> Session | None:
    row = conn.execute(_ONE, {"hash": id_hash}).first()
    return _session(row) if row else None


def every(conn: Connection) -> tuple[Session, ...]:
    """The one seen last first."""
    return tuple(_session(row) for row in conn.execute(_ALL))


def mark_seen(conn: Connection, id_hash: str, now: Instant) -> None:
    conn.execute(_SEEN, {"hash": id_hash, "at_ms": now})


def keep_data(conn: Connection, session: Session) -> None:
    """Writes what may change in a session: language, token, and when the owner last proved who they are."""
    conn.execute(_DATA, {"hash": session.id_hash, "new_data": _data(session)})


def end(conn: Connection, id_hash: str) -> bool:
    return conn.execute(_END, {"hash": id_hash}).rowcount == 1


def end_others(conn: Connection, kept: str) -> int:
    """Ends every session but one; none is kept for an empty hash."""
    return conn.execute(_END_OTHERS, {"kept": kept}).rowcount


def _data(session: Session) -> str:
    return json.dumps({"csrf": session.csrf, "language": session.language, "proved_at_ms": session.proved_at})


def _session(row: Row[tuple[object, ...]]) -> Session:
    data = json.loads(row.data)
    return Session(
        row.id_hash,
        data["csrf"],
        data["language"],
        Instant(data["proved_at_ms"]),
        row.agent,
        row.address,
        Instant(row.created_at_ms),
        Instant(row.seen_at_ms),
        Instant(row.expires_at_ms),
    )
