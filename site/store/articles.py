"""Articles and their working drafts: the owner's side. What readers see is in `publications.py`.

Every write of a draft names the version it was based on, so that two editors never overwrite each other.
"""

import json
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, RowMapping, delete, insert, select, update

from core.clock import Instant
from core.errors import BadInput
from core.ids import Slug

from .content import articles, drafts, old_slugs, revisions

Kind = Literal["post", "note", "project"]
Language = Literal["zh", "en"]
Visibility = Literal["draft", "published", "unpublished", "private"]


@dataclass(frozen=True)
class Article:
    id: int
    kind: Kind
    slug: Slug
    language: Language
    visibility: Visibility


@dataclass(frozen=True)
class Writing:
    """The words of an article: `document` is FlowDocument JSON, `dated` an ISO 8601 day."""

    title: str
    summary: str
    tags: tuple[str, ...]
    dated: str
    document: str


@dataclass(frozen=True)
class Draft:
    article: Article
    version: int
    writing: Writing
    updated_at_ms: int


class DraftConflict(BadInput):
    """Somebody saved in between. `current` is the draft as it is now."""

    def __init__(self, current: Draft, based_on: int) -> None:
        super().__init__(
            f"article {current.article.slug!r} is at version {current.version}, this change was made on version "
            f"{based_on}: compare both texts, then save again on the newer one"
        )
        self.current = current


_WORDS = (drafts.c.version, drafts.c.title, drafts.c.summary, drafts.c.tags, drafts.c.dated, drafts.c.document)
_DRAFTS = select(*articles.c, *_WORDS, drafts.c.updated_at_ms).join(drafts, drafts.c.article_id == articles.c.id)


def find_draft(conn: Connection, slug: str) -> Draft | None:
    row = conn.execute(_DRAFTS.where(articles.c.slug == slug)).mappings().first()
    return _draft(row) if row else None


def draft_of(conn: Connection, article_id: int) -> Draft | None:
    row = conn.execute(_DRAFTS.where(articles.c.id == article_id)).mappings().first()
    return _draft(row) if row else None


def all_drafts(conn: Connection) -> list[Draft]:
    """Every article whatever its state, newest date first."""
    rows = conn.execute(_DRAFTS.order_by(drafts.c.dated.desc(), articles.c.id.desc())).mappings()
    return [_draft(row) for row in rows]


def earlier_writings(conn: Connection, article_id: int) -> list[Writing]:
    """Every version there was, newest first."""
    query = select(revisions).where(revisions.c.article_id == article_id).order_by(revisions.c.version.desc())
    return [_writing(row) for row in conn.execute(query).mappings()]


@dataclass(frozen=True)
class Revision:
    version: int
    saved_at: Instant
    writing: Writing


def newest_revisions(conn: Connection, article_id: int, before: int, limit: int) -> list[Revision]:
    """Versions below `before`, newest first."""
    query = select(revisions).where(revisions.c.article_id == article_id, revisions.c.version < before)
    rows = conn.execute(query.order_by(revisions.c.version.desc()).limit(limit)).mappings()
    return [Revision(row["version"], Instant(row["saved_at_ms"]), _writing(row)) for row in rows]


def revision(conn: Connection, article_id: int, version: int) -> Writing | None:
    query = select(revisions).where(revisions.c.article_id == article_id, revisions.c.version == version)
    row = conn.execute(query).mappings().first()
    return _writing(row) if row else None


def add_article(conn: Connection, slug: str, kind: Kind, language: Language, writing: Writing, now: Instant) -> Draft:
    """A new article as a draft, version 1. An old address that it takes over no longer leads elsewhere."""
    conn.execute(delete(old_slugs).where(old_slugs.c.slug == slug))
    new = {"kind": kind, "slug": slug, "language": language, "visibility": "draft", "created_at_ms": now}
    article_id = int(conn.execute(insert(articles).values(new).returning(articles.c.id)).scalar_one())
    conn.execute(insert(drafts).values(article_id=article_id, version=1, updated_at_ms=now, **_columns(writing)))
    _keep_revision(conn, article_id, 1, writing, now)
    return _existing(conn, article_id)


def save_draft(conn: Connection, article_id: int, based_on: int, writing: Writing, now: Instant) -> Draft:
    """The next version of a draft. Errors: DraftConflict with the present one when it is not version `based_on`."""
    changed = conn.execute(
        update(drafts)
        .where(drafts.c.article_id == article_id, drafts.c.version == based_on)
        .values(version=based_on + 1, updated_at_ms=now, **_columns(writing))
    )
    if changed.rowcount != 1:
        raise DraftConflict(_existing(conn, article_id), based_on)
    _keep_revision(conn, article_id, based_on + 1, writing, now)
    return _existing(conn, article_id)


def set_visibility(conn: Connection, article_id: int, visibility: Visibility) -> None:
    """Only the column: publishing and withdrawing are in `content/publish.py`, which keeps `publications` in step."""
    conn.execute(update(articles).where(articles.c.id == article_id).values(visibility=visibility))


def set_kind_and_language(conn: Connection, article_id: int, kind: Kind, language: Language) -> None:
    conn.execute(update(articles).where(articles.c.id == article_id).values(kind=kind, language=language))


def rename_article(conn: Connection, article: Article, slug: str, now: Instant) -> None:
    """A new address; the old one leads to it from now on. Errors: BadInput when another article has it."""
    if slug == article.slug:
        return
    if find_draft(conn, slug):
        raise BadInput(f"the address {slug!r} belongs to another article: choose a different slug")
    conn.execute(delete(old_slugs).where(old_slugs.c.slug == slug))
    conn.execute(insert(old_slugs).values(slug=article.slug, article_id=article.id, left_at_ms=now))
    conn.execute(update(articles).where(articles.c.id == article.id).values(slug=slug))


def _existing(conn: Connection, article_id: int) -> Draft:
    found = draft_of(conn, article_id)
    if found is None:
        raise BadInput(f"there is no article number {article_id}: it was deleted, or the number is wrong")
    return found


def _keep_revision(conn: Connection, article_id: int, version: int, writing: Writing, now: Instant) -> None:
    conn.execute(insert(revisions).values(article_id=article_id, version=version, saved_at_ms=now, **_columns(writing)))


def _columns(writing: Writing) -> dict[str, str]:
    return {
        "title": writing.title,
        "summary": writing.summary,
        "tags": json.dumps(writing.tags, ensure_ascii=False),
        "dated": writing.dated,
        "document": writing.document,
    }


def _draft(row: RowMapping) -> Draft:
    article = Article(row["id"], row["kind"], Slug(row["slug"]), row["language"], row["visibility"])
    return Draft(article, row["version"], _writing(row), row["updated_at_ms"])


def _writing(row: RowMapping) -> Writing:
    return Writing(row["title"], row["summary"], tuple(json.loads(row["tags"])), row["dated"], row["document"])
