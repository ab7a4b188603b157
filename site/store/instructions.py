"""What the owner wants a bridge to do. An instruction is handed out until the bridge says that it is done."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update

from core.clock import Instant
from core.control.messages import InstructionKind

from .control import instructions


@dataclass(frozen=True)
class Asked:
    id: str
    kind: InstructionKind
    body: dict[str, str]
    made_at: Instant
    taken_at: Instant | None
    done_at: Instant | None
    result: str | None


_ADD = insert(instructions)
_OPEN = (
    select(instructions)
    .where(instructions.c.done_at_ms.is_(None))
    .order_by(instructions.c.made_at_ms, instructions.c.id)
    .limit(bindparam("limit"))
)
_NEWEST = (
    select(instructions).order_by(instructions.c.made_at_ms.desc(), instructions.c.id.desc()).limit(bindparam("limit"))
)
_TAKEN = (
    update(instructions)
    .where(instructions.c.id.in_(bindparam("ids", expanding=True)), instructions.c.taken_at_ms.is_(None))
    .values(taken_at_ms=bindparam("at_ms"))
)
_DONE = (
    update(instructions)
    .where(instructions.c.id == bindparam("instruction"), instructions.c.done_at_ms.is_(None))
    .values(done_at_ms=bindparam("at_ms"), result=bindparam("outcome"))
)
_KNOWN = select(func.count()).select_from(instructions).where(instructions.c.id == bindparam("instruction"))


def add(conn: Connection, instruction: str, kind: InstructionKind, body: Mapping[str, str], now: Instant) -> None:
    conn.execute(
        _ADD, {"id": instruction, "kind": kind, "body": json.dumps(dict(body), ensure_ascii=False), "made_at_ms": now}
    )


def open_ones(conn: Connection, limit: int = 50) -> tuple[Asked, ...]:
    """Oldest first, those not done yet, whether or not they were handed out before: a bridge may have died since."""
    return tuple(_asked(row) for row in conn.execute(_OPEN, {"limit": limit}))


def newest(conn: Connection, limit: int = 50) -> tuple[Asked, ...]:
    return tuple(_asked(row) for row in conn.execute(_NEWEST, {"limit": limit}))


def mark_taken(conn: Connection, ids: tuple[str, ...], now: Instant) -> None:
    conn.execute(_TAKEN, {"ids": ids, "at_ms": now})


def mark_done(conn: Connection, instruction: str, result: str, now: Instant) -> bool:
    """False for an unknown instruction. The first result stays."""
    conn.execute(_DONE, {"instruction": instruction, "at_ms": now, "outcome": result})
    return conn.execute(_KNOWN, {"instruction": instruction}).scalar_one() > 0


def _asked(row: Row[tuple[object, ...]]) -> Asked:
    return Asked(
        row.id,
        cast(InstructionKind, row.kind),
        json.loads(row.body),
        Instant(row.made_at_ms),
        None if row.taken_at_ms is None else Instant(row.taken_at_ms),
        None if row.done_at_ms is None else Instant(row.done_at_ms),
        row.result,
    )
