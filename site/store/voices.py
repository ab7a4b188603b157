"""Versions of the persona's private voice. The newest holds; version 0 is the one that comes with the program."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, insert, select

from core.clock import Instant

from .desk import voices


@dataclass(frozen=True)
class VoiceVersion:
    version: int
    text: str
    saved_at: Instant


_NEWEST = select(voices).order_by(voices.c.id.desc()).limit(bindparam("limit"))
_ONE = select(voices).where(voices.c.id == bindparam("version"))
_ADD = insert(voices)


def newest(conn: Connection) -> VoiceVersion | None:
    """None while the owner has written none."""
    return next(iter(history(conn, 1)), None)


def history(conn: Connection, limit: int = 50) -> tuple[VoiceVersion, ...]:
    rows = conn.execute(_NEWEST, {"limit": limit})
    return tuple(VoiceVersion(row.id, row.text, Instant(row.saved_at_ms)) for row in rows)


def one(conn: Connection, version: int) -> VoiceVersion | None:
    row = conn.execute(_ONE, {"version": version}).first()
    return VoiceVersion(row.id, row.text, Instant(row.saved_at_ms)) if row else None


def add(conn: Connection, text: str, now: Instant) -> int:
    """The new version."""
    made = conn.execute(_ADD, {"text": text, "saved_at_ms": now}).inserted_primary_key
    assert made is not None, "an insert of one row gives its key back"
    return int(made[0])
