"""Kept pages: the same bytes, the same headers, and never older than the newest edition."""

from pathlib import Path

import httpx
import pytest
from litestar.types import Receive, Scope, Send

from tests.site_world import NOON, SiteWorld, a_site
from website.conditional import ASK_AGAIN
from website.content import withdraw_article
from website.page_cache import MOST_PAGES, keep_pages
from website.store.articles import find_draft
from website.store.editions import EditionWatch


async def some_article(site: SiteWorld) -> None:
    site.write("tea", "Boil it.")
    await site.publish()


@pytest.mark.parametrize("path", ["/", "/zh/", "/posts/tea", "/feed.xml", "/sitemap.xml"])
async def test_a_kept_page_is_the_page_itself(tmp_path: Path, path: str) -> None:
    async with a_site(tmp_path) as site:
        await some_article(site)

        made, kept = await site.get(path), await site.get(path)
        unchanged = await site.get(path, if_none_match=kept.headers["etag"])
        head = await site.client.head(path)

        assert kept.content == made.content and kept.headers == made.headers
        assert unchanged.status_code == 304 and unchanged.content == b""
        assert "content-security-policy" in unchanged.headers and unchanged.headers["etag"] == made.headers["etag"]
        assert head.content == b"" and head.headers["content-length"] == made.headers["content-length"]


async def test_both_languages_of_one_path_are_kept_apart(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_article(site)

        texts = [(await site.get(path)).text for path in ("/posts", "/zh/posts", "/posts", "/zh/posts")]

        assert texts[0] == texts[2] != texts[1] == texts[3]


async def test_a_withdrawn_article_is_gone_from_kept_pages_with_the_next_request(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_article(site)
        assert (await site.get("/posts/tea")).status_code == (await site.get("/posts/tea")).status_code == 200
        draft = await site.parts.store.read(find_draft, "tea")
        assert draft is not None

        await site.parts.store.write(withdraw_article, draft.article.id, "unpublished", NOON)

        assert (await site.get("/posts/tea")).status_code == 404
        assert "/posts/tea" not in (await site.get("/")).text


async def test_what_is_not_public_or_not_found_is_never_kept(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_article(site)
        for path in ("/nope", "/search?q=tea", "/ask?question=tea", "/readyz", "/owner"):
            first, second = await site.get(path), await site.get(path)

            assert first.status_code == second.status_code
        asked = await site.ask("Boil it?")
        assert asked.headers["cache-control"] == "no-store"


async def test_addresses_without_end_do_not_fill_the_memory(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        rendered: list[str] = []

        async def page(scope: Scope, _receive: Receive, send: Send) -> None:
            rendered.append(scope["path"])
            headers = [(b"etag", b'"e"'), (b"cache-control", ASK_AGAIN.encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"page", "more_body": False})

        transport = httpx.ASGITransport(app=keep_pages(page, EditionWatch(site.parts.store)))  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://blog.test") as client:
            for number in [*range(MOST_PAGES + 1), MOST_PAGES, 0]:
                await client.get(f"/{number}")

        assert rendered.count(f"/{MOST_PAGES}") == 1 and rendered.count("/0") == 2
