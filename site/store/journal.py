"""Writing journal entries: the approved text of a digest and nothing of its sources. Reading is in `journal_pages.py`."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, insert, select, update

from core.clock import Instant

from .content import journal


@dataclass(frozen=True)
class NewEntry:
    """`document` is FlowDocument JSON; `text_hash` names the approval it rests on."""

    digest: int
    day: str
    language: str
    title: str
    document: str
    html: str
    text_hash: str


@dataclass(frozen=True)
class Written:
    slug: str
    title: str
    text_hash: str
    published_at: Instant
    withdrawn_at: Instant | None


_OF_DIGEST = select(journal).where(journal.c.digest_id == bindparam("digest"))
_TAKEN = select(func.count()).select_from(journal).where(journal.c.slug == bindparam("slug_of"))
_ADD = insert(journal)
_CHANGE = (
    update(journal)
    .where(journal.c.digest_id == bindparam("digest"))
    .values(
        title=bindparam("new_title"),
        document=bindparam("new_document"),
        html=bindparam("new_html"),
        text_hash=bindparam("new_hash"),
        updated_at_ms=bindparam("at_ms"),
        withdrawn_at_ms=None,
    )
)
_WITHDRAW = (
    update(journal)
    .where(journal.c.digest_id == bindparam("digest"), journal.c.withdrawn_at_ms.is_(None))
    .values(withdrawn_at_ms=bindparam("at_ms"))
)


def of_digest(conn: Connection, digest: int) -> Written | None:
    row = conn.execute(_OF_DIGEST, {"digest": digest}).first()
    if row is None:
        return None
    withdrawn = None if row.withdrawn_at_ms is None else Instant(row.withdrawn_at_ms)
    return Written(row.slug, row.title, row.text_hash, Instant(row.published_at_ms), withdrawn)


@dataclass(frozen=True)
class KeptEntry:
    """A journal entry as an export holds it, withdrawn ones too."""

    slug: str
    day: str
    language: str
    title: str
    document: str
    published_at_ms: int
    withdrawn_at_ms: int | None


def every(conn: Connection) -> tuple[KeptEntry, ...]:
    """Oldest day first."""
    rows = conn.execute(select(journal).order_by(journal.c.day, journal.c.id))
    return tuple(
        KeptEntry(row.slug, row.day, row.language, row.title, row.document, row.published_at_ms, row.withdrawn_at_ms)
        for row in rows
    )


def put(conn: Connection, entry: NewEntry, now: Instant) -> str:
    """Publishes, or publishes again under the same address. Gives the slug: the day, with a number where it is taken."""
    before = of_digest(conn, entry.digest)
    if before is not None:
        values = {"new_title": entry.title, "new_document": entry.document, "new_html": entry.html}
        conn.execute(_CHANGE, {"digest": entry.digest, "new_hash": entry.text_hash, "at_ms": now, **values})
        return before.slug
    slug = _free_slug(conn, entry.day)
    conn.execute(
        _ADD,
        {
            "slug": slug,
            "day": entry.day,
            "language": entry.language,
            "title": entry.title,
            "document": entry.document,
            "html": entry.html,
            "text_hash": entry.text_hash,
            "digest_id": entry.digest,
            "published_at_ms": now,
            "updated_at_ms": now,
        },
    )
    return slug


def withdraw(conn: Connection, digest: int, now: Instant) -> bool:
    return conn.execute(_WITHDRAW, {"digest": digest, "at_ms": now}).rowcount == 1


def _free_slug(conn: Connection, day: str) -> str:
    number, slug = 1, day
    while conn.execute(_TAKEN, {"slug_of": slug}).scalar_one():
        number += 1
        slug = f"{day}-{number}"
    return slug
