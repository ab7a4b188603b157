"""The public journal: reviewed digests that are not withdrawn. Who writes them is the inbox."""

from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, select

from core.ids import Slug

from .articles import Language
from .content import journal

_SHOWN = select(journal).where(journal.c.withdrawn_at_ms.is_(None))


@dataclass(frozen=True)
class Entry:
    """A journal entry as readers see it; `day` is the local day it tells of."""

    slug: Slug
    day: str
    language: Language
    title: str
    html: str
    updated_at_ms: int

    @property
    def path(self) -> str:
        return f"/journal/{self.slug}"


def shown_entries(conn: Connection, limit: int) -> list[Entry]:
    """Newest day first."""
    query = _SHOWN.order_by(journal.c.day.desc(), journal.c.id.desc()).limit(limit)
    return [_entry(row) for row in conn.execute(query).mappings()]


def entry_at(conn: Connection, slug: str) -> Entry | None:
    row = conn.execute(_SHOWN.where(journal.c.slug == slug)).mappings().first()
    return _entry(row) if row else None


def _entry(row: RowMapping) -> Entry:
    return Entry(Slug(row["slug"]), row["day"], row["language"], row["title"], row["html"], row["updated_at_ms"])
