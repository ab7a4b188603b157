"""Preview links: an address, good for a week, that shows one draft to whoever holds it. The page stands before the door."""

import asyncio

from litestar import Response, Router, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant
from core.document import load_document, to_html

from ..content.publish import with_first_level
from ..owner.claim_link import new_token, token_hash
from ..owner.pages import DeskPages
from ..parts import Parts
from ..store import articles, audit, preview_links
from ..store.articles import Draft
from ..store.preview_links import PreviewLink
from ..store.sessions import Session
from .owner_drafts import DRAFTS, deed, known

LIFE_MS = 7 * 24 * 60 * 60 * 1000


@get("/drafts/{article:int}/links")
async def links_page(
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    article: FromPath[int],
) -> Response[str]:
    return await _page(parts, desk, session, article)


async def _page(parts: Parts, desk: DeskPages, session: Session, article: int, link: str = "") -> Response[str]:
    draft, _ = await known(parts, article)
    found = await parts.store.read(preview_links.live_of, article, parts.clock())
    return desk.page("links.html", session, draft=draft, links=found, link=link)


@post("/drafts/{article:int}/links", status_code=200)
async def make_link(
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    article: FromPath[int],
) -> Response[str]:
    """The link is in the answer and nowhere else: it is shown once."""
    await known(parts, article)
    token, now = new_token(parts.random_bytes), parts.clock()
    made = PreviewLink(article, now, Instant(now + LIFE_MS))
    await parts.store.write(_make, session, token_hash(token), made)
    return await _page(parts, desk, session, article, f"{parts.settings.site_url}/owner/preview/{token}")


def _make(conn: Connection, session: Session, hashed: str, link: PreviewLink) -> None:
    preview_links.add(conn, hashed, link)
    audit.write(conn, deed(session, "made_preview_link", link.article), link.made_at)


@post("/drafts/{article:int}/links/end", status_code=200)
async def end_links(
    parts: NamedDependency[Parts], session: NamedDependency[Session], article: FromPath[int]
) -> Redirect:
    await known(parts, article)
    await parts.store.write(_end, session, article, parts.clock())
    return Redirect(f"{DRAFTS}/{article}/links", status_code=303)


def _end(conn: Connection, session: Session, article: int, now: Instant) -> None:
    preview_links.end_all(conn, article)
    audit.write(conn, deed(session, "ended_preview_links", article), now)


@get("/owner/preview/{token:str}")
async def preview_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], token: FromPath[str]
) -> Response[str]:
    """The draft as it is now, and nothing else of the desk."""
    draft = await parts.store.read(_shown_by, token_hash(token), parts.clock())
    if draft is None:
        raise NotFoundException
    document = load_document(draft.writing.document)
    page = await asyncio.to_thread(lambda: to_html(with_first_level(document)))
    return desk.outside("preview.html", draft.article.language, draft=draft, page=page)


def _shown_by(conn: Connection, hashed: str, now: Instant) -> Draft | None:
    article = preview_links.article_of(conn, hashed, now)
    return None if article is None else articles.draft_of(conn, article)


HANDLERS = [links_page, make_link, end_links]


def preview_router() -> Router:
    return Router("/", route_handlers=[preview_page])
