"""Batches of sources that a digest worker is summarising, and the slots they belong to."""

from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update
from sqlalchemy import text as sql

from core.clock import Instant

from .control import claim_sources, claims, slots

State = Literal["claimed", "drafted", "released", "failed", "unknown"]
SlotState = Literal["claimed", "done", "empty", "failed", "told"]


@dataclass(frozen=True)
class Claimed:
    """`id` is the id of its reservation too, where it has one."""

    id: str
    slot: str | None
    batch: int
    reservation: str | None
    state: State
    claimed_at: Instant
    ended_at: Instant | None = None
    reason: str | None = None


@dataclass(frozen=True)
class SlotRow:
    slot: str
    state: SlotState
    claimed_at: Instant
    ended_at: Instant | None
    note: str | None


_TAKE_SLOT = sql(
    "INSERT INTO slots (slot, state, claimed_at_ms) VALUES (:slot, 'claimed', :at_ms) ON CONFLICT DO NOTHING"
)
_SLOT = select(slots).where(slots.c.slot == bindparam("of_slot"))
_END_SLOT = (
    update(slots)
    .where(slots.c.slot == bindparam("of_slot"))
    .values(state=bindparam("becomes"), ended_at_ms=bindparam("at_ms"), note=bindparam("why"))
)
_NOTE_SLOT = update(slots).where(slots.c.slot == bindparam("of_slot")).values(note=bindparam("why"))
_SLOTS = select(slots).order_by(slots.c.slot.desc()).limit(bindparam("limit"))
_OF_SLOT = select(func.count()).select_from(claims).where(claims.c.slot == bindparam("of_slot"))
_ADD = insert(claims)
_ADD_SOURCES = insert(claim_sources)
_ONE = select(claims).where(claims.c.id == bindparam("claim"))
_NEWEST = select(claims).order_by(claims.c.claimed_at_ms.desc(), claims.c.id.desc()).limit(bindparam("limit"))
_LIVE_OF_SLOT = (
    select(func.count()).select_from(claims).where(claims.c.slot == bindparam("of_slot"), claims.c.state == "claimed")
)
_LIVE = select(claims).where(claims.c.state == "claimed").order_by(claims.c.claimed_at_ms)
_END = (
    update(claims)
    .where(claims.c.id == bindparam("claim"), claims.c.state == "claimed")
    .values(state=bindparam("becomes"), ended_at_ms=bindparam("at_ms"), reason=bindparam("why"))
)
_FREE = update(claim_sources).where(claim_sources.c.claim_id == bindparam("claim")).values(live=0)
_SOURCE_IDS = select(claim_sources.c.source_id).where(claim_sources.c.claim_id == bindparam("claim"))


def take_slot(conn: Connection, slot: str, now: Instant) -> bool:
    """True for whoever inserts it, once for ever."""
    return conn.execute(_TAKE_SLOT, {"slot": slot, "at_ms": now}).rowcount == 1


def slot(conn: Connection, name: str) -> SlotRow | None:
    row = conn.execute(_SLOT, {"of_slot": name}).first()
    return _slot(row) if row else None


def end_slot(conn: Connection, name: str, becomes: SlotState, now: Instant, note: str | None = None) -> None:
    conn.execute(_END_SLOT, {"of_slot": name, "becomes": becomes, "at_ms": now, "why": note})


def note_slot(conn: Connection, name: str, note: str) -> None:
    conn.execute(_NOTE_SLOT, {"of_slot": name, "why": note})


def newest_slots(conn: Connection, limit: int = 14) -> tuple[SlotRow, ...]:
    return tuple(_slot(row) for row in conn.execute(_SLOTS, {"limit": limit}))


def count_of_slot(conn: Connection, name: str) -> int:
    return int(conn.execute(_OF_SLOT, {"of_slot": name}).scalar_one())


def at_work(conn: Connection, name: str) -> bool:
    """Whether a claim of this slot is being summarised, or was abandoned and nobody has released it."""
    return conn.execute(_LIVE_OF_SLOT, {"of_slot": name}).scalar_one() > 0


def add(conn: Connection, claim: Claimed, source_ids: tuple[str, ...]) -> None:
    """The table refuses a source that is in another live claim."""
    conn.execute(
        _ADD,
        {
            "id": claim.id,
            "slot": claim.slot,
            "batch": claim.batch,
            "reservation_id": claim.reservation,
            "state": claim.state,
            "claimed_at_ms": claim.claimed_at,
        },
    )
    conn.execute(_ADD_SOURCES, [{"claim_id": claim.id, "source_id": source, "live": 1} for source in source_ids])


def one(conn: Connection, claim: str) -> Claimed | None:
    row = conn.execute(_ONE, {"claim": claim}).first()
    return _claimed(row) if row else None


def live(conn: Connection) -> tuple[Claimed, ...]:
    return tuple(_claimed(row) for row in conn.execute(_LIVE))


def newest(conn: Connection, limit: int = 30) -> tuple[Claimed, ...]:
    return tuple(_claimed(row) for row in conn.execute(_NEWEST, {"limit": limit}))


def source_ids(conn: Connection, claim: str) -> tuple[str, ...]:
    return tuple(conn.execute(_SOURCE_IDS, {"claim": claim}).scalars())


def end(conn: Connection, claim: str, becomes: State, now: Instant, reason: str | None = None) -> bool:
    """True for the one caller who finds it claimed."""
    values = {"claim": claim, "becomes": becomes, "at_ms": now, "why": reason}
    return conn.execute(_END, values).rowcount == 1


def free_sources(conn: Connection, claim: str) -> None:
    """Its sources may be claimed again."""
    conn.execute(_FREE, {"claim": claim})


def _slot(row: Row[tuple[object, ...]]) -> SlotRow:
    ended = None if row.ended_at_ms is None else Instant(row.ended_at_ms)
    return SlotRow(row.slot, cast(SlotState, row.state), Instant(row.claimed_at_ms), ended, row.note)


def _claimed(row: Row[tuple[object, ...]]) -> Claimed:
    return Claimed(
        row.id,
        row.slot,
        row.batch,
        row.reservation_id,
        cast(State, row.state),
        Instant(row.claimed_at_ms),
        None if row.ended_at_ms is None else Instant(row.ended_at_ms),
        row.reason,
    )
