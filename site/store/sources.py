"""What a person and the persona said, as a bridge told it. Private: public pages never read this table."""

from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import ColumnElement, Connection, Row, and_, bindparam, func, insert, or_, select, update

from core.clock import Instant

from .control import claim_sources, sources
from .pairings import Role

Speaker = Literal["person", "persona"]


@dataclass(frozen=True)
class Source:
    id: str
    turn: str
    conversation: str
    account: str
    role: Role
    speaker: Speaker
    text: str
    said_at: Instant
    heard: bool
    version: int
    forgotten_at: Instant | None = None
    processed_at: Instant | None = None


_ONE = select(sources).where(sources.c.id == bindparam("source"))
_ADD = insert(sources)
_CHANGE = (
    update(sources)
    .where(sources.c.id == bindparam("source"))
    .values(
        text=bindparam("new_text"),
        version=bindparam("new_version"),
        heard=bindparam("new_heard"),
        forgotten_at_ms=bindparam("new_forgotten"),
    )
)
_IN_A_CLAIM = select(claim_sources.c.source_id).where(claim_sources.c.live == 1)
# Guests' talk is never digested, what was forgotten has no text, and a source is in one claim at most.
_WAITING: tuple[ColumnElement[bool], ...] = (
    sources.c.role == "owner",
    sources.c.forgotten_at_ms.is_(None),
    sources.c.processed_at_ms.is_(None),
    sources.c.id.not_in(_IN_A_CLAIM),
)
_ORDER = (sources.c.said_at_ms, sources.c.id)
_PERSON = sources.c.speaker == "person"
_TURNS = (
    select(sources.c.turn)
    .where(*_WAITING, _PERSON)
    .group_by(sources.c.turn)
    .order_by(func.min(sources.c.said_at_ms))
    .limit(bindparam("turns"))
)
_TURNS_NAMED = select(sources.c.turn).where(*_WAITING, _PERSON, sources.c.id.in_(bindparam("ids", expanding=True)))
# Only what reached the person stands beside their words; a reply alone is nothing to digest.
_TALK = (*_WAITING, or_(_PERSON, sources.c.heard == 1))
_WAITING_FIRST = select(sources).where(*_TALK, sources.c.turn.in_(_TURNS)).order_by(*_ORDER)
_WAITING_NAMED = select(sources).where(*_TALK, sources.c.turn.in_(_TURNS_NAMED)).order_by(*_ORDER)
_COUNT_WAITING = select(func.count()).select_from(sources).where(*_WAITING, _PERSON)
_OF_CLAIM = (
    select(sources)
    .join(claim_sources, claim_sources.c.source_id == sources.c.id)
    .where(claim_sources.c.claim_id == bindparam("claim"))
    .order_by(*_ORDER)
)
_PROCESSED = (
    update(sources)
    .where(sources.c.id.in_(select(claim_sources.c.source_id).where(claim_sources.c.claim_id == bindparam("claim"))))
    .values(processed_at_ms=bindparam("at_ms"))
)
_SEARCH = (
    select(sources)
    .where(
        sources.c.forgotten_at_ms.is_(None),
        sources.c.text.like(bindparam("pattern"), escape="\\"),
        or_(
            sources.c.said_at_ms < bindparam("before"),
            and_(sources.c.said_at_ms == bindparam("before"), sources.c.id < bindparam("before_id")),
        ),
    )
    .order_by(sources.c.said_at_ms.desc(), sources.c.id.desc())
    .limit(bindparam("limit"))
)

_OF_EXCHANGE = (
    select(sources)
    .where(
        sources.c.turn == bindparam("of_turn"),
        sources.c.conversation == bindparam("of_conversation"),
        sources.c.account == bindparam("of_account"),
    )
    .order_by(*_ORDER)
)


def one(conn: Connection, source: str) -> Source | None:
    row = conn.execute(_ONE, {"source": source}).first()
    return _source(row) if row else None


def add(conn: Connection, source: Source, now: Instant) -> None:
    conn.execute(
        _ADD,
        {
            "id": source.id,
            "turn": source.turn,
            "conversation": source.conversation,
            "account": source.account,
            "role": source.role,
            "speaker": source.speaker,
            "text": source.text,
            "said_at_ms": source.said_at,
            "heard": int(source.heard),
            "version": source.version,
            "received_at_ms": now,
            "forgotten_at_ms": source.forgotten_at,
        },
    )


def change(conn: Connection, source: Source) -> None:
    """Writes text, version, heard and forgotten of a source that is there."""
    values = {
        "source": source.id,
        "new_text": source.text,
        "new_version": source.version,
        "new_heard": int(source.heard),
        "new_forgotten": source.forgotten_at,
    }
    conn.execute(_CHANGE, values)


def waiting(conn: Connection, turns: int) -> tuple[Source, ...]:
    """The oldest turns that no digest has taken up, whole, with the replies in them that were heard."""
    return tuple(_source(row) for row in conn.execute(_WAITING_FIRST, {"turns": turns}))


def waiting_among(conn: Connection, ids: tuple[str, ...]) -> tuple[Source, ...]:
    """The same for the turns these sources are in."""
    return tuple(_source(row) for row in conn.execute(_WAITING_NAMED, {"ids": ids}))


def count_waiting(conn: Connection) -> int:
    """How many of the person's own messages wait for a digest."""
    return int(conn.execute(_COUNT_WAITING).scalar_one())


def of_claim(conn: Connection, claim: str) -> tuple[Source, ...]:
    return tuple(_source(row) for row in conn.execute(_OF_CLAIM, {"claim": claim}))


def of_exchange(conn: Connection, said: Source) -> tuple[Source, ...]:
    """Everything of the turn that this was said in, itself included."""
    values = {"of_turn": said.turn, "of_conversation": said.conversation, "of_account": said.account}
    return tuple(_source(row) for row in conn.execute(_OF_EXCHANGE, values))


def mark_processed(conn: Connection, claim: str, now: Instant | None) -> None:
    """None gives the sources of that claim back to the waiting ones."""
    conn.execute(_PROCESSED, {"claim": claim, "at_ms": now})


def search(
    conn: Connection, words: str, limit: int, before: Instant = Instant(2**62), before_id: str = ""
) -> tuple[Source, ...]:
    """Newest first, what holds `words` as they stand; everything for an empty string.

    The next page begins before the last one of this: its time and, for many of one moment, its id.
    """
    values = {"pattern": _holding(words), "before": before, "before_id": before_id, "limit": limit}
    return tuple(_source(row) for row in conn.execute(_SEARCH, values))


def _source(row: Row[tuple[object, ...]]) -> Source:
    return Source(
        row.id,
        row.turn,
        row.conversation,
        row.account,
        cast(Role, row.role),
        cast(Speaker, row.speaker),
        row.text,
        Instant(row.said_at_ms),
        bool(row.heard),
        row.version,
        None if row.forgotten_at_ms is None else Instant(row.forgotten_at_ms),
        None if row.processed_at_ms is None else Instant(row.processed_at_ms),
    )


def _holding(words: str) -> str:
    """The LIKE pattern of texts that hold these words as they stand; every text when there are none."""
    escaped = words.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"
