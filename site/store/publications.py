"""Published articles, and the read handle of everything public.

Visibility is ONE query, `PUBLISHED`: every list, page, feed, search result and answer selects from it. Public routes
are given a `PublicReader` and nothing else of the store, so a draft has no way to them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import ColumnElement, Connection, Executable, RowMapping, and_, delete, func, insert, or_, select

from core.clock import Instant
from core.ids import Slug
from core.store import Store

from .articles import Draft, Kind, Language
from .content import articles, media, old_slugs, publication_tags, publications
from .editions import newest_edition
from .journal_pages import Entry, entry_at, shown_entries

PUBLISHED = (
    select(publications)
    .join(articles, articles.c.id == publications.c.article_id)
    .where(articles.c.visibility == "published")
    .subquery("published")
)


@dataclass(frozen=True)
class Teaser:
    """What a list shows of an article."""

    id: int
    kind: Kind
    slug: Slug
    language: Language
    title: str
    summary: str
    tags: tuple[str, ...]
    dated: str
    updated_at_ms: int

    @property
    def path(self) -> str:
        return article_path(self.kind, self.slug)


@dataclass(frozen=True)
class Publication:
    """A published article with its text in three forms, made when it was published."""

    teaser: Teaser
    document: str
    html: str
    plain: str
    edition: int


@dataclass(frozen=True)
class Neighbours:
    """The articles of the same kind dated just before and just after."""

    older: Teaser | None
    newer: Teaser | None


@dataclass(frozen=True)
class TagCount:
    tag: str
    articles: int


@dataclass(frozen=True)
class Changes:
    """What became different since the editions somebody knows: new or changed articles, and those that are gone."""

    edition: int
    changed: tuple[Publication, ...]
    gone: tuple[int, ...]


ShelfName = Literal["posts", "notes", "projects"]
SHELVES: dict[ShelfName, Kind] = {"posts": "post", "notes": "note", "projects": "project"}
_SHELF_OF: dict[Kind, ShelfName] = {kind: name for name, kind in SHELVES.items()}

_P = PUBLISHED.c
_TEASER = (_P.article_id, _P.kind, _P.slug, _P.language, _P.title, _P.summary, _P.tags, _P.dated, _P.updated_at_ms)
_NEWEST_FIRST = (_P.dated.desc(), _P.article_id.desc())


def article_path(kind: Kind, slug: str) -> str:
    """
    >>> article_path("note", "on-tea")
    '/notes/on-tea'
    """
    return f"/{_SHELF_OF[kind]}/{slug}"


class PublicReader:
    """All that the public can see, one method a question; each is one snapshot."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def edition(self) -> int:
        return await self._store.read(newest_edition)

    async def changes(self, known: Mapping[int, int]) -> Changes:
        """`known` is the edition of each article somebody has."""
        return await self._store.read(changes_since, known)

    async def shelf(self, kind: Kind | None = None, limit: int = 500) -> list[Teaser]:
        """Newest first; all kinds when none is named."""
        return await self._store.read(published_teasers, kind, limit)

    async def tagged(self, tag: str, limit: int = 500) -> list[Teaser]:
        return await self._store.read(tagged_teasers, tag, limit)

    async def tags(self) -> list[TagCount]:
        return await self._store.read(tag_counts)

    async def article(self, slug: str) -> Publication | None:
        return await self._store.read(publication_at, slug)

    async def recent(self, limit: int) -> list[Publication]:
        """Whole articles for the feeds, newest first."""
        return await self._store.read(recent_publications, limit, None)

    async def recent_tagged(self, tag: str, limit: int) -> list[Publication]:
        return await self._store.read(recent_publications, limit, tag)

    async def neighbours(self, teaser: Teaser) -> Neighbours:
        return await self._store.read(neighbours_of, teaser)

    async def related(self, teaser: Teaser, limit: int = 3) -> list[Teaser]:
        return await self._store.read(related_to, teaser, limit)

    async def moved_to(self, slug: str) -> str | None:
        """The present path of a published article that once had this slug."""
        return await self._store.read(present_path, slug)

    async def journal(self, limit: int = 500) -> list[Entry]:
        return await self._store.read(shown_entries, limit)

    async def journal_entry(self, slug: str) -> Entry | None:
        return await self._store.read(entry_at, slug)

    async def media_type(self, name: str) -> str | None:
        return await self._store.read(media_type_of, name)


def published_teasers(conn: Connection, kind: Kind | None, limit: int) -> list[Teaser]:
    query = select(*_TEASER).order_by(*_NEWEST_FIRST).limit(limit)
    return _teasers(conn, query if kind is None else query.where(_P.kind == kind))


def tagged_teasers(conn: Connection, tag: str, limit: int) -> list[Teaser]:
    return _teasers(conn, select(*_TEASER).where(_carries(tag)).order_by(*_NEWEST_FIRST).limit(limit))


def tag_counts(conn: Connection) -> list[TagCount]:
    number = func.count().label("number")
    query = (
        select(publication_tags.c.tag, number)
        .join(PUBLISHED, _P.article_id == publication_tags.c.article_id)
        .group_by(publication_tags.c.tag)
        .order_by(number.desc(), publication_tags.c.tag)
    )
    return [TagCount(row.tag, row.number) for row in conn.execute(query)]


def publication_at(conn: Connection, slug: str) -> Publication | None:
    row = conn.execute(select(PUBLISHED).where(_P.slug == slug)).mappings().first()
    return _publication(row) if row else None


def changes_since(conn: Connection, known: Mapping[int, int]) -> Changes:
    now = {row.article_id: row.edition for row in conn.execute(select(_P.article_id, _P.edition))}
    changed = [number for number, edition in now.items() if known.get(number) != edition]
    every = select(PUBLISHED).order_by(_P.article_id)
    # SQLite takes a limited number of values in one statement, and at a start everything is new.
    rows = conn.execute(every if len(changed) > 500 else every.where(_P.article_id.in_(changed))).mappings()
    articles_now = tuple(_publication(row) for row in rows if known.get(row["article_id"]) != row["edition"])
    return Changes(newest_edition(conn), articles_now, tuple(number for number in known if number not in now))


def recent_publications(conn: Connection, limit: int, tag: str | None) -> list[Publication]:
    query = select(PUBLISHED).order_by(*_NEWEST_FIRST).limit(limit)
    rows = conn.execute(query if tag is None else query.where(_carries(tag))).mappings()
    return [_publication(row) for row in rows]


def neighbours_of(conn: Connection, teaser: Teaser) -> Neighbours:
    same = select(*_TEASER).where(_P.kind == teaser.kind).limit(1)
    older = or_(_P.dated < teaser.dated, and_(_P.dated == teaser.dated, _P.article_id < teaser.id))
    newer = or_(_P.dated > teaser.dated, and_(_P.dated == teaser.dated, _P.article_id > teaser.id))
    before = _teasers(conn, same.where(older).order_by(*_NEWEST_FIRST))
    after = _teasers(conn, same.where(newer).order_by(_P.dated, _P.article_id))
    return Neighbours(before[0] if before else None, after[0] if after else None)


def related_to(conn: Connection, teaser: Teaser, limit: int) -> list[Teaser]:
    """Articles that share most tags, newest first among equals."""
    shared = func.count().label("shared")
    query = (
        select(*_TEASER, shared)
        .join(publication_tags, publication_tags.c.article_id == _P.article_id)
        .where(publication_tags.c.tag.in_(teaser.tags), _P.article_id != teaser.id)
        .group_by(*_TEASER)
        .order_by(shared.desc(), *_NEWEST_FIRST)
        .limit(limit)
    )
    return _teasers(conn, query) if teaser.tags else []


def present_path(conn: Connection, slug: str) -> str | None:
    query = select(_P.kind, _P.slug).join(old_slugs, old_slugs.c.article_id == _P.article_id)
    row = conn.execute(query.where(old_slugs.c.slug == slug)).first()
    return article_path(row.kind, row.slug) if row else None


def media_type_of(conn: Connection, name: str) -> str | None:
    return conn.execute(select(media.c.type).where(media.c.name == name)).scalar_one_or_none()


def put_publication(conn: Connection, draft: Draft, html: str, plain: str, edition: int, now: Instant) -> None:
    """What readers see of this draft from now on. Its first publication keeps its time."""
    article, writing = draft.article, draft.writing
    first = conn.execute(
        select(publications.c.published_at_ms).where(publications.c.article_id == article.id)
    ).scalar_one_or_none()
    withdraw_publication(conn, article.id)
    conn.execute(
        insert(publications).values(
            article_id=article.id,
            kind=article.kind,
            slug=article.slug,
            language=article.language,
            version=draft.version,
            title=writing.title,
            summary=writing.summary,
            tags=json.dumps(writing.tags, ensure_ascii=False),
            dated=writing.dated,
            document=writing.document,
            html=html,
            plain=plain,
            published_at_ms=now if first is None else first,
            updated_at_ms=now,
            edition=edition,
        )
    )
    for tag in writing.tags:
        conn.execute(insert(publication_tags).values(article_id=article.id, tag=tag))


def published_version(conn: Connection, article_id: int) -> int | None:
    query = select(publications.c.version).where(publications.c.article_id == article_id)
    return conn.execute(query).scalar_one_or_none()


def id_at_address(conn: Connection, slug: str) -> int | None:
    """The article that readers find at this address."""
    return conn.execute(select(publications.c.article_id).where(publications.c.slug == slug)).scalar_one_or_none()


def published_versions(conn: Connection) -> dict[int, int]:
    """The public version of each article that has one."""
    return {
        row.article_id: row.version for row in conn.execute(select(publications.c.article_id, publications.c.version))
    }


def withdraw_publication(conn: Connection, article_id: int) -> None:
    conn.execute(delete(publication_tags).where(publication_tags.c.article_id == article_id))
    conn.execute(delete(publications).where(publications.c.article_id == article_id))


def _carries(tag: str) -> ColumnElement[bool]:
    return _P.article_id.in_(select(publication_tags.c.article_id).where(publication_tags.c.tag == tag))


def _teasers(conn: Connection, query: Executable) -> list[Teaser]:
    return [_teaser(row) for row in conn.execute(query).mappings()]


def _teaser(row: RowMapping) -> Teaser:
    return Teaser(
        row["article_id"],
        row["kind"],
        Slug(row["slug"]),
        row["language"],
        row["title"],
        row["summary"],
        tuple(json.loads(row["tags"])),
        row["dated"],
        row["updated_at_ms"],
    )


def _publication(row: RowMapping) -> Publication:
    return Publication(_teaser(row), row["document"], row["html"], row["plain"], row["edition"])
