"""The owner's articles: the list, the editor with its preview, versions, publishing and taking back.

Everything works without a script; with one the editor saves by itself and shows the preview beside the text.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath, FromQuery
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant, local_day
from core.document import load_document
from core.errors import DocumentError

from ..drafts import changes
from ..drafts.form import Form, Wanted, faults, form_of, read_form, shown, written
from ..owner.door import AnyRequest, fields_of, number_in
from ..owner.line_diff import Span, compare
from ..owner.pages import DeskPages, zone_of
from ..owner.tree import Node, tree
from ..parts import Parts
from ..store import articles, audit
from ..store.articles import Draft, DraftConflict
from ..store.publications import article_path, published_version, published_versions
from ..store.sessions import Session

DRAFTS = "/owner/drafts"
A_PAGE = 30


@dataclass(frozen=True)
class Listed:
    """`public` is the version readers see, 0 for none."""

    draft: Draft
    public: int


def _list(conn: Connection) -> tuple[Listed, ...]:
    public = published_versions(conn)
    return tuple(Listed(draft, public.get(draft.article.id, 0)) for draft in articles.all_drafts(conn))


@get("/drafts")
async def drafts_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], session: NamedDependency[Session]
) -> Response[str]:
    return desk.page("drafts.html", session, listed=await parts.store.read(_list))


# --- the editor --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Editor:
    """What the editor shows. `draft` is None for an article that is not kept yet."""

    form: Form
    draft: Draft | None = None
    public: int = 0
    faults: frozenset[str] = frozenset()
    body_fault: str = ""
    preview: str = ""
    differs: tuple[Span, ...] = ()
    was: int | None = None
    """The version that readers saw before the publication that was just made."""

    @property
    def public_path(self) -> str:
        article = self.draft.article if self.draft else None
        return article_path(article.kind, article.slug) if article and self.public else ""


@get("/drafts/new")
async def new_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], session: NamedDependency[Session]
) -> Response[str]:
    today = local_day(parts.clock(), zone_of(parts.settings))
    form = Form(0, "", "", "", "", today, "post", parts.settings.persona.language, "")
    return desk.page("draft.html", session, editor=Editor(form))


@post("/drafts", status_code=200)
async def create(
    request: AnyRequest,
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
) -> Response[Any]:
    form = await _form(request, parts)
    wanted = await _judged(form, None)
    if isinstance(wanted, Editor):
        return desk.page("draft.html", session, status=400, editor=wanted)
    try:
        draft = await parts.store.write(_create, session, wanted, parts.clock())
    except changes.AddressTaken:
        return desk.page("draft.html", session, status=400, editor=Editor(form, faults=frozenset({"taken"})))
    return Redirect(f"{DRAFTS}/{draft.article.id}", status_code=303)


def _create(conn: Connection, session: Session, wanted: Wanted, now: Instant) -> Draft:
    draft = changes.create(conn, wanted, now)
    audit.write(conn, deed(session, "made_article", draft.article.id, wanted.slug), now)
    return draft


@get("/drafts/{article:int}")
async def draft_page(
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    article: FromPath[int],
    was: FromQuery[int | None] = None,
) -> Response[str]:
    draft, public = await known(parts, article)
    form = await asyncio.to_thread(form_of, draft)
    preview = await asyncio.to_thread(shown, form.body)
    return desk.page("draft.html", session, editor=Editor(form, draft, public, preview=preview, was=was))


@post("/drafts/{article:int}", status_code=200)
async def save(
    request: AnyRequest,
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    article: FromPath[int],
) -> Response[Any]:
    """A stale text is shown with what was saved meanwhile and the difference (409), so that neither is lost."""
    draft, public = await known(parts, article)
    form = await _form(request, parts)
    wanted = await _judged(form, draft)
    if isinstance(wanted, Editor):
        return _refused(request, desk, session, replace(wanted, public=public))
    try:
        after = await parts.store.write(changes.save, article, wanted, parts.clock())
    except changes.AddressTaken:
        return _refused(request, desk, session, Editor(form, draft, public, faults=frozenset({"taken"})))
    except DraftConflict as conflict:
        return await _conflict(request, desk, session, form, conflict.current, public)
    if by_script(request):
        return Response({"version": after.version, "slug": after.article.slug})
    return Redirect(f"{DRAFTS}/{article}", status_code=303)


async def _conflict(
    request: AnyRequest, desk: DeskPages, session: Session, form: Form, current: Draft, public: int
) -> Response[Any]:
    if by_script(request):
        return Response({"version": current.version}, status_code=409)
    saved = await asyncio.to_thread(form_of, current)
    differs = await asyncio.to_thread(compare, whole_text(saved), whole_text(form))
    # Saving again is a decision on the newer text: the form now names its version.
    editor = Editor(replace(form, version=current.version), current, public, differs=differs)
    return desk.page("draft_conflict.html", session, status=409, editor=editor, saved=saved, mine=form.version)


def whole_text(form: Form) -> str:
    """Everything the owner wrote, as one text to compare."""
    lines = (form.title, form.summary, form.tags, f"{form.dated} {form.kind} {form.language} {form.slug}")
    return "\n".join((*lines, "", form.body))


def _refused(request: AnyRequest, desk: DeskPages, session: Session, editor: Editor) -> Response[Any]:
    if by_script(request):
        return Response({"faults": sorted(editor.faults), "detail": editor.body_fault}, status_code=400)
    return desk.page("draft.html", session, status=400, editor=editor)


@post("/drafts/preview", status_code=200)
async def preview(
    request: AnyRequest,
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
) -> Response[Any]:
    """Shows what readers would get of the text as typed; nothing is kept."""
    fields = await fields_of(request)
    form = await _form(request, parts)
    number = number_in(fields, "article")
    draft, public = await known(parts, number) if number else (None, 0)
    wanted = await _judged(form, draft)
    fault = wanted.body_fault if isinstance(wanted, Editor) else ""
    page = "" if fault else await asyncio.to_thread(shown, form.body)
    if by_script(request):
        nodes: list[Node] = tree(page)
        return Response({"detail": fault, "nodes": nodes})
    named = wanted.faults if isinstance(wanted, Editor) else frozenset()
    return desk.page("draft.html", session, editor=Editor(form, draft, public, named, fault, page))


async def _form(request: AnyRequest, parts: Parts) -> Form:
    fields = await fields_of(request)
    return read_form(fields, number_in(fields, "version"), local_day(parts.clock(), zone_of(parts.settings)))


async def _judged(form: Form, draft: Draft | None) -> Wanted | Editor:
    """What is to be kept, or the editor with what is wrong."""
    wrong, before = faults(form), load_document(draft.writing.document) if draft else None
    try:
        wanted = await asyncio.to_thread(written, form, before)
    except DocumentError as fault:
        return Editor(form, draft, faults=wrong, body_fault=str(fault))
    return Editor(form, draft, faults=wrong) if wrong else wanted


async def known(parts: Parts, article: int) -> tuple[Draft, int]:
    """The draft and its public version, 0 for none."""
    draft, public = await parts.store.read(_find, article)
    if draft is None:
        raise NotFoundException
    return draft, public


def _find(conn: Connection, article: int) -> tuple[Draft | None, int]:
    return articles.draft_of(conn, article), published_version(conn, article) or 0


def deed(session: Session, action: str, article: int, detail: str = "") -> audit.Deed:
    return audit.Deed("owner", session.address, action, f"article {article}", detail)


def by_script(request: AnyRequest) -> bool:
    return request.headers.get("accept", "") == "application/json"


HANDLERS = [drafts_page, new_page, create, preview, draft_page, save]
