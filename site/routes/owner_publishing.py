"""An article before its readers: publishing, undoing it, taking it back; and its versions."""

import asyncio
from dataclasses import dataclass
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant
from core.document import load_document, to_markdown
from core.errors import BadInput

from ..content.publish import Rendered, rendered
from ..drafts import changes
from ..drafts.form import form_of, shown
from ..owner.door import AnyRequest, fields_of, number_in
from ..owner.line_diff import Span, compare
from ..owner.pages import DeskPages
from ..parts import Parts
from ..store import articles, audit
from ..store.articles import DraftConflict
from ..store.sessions import Session
from .owner_drafts import DRAFTS, Editor, deed, known

A_PAGE = 30


@post("/drafts/{article:int}/publish", status_code=200)
async def publish(
    request: AnyRequest,
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    article: FromPath[int],
) -> Response[Any]:
    """The form names the version that was read: another one is not what was approved (409)."""
    draft, public = await known(parts, article)
    version = number_in(await fields_of(request), "version")
    text = await asyncio.to_thread(rendered, draft.writing.document)
    try:
        was = await parts.store.write(_publish, session, article, version, text, parts.clock())
    except DraftConflict as conflict:
        form = await asyncio.to_thread(form_of, conflict.current)
        page = await asyncio.to_thread(shown, form.body)
        editor = Editor(form, conflict.current, public, frozenset({"changed"}), preview=page)
        return desk.page("draft.html", session, status=409, editor=editor)
    return Redirect(f"{DRAFTS}/{article}", status_code=303, query_params={"was": str(was)})


def _publish(conn: Connection, session: Session, article: int, version: int, text: Rendered, now: Instant) -> int:
    was = changes.publish(conn, article, version, text, now)
    audit.write(conn, deed(session, "published_article", article, f"version {version}"), now)
    return was


@post("/drafts/{article:int}/undo", status_code=200)
async def undo(
    request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session], article: FromPath[int]
) -> Redirect:
    """Takes a publication back: readers see what they saw before it."""
    await known(parts, article)
    was = number_in(await fields_of(request), "was")
    earlier = await parts.store.read(articles.revision, article, was) if was else None
    if was and earlier is None:
        raise BadInput(f"article number {article} has no version {was}")
    text = await asyncio.to_thread(rendered, earlier.document) if earlier else Rendered("", "")
    await parts.store.write(_show_again, session, article, was, text, parts.clock())
    return Redirect(f"{DRAFTS}/{article}", status_code=303)


def _show_again(conn: Connection, session: Session, article: int, was: int, text: Rendered, now: Instant) -> None:
    changes.show_again(conn, article, was, text, now)
    audit.write(conn, deed(session, "undid_publication", article, f"version {was}"), now)


@post("/drafts/{article:int}/unpublish", status_code=200)
async def unpublish(
    parts: NamedDependency[Parts], session: NamedDependency[Session], article: FromPath[int]
) -> Redirect:
    await known(parts, article)
    await parts.store.write(_unpublish, session, article, parts.clock())
    return Redirect(f"{DRAFTS}/{article}", status_code=303)


def _unpublish(conn: Connection, session: Session, article: int, now: Instant) -> None:
    changes.withdraw(conn, article, now)
    audit.write(conn, deed(session, "unpublished_article", article), now)


# --- versions ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Version:
    """One version beside the one before it."""

    revision: articles.Revision
    differs: tuple[Span, ...]


@get("/drafts/{article:int}/versions")
async def versions_page(
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    article: FromPath[int],
    before: FromQuery[int] = 2**31,
) -> Response[str]:
    draft, public = await known(parts, article)
    found = await parts.store.read(articles.newest_revisions, article, before, A_PAGE + 1)
    seen = await asyncio.to_thread(_compared, found)
    return desk.page(
        "versions.html", session, draft=draft, public=public, versions=seen[:A_PAGE], more=len(found) > A_PAGE
    )


def _compared(found: list[articles.Revision]) -> tuple[Version, ...]:
    texts = [_revision_text(one) for one in found]
    return tuple(Version(one, compare(old, new)) for one, new, old in zip(found, texts, [*texts[1:], ""], strict=True))


def _revision_text(one: articles.Revision) -> str:
    writing = one.writing
    head = (writing.title, writing.summary, ", ".join(writing.tags), writing.dated)
    return "\n".join((*head, "", to_markdown(load_document(writing.document))))


@post("/drafts/{article:int}/restore", status_code=200)
async def restore(
    request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session], article: FromPath[int]
) -> Redirect:
    await known(parts, article)
    fields = await fields_of(request)
    version, chosen = number_in(fields, "version"), number_in(fields, "chosen")
    await parts.store.write(_restore, session, article, version, chosen, parts.clock())
    return Redirect(f"{DRAFTS}/{article}", status_code=303)


def _restore(conn: Connection, session: Session, article: int, version: int, chosen: int, now: Instant) -> None:
    after = changes.restore(conn, article, version, chosen, now)
    audit.write(conn, deed(session, "restored_article", article, f"version {chosen} as {after.version}"), now)


HANDLERS = [publish, undo, unpublish, versions_page, restore]
