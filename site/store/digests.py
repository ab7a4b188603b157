"""Drafts of the private inbox, their wordings, and the owner's approvals of exact texts."""

from dataclasses import dataclass
from typing import Literal, cast

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update
from sqlalchemy import text as sql

from core.clock import Instant

from .control import approvals, claim_sources, digest_versions, digests

State = Literal["waiting", "rewriting", "published", "unpublished", "discarded", "failed"]
Author = Literal["persona", "owner"]


@dataclass(frozen=True)
class DigestDraft:
    """`facts` is JSON: a list of {statement, sources, who}; `note` is the owner's reason or the wish for a rewrite."""

    id: int
    claim: str
    state: State
    language: Literal["zh", "en"]
    day: str
    title: str
    body: str
    facts: str
    version: int
    note: str | None
    made_at: Instant
    updated_at: Instant


@dataclass(frozen=True)
class Wording:
    version: int
    title: str
    body: str
    author: Author
    saved_at: Instant


_ADD = insert(digests)
_ADD_WORDING = insert(digest_versions)
_ONE = select(digests).where(digests.c.id == bindparam("digest"))
_BY_CLAIM = select(digests.c.id).where(digests.c.claim_id == bindparam("claim"))
_IN_STATES = (
    select(digests)
    .where(digests.c.state.in_(bindparam("states", expanding=True)))
    .order_by(digests.c.made_at_ms.desc(), digests.c.id.desc())
    .limit(bindparam("limit"))
)
_COUNT = select(func.count()).select_from(digests).where(digests.c.state == bindparam("of_state"))
_WORDINGS = (
    select(digest_versions)
    .where(digest_versions.c.digest_id == bindparam("digest"))
    .order_by(digest_versions.c.version.desc())
)
_REWORD = (
    update(digests)
    .where(digests.c.id == bindparam("digest"), digests.c.version == bindparam("based_on"))
    .values(
        title=bindparam("new_title"),
        body=bindparam("new_body"),
        version=bindparam("new_version"),
        updated_at_ms=bindparam("at_ms"),
    )
)
_MOVE = (
    update(digests)
    .where(digests.c.id == bindparam("digest"), digests.c.state.in_(bindparam("was", expanding=True)))
    .values(state=bindparam("becomes"), note=bindparam("why"), updated_at_ms=bindparam("at_ms"))
)
_APPROVE = sql(
    "INSERT INTO approvals (digest_id, text_hash, approved_at_ms) VALUES (:digest, :hash, :at_ms) ON CONFLICT DO NOTHING"
)
_APPROVED = (
    select(func.count())
    .select_from(approvals)
    .where(approvals.c.digest_id == bindparam("digest"), approvals.c.text_hash == bindparam("hash"))
)
_FROM_SOURCE = (
    select(digests)
    .join(claim_sources, claim_sources.c.claim_id == digests.c.claim_id)
    .where(claim_sources.c.source_id == bindparam("source"))
)
_EMPTY = update(digests).where(digests.c.id == bindparam("digest")).values(title="", body="", facts="[]")
_EMPTY_WORDINGS = (
    update(digest_versions).where(digest_versions.c.digest_id == bindparam("digest")).values(title="", body="")
)


def add(conn: Connection, draft: DigestDraft, author: Author) -> int:
    """The number of the new draft; its `id` is not looked at."""
    made = conn.execute(
        _ADD,
        {
            "claim_id": draft.claim,
            "state": draft.state,
            "language": draft.language,
            "day": draft.day,
            "title": draft.title,
            "body": draft.body,
            "facts": draft.facts,
            "version": draft.version,
            "made_at_ms": draft.made_at,
            "updated_at_ms": draft.updated_at,
        },
    ).inserted_primary_key
    assert made is not None, "an insert of one row gives its key back"
    digest = int(made[0])
    _add_wording(conn, digest, Wording(draft.version, draft.title, draft.body, author, draft.made_at))
    return digest


def one(conn: Connection, digest: int) -> DigestDraft | None:
    row = conn.execute(_ONE, {"digest": digest}).first()
    return _draft(row) if row else None


def of_claim(conn: Connection, claim: str) -> int | None:
    return conn.execute(_BY_CLAIM, {"claim": claim}).scalar_one_or_none()


def in_states(conn: Connection, states: tuple[State, ...], limit: int = 100) -> tuple[DigestDraft, ...]:
    """Newest first."""
    return tuple(_draft(row) for row in conn.execute(_IN_STATES, {"states": states, "limit": limit}))


def count(conn: Connection, state: State) -> int:
    return int(conn.execute(_COUNT, {"of_state": state}).scalar_one())


def wordings(conn: Connection, digest: int) -> tuple[Wording, ...]:
    """Newest first."""
    return tuple(
        Wording(row.version, row.title, row.body, cast(Author, row.author), Instant(row.saved_at_ms))
        for row in conn.execute(_WORDINGS, {"digest": digest})
    )


def reword(conn: Connection, digest: int, based_on: int, title: str, body: str, author: Author, now: Instant) -> bool:
    """False when the draft has another version by now; then nothing is written."""
    new = based_on + 1
    values = {"digest": digest, "based_on": based_on, "new_title": title, "new_body": body, "new_version": new}
    if conn.execute(_REWORD, {**values, "at_ms": now}).rowcount != 1:
        return False
    _add_wording(conn, digest, Wording(new, title, body, author, now))
    return True


def move(conn: Connection, digest: int, was: tuple[State, ...], becomes: State, note: str | None, now: Instant) -> bool:
    """True for the one caller who finds it in one of those states."""
    values = {"digest": digest, "was": was, "becomes": becomes, "why": note, "at_ms": now}
    return conn.execute(_MOVE, values).rowcount == 1


def approve(conn: Connection, digest: int, text_hash: str, now: Instant) -> None:
    conn.execute(_APPROVE, {"digest": digest, "hash": text_hash, "at_ms": now})


def is_approved(conn: Connection, digest: int, text_hash: str) -> bool:
    return conn.execute(_APPROVED, {"digest": digest, "hash": text_hash}).scalar_one() > 0


def made_from(conn: Connection, source: str) -> tuple[DigestDraft, ...]:
    return tuple(_draft(row) for row in conn.execute(_FROM_SOURCE, {"source": source}))


def empty(conn: Connection, digest: int) -> None:
    """Takes every wording away; used when something it was made from is forgotten."""
    conn.execute(_EMPTY, {"digest": digest})
    conn.execute(_EMPTY_WORDINGS, {"digest": digest})


def _add_wording(conn: Connection, digest: int, wording: Wording) -> None:
    conn.execute(
        _ADD_WORDING,
        {
            "digest_id": digest,
            "version": wording.version,
            "title": wording.title,
            "body": wording.body,
            "author": wording.author,
            "saved_at_ms": wording.saved_at,
        },
    )


def _draft(row: Row[tuple[object, ...]]) -> DigestDraft:
    return DigestDraft(
        row.id,
        row.claim_id,
        cast(State, row.state),
        cast(Literal["zh", "en"], row.language),
        row.day,
        row.title,
        row.body,
        row.facts,
        row.version,
        row.note,
        Instant(row.made_at_ms),
        Instant(row.updated_at_ms),
    )
