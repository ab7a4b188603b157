"""One article's page. A wrong shelf and an old address lead to the right one."""

import json

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect
from markupsafe import Markup

from core.document import contents, load_document, reading_minutes

from ..conditional import WebRequest
from ..language import localised
from ..pages import Pages, View
from ..store.publications import SHELVES, Publication, PublicReader


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
    document = load_document(found.document)
    return pages.page(
        request,
        "article.html",
        article=found,
        body=Markup(found.html),  # noqa: S704 - rendered and sanitised by core.document when it was published
        contents=contents(document),
        minutes=reading_minutes(found.plain),
        neighbours=await reader.neighbours(found.teaser),
        related=await reader.related(found.teaser),
        linked_data=_linked_data(pages, found),
    )


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
