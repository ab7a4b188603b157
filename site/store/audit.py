"""The audit chain: what the owner or a program did here. Each line carries the hash of the one before it."""

import hashlib
import json
from dataclasses import dataclass

from sqlalchemy import Connection, Row, bindparam, insert, select

from core.clock import Instant

from .desk import audit

BEGINNING = "0" * 64


@dataclass(frozen=True)
class Deed:
    """`actor` is `owner`, `bridge`, `digest` or `cli`; `address` is the network it came from, not the whole address."""

    actor: str
    address: str
    action: str
    object: str = ""
    detail: str = ""


@dataclass(frozen=True)
class AuditLine:
    id: int
    at: Instant
    deed: Deed
    previous_hash: str
    hash: str


_LAST = select(audit.c.hash).order_by(audit.c.id.desc()).limit(1)
_ADD = insert(audit)
_FORWARD = select(audit).where(audit.c.id > bindparam("after")).order_by(audit.c.id).limit(bindparam("limit"))
_BACK = select(audit).where(audit.c.id < bindparam("before")).order_by(audit.c.id.desc()).limit(bindparam("limit"))


def write(conn: Connection, deed: Deed, now: Instant) -> None:
    previous = conn.execute(_LAST).scalar_one_or_none() or BEGINNING
    conn.execute(
        _ADD,
        {
            "at_ms": now,
            "actor": deed.actor,
            "address": deed.address,
            "action": deed.action,
            "object": deed.object,
            "detail": deed.detail,
            "previous_hash": previous,
            "hash": line_hash(previous, now, deed),
        },
    )


def line_hash(previous: str, at: Instant, deed: Deed) -> str:
    """SHA-256 over the line as JSON, the hash before it included."""
    parts = [previous, at, deed.actor, deed.address, deed.action, deed.object, deed.detail]
    return hashlib.sha256(json.dumps(parts, ensure_ascii=False).encode()).hexdigest()


def newest(conn: Connection, before: int, limit: int) -> tuple[AuditLine, ...]:
    return tuple(_line(row) for row in conn.execute(_BACK, {"before": before, "limit": limit}))


def verify(conn: Connection) -> int | None:
    """The number of the first line that does not follow from those before it; None when the chain holds.

    A line that was cut off at the end cannot be seen in the chain alone: compare the newest hash with a copy.
    """
    previous, last = BEGINNING, 0
    while rows := conn.execute(_FORWARD, {"after": last, "limit": 1000}).all():
        for line in (_line(row) for row in rows):
            if line.previous_hash != previous or line.hash != line_hash(previous, line.at, line.deed):
                return line.id
            previous, last = line.hash, line.id
    return None


def _line(row: Row[tuple[object, ...]]) -> AuditLine:
    deed = Deed(row.actor, row.address, row.action, row.object, row.detail)
    return AuditLine(row.id, Instant(row.at_ms), deed, row.previous_hash, row.hash)
