"""The first page, the shelves, the tags, the journal and the page about this place."""

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from markupsafe import Markup

from ..conditional import WebRequest
from ..pages import Pages, View
from ..store.publications import SHELVES, PublicReader, ShelfName
from ..words import WORDS

ON_HOME: dict[ShelfName, int] = {"posts": 6, "notes": 4, "projects": 4}


@get("/")
async def home(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    shelves = {name: await reader.shelf(SHELVES[name], limit) for name, limit in ON_HOME.items()}
    filled = {name: teasers for name, teasers in shelves.items() if teasers}
    return pages.page(request, "home.html", shelves=filled)


async def _shelf(request: WebRequest, pages: Pages, reader: PublicReader, name: ShelfName) -> Response[bytes]:
    words = WORDS[View.of(request, pages.house).language]
    return pages.page(
        request,
        "shelf.html",
        heading=getattr(words, name),
        lede=getattr(words, f"{name}_lede"),
        teasers=await reader.shelf(SHELVES[name]),
        feed=None,
    )


@get("/posts")
async def posts(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    return await _shelf(request, pages, reader, "posts")


@get("/notes")
async def notes(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    return await _shelf(request, pages, reader, "notes")


@get("/projects")
async def projects(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    return await _shelf(request, pages, reader, "projects")


@get("/tags")
async def tags(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    return pages.page(request, "tags.html", counts=await reader.tags())


@get("/tags/{tag:str}")
async def tagged(
    request: WebRequest, tag: FromPath[str], pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    teasers = await reader.tagged(tag)
    if not teasers:
        raise NotFoundException
    words = WORDS[View.of(request, pages.house).language]
    heading = words.tag_title.format(tag=tag)
    return pages.page(
        request, "shelf.html", heading=heading, lede="", teasers=teasers, feed=pages.relative(f"/tags/{tag}/feed.xml")
    )


@get("/journal")
async def journal(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    return pages.page(request, "journal.html", entries=await reader.journal())


@get("/journal/{slug:str}")
async def journal_entry(
    request: WebRequest, slug: FromPath[str], pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    entry = await reader.journal_entry(slug)
    if entry is None:
        raise NotFoundException
    body = Markup(entry.html)  # noqa: S704 - rendered and sanitised by core.document when it was published
    return pages.page(request, "entry.html", entry=entry, body=body)


@get("/about")
async def about(request: WebRequest, pages: NamedDependency[Pages]) -> Response[bytes]:
    return pages.page(request, "about.html")


HANDLERS = [home, posts, notes, projects, tags, tagged, journal, journal_entry, about]
