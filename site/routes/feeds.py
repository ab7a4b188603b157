"""For readers of other kinds: Atom, JSON Feed, sitemap, robots, and llms.txt. The journal has a feed of its own."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from ..conditional import WebRequest, conditional
from ..language import LANGUAGES
from ..pages import Pages, View
from ..store.publications import SHELVES, Publication, PublicReader
from ..words import WORDS

ATOM = "application/atom+xml; charset=utf-8"
JSON_FEED = "application/feed+json"
XML = "application/xml; charset=utf-8"
PLAIN = "text/plain"
IN_A_FEED = 30


@dataclass(frozen=True)
class Item:
    """One entry of a feed; `html` has addresses that begin with `/`, which readers resolve against `url`."""

    url: str
    title: str
    summary: str
    language: str
    dated: str
    updated: str
    html: str
    tags: tuple[str, ...] = ()


@get(["/feed.xml", "/atom.xml"])
async def atom(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    items = [_item(pages, one) for one in await reader.recent(IN_A_FEED)]
    return _atom(request, pages, pages.settings.site_title, "/", "/feed.xml", items)


@get("/feed.json")
async def json_feed(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    items = [_item(pages, one) for one in await reader.recent(IN_A_FEED)]
    return _json(request, pages, pages.settings.site_title, "/", "/feed.json", items)


@get("/tags/{tag:str}/feed.xml")
async def tag_atom(
    request: WebRequest, tag: FromPath[str], pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    title, items = await _tagged(pages, reader, tag)
    return _atom(request, pages, title, f"/tags/{tag}", f"/tags/{tag}/feed.xml", items)


@get("/tags/{tag:str}/feed.json")
async def tag_json(
    request: WebRequest, tag: FromPath[str], pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    title, items = await _tagged(pages, reader, tag)
    return _json(request, pages, title, f"/tags/{tag}", f"/tags/{tag}/feed.json", items)


@get("/journal/feed.xml")
async def journal_atom(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    items = [
        Item(pages.absolute(one.path), one.title, "", _tag(one.language), one.day, _moment(one.updated_at_ms), one.html)
        for one in await reader.journal(IN_A_FEED)
    ]
    title = f"{pages.settings.site_title} · {WORDS[pages.house].journal}"
    return _atom(request, pages, title, "/journal", "/journal/feed.xml", items)


@get("/sitemap.xml")
async def sitemap(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    teasers, entries = await reader.shelf(limit=20_000), await reader.journal(20_000)
    fixed = ["/", *(f"/{name}" for name in SHELVES), "/journal", "/tags", "/about"]
    shown = [*((one.path, one.dated) for one in teasers), *((one.path, one.day) for one in entries)]
    body = pages.render(
        "sitemap.xml",
        View(pages.house, "/sitemap.xml"),
        fixed=[[(code, pages.absolute(path, code)) for code in LANGUAGES] for path in fixed],
        shown=[(pages.absolute(path), day) for path, day in shown],
    )
    return conditional(request, body.encode(), XML)


@get("/robots.txt")
async def robots(request: WebRequest, pages: NamedDependency[Pages]) -> Response[bytes]:
    closed = ("/owner", "/setup", "/control", "/ask", "/search")
    lines = [
        "User-agent: *",
        *(f"Disallow: {path}" for path in closed),
        "",
        f"Sitemap: {pages.absolute('/sitemap.xml')}",
    ]
    return conditional(request, ("\n".join(lines) + "\n").encode(), PLAIN)


@get("/llms.txt")
async def llms(
    request: WebRequest, pages: NamedDependency[Pages], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    """The articles as a Markdown list, for programs that read sites (llmstxt.org)."""
    words = WORDS[pages.house]
    lines = [f"# {pages.settings.site_title}", "", f"> {words.welcome}"]
    for name, kind in SHELVES.items():
        if teasers := await reader.shelf(kind):
            lines += ["", f"## {getattr(words, name)}", ""]
            lines += [f"- [{one.title}]({pages.absolute(one.path)}): {one.summary or one.dated}" for one in teasers]
    return conditional(request, ("\n".join(lines) + "\n").encode(), PLAIN)


async def _tagged(pages: Pages, reader: PublicReader, tag: str) -> tuple[str, list[Item]]:
    found = await reader.recent_tagged(tag, IN_A_FEED)
    if not found:
        raise NotFoundException
    return f"{pages.settings.site_title} · {tag}", [_item(pages, one) for one in found]


def _item(pages: Pages, one: Publication) -> Item:
    teaser = one.teaser
    return Item(
        pages.absolute(teaser.path),
        teaser.title,
        teaser.summary,
        _tag(teaser.language),
        teaser.dated,
        _moment(teaser.updated_at_ms),
        one.html,
        teaser.tags,
    )


def _atom(request: WebRequest, pages: Pages, title: str, home: str, own: str, items: Sequence[Item]) -> Response[bytes]:
    body = pages.render(
        "feed.xml",
        View(pages.house, own),
        title=title,
        home=pages.absolute(home),
        own=pages.absolute(own),
        updated=max((item.updated for item in items), default=_moment(0)),
        items=items,
    )
    return conditional(request, body.encode(), ATOM)


def _json(request: WebRequest, pages: Pages, title: str, home: str, own: str, items: Sequence[Item]) -> Response[bytes]:
    """JSON Feed 1.1 (jsonfeed.org)."""
    feed = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": title,
        "home_page_url": pages.absolute(home),
        "feed_url": pages.absolute(own),
        "language": _tag(pages.house),
        "authors": [{"name": pages.settings.persona.name}],
        "items": [
            {
                "id": item.url,
                "url": item.url,
                "title": item.title,
                "summary": item.summary,
                "content_html": item.html,
                "date_published": f"{item.dated}T00:00:00Z",
                "date_modified": item.updated,
                "language": item.language,
                "tags": list(item.tags),
            }
            for item in items
        ],
    }
    return conditional(request, json.dumps(feed, ensure_ascii=False).encode(), JSON_FEED)


def _tag(language: str) -> str:
    return "zh-Hans" if language == "zh" else "en"


def _moment(at_ms: int) -> str:
    """
    >>> _moment(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(at_ms // 1000, UTC).isoformat().replace("+00:00", "Z")


HANDLERS = [atom, json_feed, tag_atom, tag_json, journal_atom, sitemap, robots, llms]
