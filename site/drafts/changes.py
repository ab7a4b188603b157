"""What the owner does to an article: one transaction each. Every change names the version it began from.

Readers see a change only when it is published; the address, kind and language of a public article too change then.
"""

from dataclasses import replace

from sqlalchemy import Connection

from core.clock import Instant
from core.errors import BadInput

from ..content.publish import Rendered, publish_article, withdraw_article
from ..store.articles import (
    Draft,
    DraftConflict,
    Writing,
    add_article,
    draft_of,
    find_draft,
    rename_article,
    revision,
    save_draft,
    set_kind_and_language,
)
from ..store.editions import begin_edition
from ..store.publications import id_at_address, published_version, put_publication
from .form import Wanted


def create(conn: Connection, wanted: Wanted, now: Instant) -> Draft:
    """Errors: BadInput when the address is taken."""
    _require_free(conn, wanted.slug, None)
    return add_article(conn, wanted.slug, wanted.kind, wanted.language, wanted.writing, now)


def save(conn: Connection, article: int, wanted: Wanted, now: Instant) -> Draft:
    """The next version, or the present one when nothing differs. Errors: DraftConflict, BadInput for a taken address."""
    before = _existing(conn, article)
    if before.version != wanted.version:
        raise DraftConflict(before, wanted.version)
    _require_free(conn, wanted.slug, article)
    kept = (before.article.slug, before.article.kind, before.article.language, before.writing)
    if kept == (wanted.slug, wanted.kind, wanted.language, wanted.writing):
        return before
    rename_article(conn, before.article, wanted.slug, now)
    set_kind_and_language(conn, article, wanted.kind, wanted.language)
    return save_draft(conn, article, before.version, wanted.writing, now)


def publish(conn: Connection, article: int, version: int, text: Rendered, now: Instant) -> int:
    """Shows readers this version; gives the version they saw before, 0 for none. Errors: DraftConflict, BadInput."""
    draft = _existing(conn, article)
    _require_free(conn, draft.article.slug, article)
    before = published_version(conn, article) or 0
    publish_article(conn, article, version, text, now)
    return before


def show_again(conn: Connection, article: int, version: int, text: Rendered, now: Instant) -> None:
    """Undoes a publication: readers see an earlier version again, or nothing for version 0. The draft stays as it is."""
    draft = _existing(conn, article)
    if draft.article.visibility != "published":
        raise BadInput(f"article {draft.article.slug!r} is not public any more: there is nothing to undo")
    if version == 0:
        withdraw_article(conn, article, "draft", now)
        return
    earlier = replace(draft, version=version, writing=_revision(conn, article, version))
    edition = begin_edition(conn, f"version {version} of {draft.article.slug} again", now)
    put_publication(conn, earlier, text.html, text.plain, edition, now)


def withdraw(conn: Connection, article: int, now: Instant) -> None:
    draft = _existing(conn, article)
    if draft.article.visibility != "published":
        raise BadInput(f"article {draft.article.slug!r} is not public: there is nothing to take back")
    withdraw_article(conn, article, "unpublished", now)


def restore(conn: Connection, article: int, based_on: int, version: int, now: Instant) -> Draft:
    """An earlier version becomes the newest; none is ever taken away. Errors: DraftConflict, BadInput."""
    return save_draft(conn, article, based_on, _revision(conn, article, version), now)


def _revision(conn: Connection, article: int, version: int) -> Writing:
    found = revision(conn, article, version)
    if found is None:
        raise BadInput(f"article number {article} has no version {version}")
    return found


def _require_free(conn: Connection, slug: str, article: int | None) -> None:
    """Of drafts, and of what is public: an article that moves keeps its old address until it is published again."""
    draft = find_draft(conn, slug)
    holders = {draft.article.id if draft else None, id_at_address(conn, slug)} - {None, article}
    if holders:
        raise AddressTaken(slug)


class AddressTaken(BadInput):
    def __init__(self, slug: str) -> None:
        super().__init__(f"the address {slug!r} belongs to another article: choose a different one")


def _existing(conn: Connection, article: int) -> Draft:
    draft = draft_of(conn, article)
    if draft is None:
        raise BadInput(f"there is no article number {article}: it was deleted, or the number is wrong")
    return draft
