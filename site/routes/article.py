"""One article's page. A wrong shelf and an old address lead to the right one."""

import json
import math
import re

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect
from markupsafe import Markup

from core.document import headings, load_document

from ..conditional import WebRequest
from ..content.publish import with_first_level
from ..language import localised
from ..pages import Pages, View
from ..store.publications import SHELVES, Publication, PublicReader

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")


@get("/{shelf:str}/{slug:str}")
async def article(
    request: WebRequest,
    shelf: FromPath[str],
    slug: FromPath[str],
    pages: NamedDependency[Pages],
    reader: NamedDependency[PublicReader],
) -> Response[bytes] | Redirect:
    if shelf not in SHELVES:
        raise NotFoundException
    found = await reader.article(slug)
    path = found.teaser.path if found else await reader.moved_to(slug)
    if path is None:
        raise NotFoundException
    if found is None or path != f"/{shelf}/{slug}":
        view = View.of(request, pages.house)
        return Redirect(pages.relative(localised(path, view.language, pages.house)), status_code=301)
    return await _page(request, pages, reader, found)


async def _page(request: WebRequest, pages: Pages, reader: PublicReader, found: Publication) -> Response[bytes]:
    document = with_first_level(load_document(found.document))
    return pages.page(
        request,
        "article.html",
        article=found,
        body=Markup(found.html),  # noqa: S704 - rendered and sanitised by core.document when it was published
        contents=headings(document),
        minutes=reading_minutes(found.plain),
        neighbours=await reader.neighbours(found.teaser),
        related=await reader.related(found.teaser),
        linked_data=_linked_data(pages, found),
    )


def reading_minutes(plain: str) -> int:
    """At 380 Chinese characters or 220 words a minute, never less than one.

    >>> reading_minutes("word " * 700), reading_minutes("字" * 700)
    (4, 2)
    """
    han = len(_HAN.findall(plain))
    words = len(_HAN.sub(" ", plain).split())
    return max(1, math.ceil(han / 380 + words / 220))


def _linked_data(pages: Pages, found: Publication) -> Markup:
    """schema.org's BlogPosting. `<` is escaped, so that no title can end the element it stands in."""
    teaser = found.teaser
    facts = {
        "@context": "https://schema.org",
        "@type": "BlogPosting",
        "headline": teaser.title,
        "description": teaser.summary,
        "inLanguage": "zh-Hans" if teaser.language == "zh" else "en",
        "datePublished": teaser.dated,
        "keywords": list(teaser.tags),
        "url": pages.absolute(teaser.path),
        "author": {"@type": "Person", "name": pages.settings.persona.name},
    }
    return Markup(json.dumps(facts, ensure_ascii=False).replace("<", "\\u003c"))  # noqa: S704


HANDLERS = [article]
