"""What is not published is nowhere: a unique word in a draft, an unpublished and a private article, on every surface."""

from pathlib import Path

import pytest
from sqlalchemy import Connection

from core.errors import BadInput
from tests.site_world import NOON, SiteWorld, a_site
from website.content import withdraw_article
from website.store.articles import Visibility, find_draft
from website.store.publications import published_version

WORD = "Quetzalcoatlus"
SURFACES = (
    "/", "/zh/", "/posts", "/notes", "/projects", "/tags", "/tags/wings", "/posts/secret", "/notes/secret", "/journal",
    f"/search?q={WORD}", "/ask?page=secret", "/feed.xml", "/feed.json", "/tags/wings/feed.xml", "/journal/feed.xml",
    "/sitemap.xml", "/llms.txt", "/robots.txt", "/about", "/posts/other",
)  # fmt: skip


def a_secret(site: SiteWorld, **front: object) -> None:
    site.write("secret", f"The {WORD} flew at dusk.", title=f"On {WORD}", tags="[wings]", **front)
    site.write("other", "Something else about wings.", tags="[wings]")


async def surfaces_that_show_it(site: SiteWorld) -> list[str]:
    shown = []
    for path in SURFACES:
        for method in ("GET", "HEAD"):
            answer = await site.client.request(method, path)
            # A search repeats the words of whoever searches; what counts is whether the article is named.
            text = answer.text.replace(WORD, "") if "search" in path else answer.text
            if WORD in text or "/secret" in text or (path.endswith("/secret") and answer.status_code != 404):
                shown.append(f"{method} {path}")
    asked = await site.ask(f"When did the {WORD} fly?", page="secret")
    if "flew at dusk" in asked.text or "/secret" in asked.text:
        shown.append("POST /ask")
    return shown


async def test_a_draft_is_on_no_public_surface(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        a_secret(site, draft=True)
        await site.publish()

        assert await surfaces_that_show_it(site) == []


@pytest.mark.parametrize("state", ["draft", "unpublished", "private"])
async def test_a_withdrawn_article_leaves_every_surface_at_once(tmp_path: Path, state: Visibility) -> None:
    async with a_site(tmp_path) as site:
        a_secret(site)
        await site.publish()
        before = await surfaces_that_show_it(site)
        assert {"GET /", "GET /posts", "GET /posts/secret", "POST /ask", "GET /sitemap.xml"} <= set(before)

        await site.parts.store.write(_withdraw, state)

        assert await surfaces_that_show_it(site) == []


async def test_importing_again_never_publishes_what_the_owner_took_back(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        a_secret(site)
        await site.publish()
        await site.parts.store.write(_withdraw, "private")
        site.write("secret", f"The {WORD} flew at dawn.", tags="[wings]")

        report = await site.publish()

        assert report.changed == ["secret.md"]
        assert await surfaces_that_show_it(site) == []


async def test_even_a_stray_row_of_a_private_article_stays_invisible(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        a_secret(site)
        await site.publish()

        await site.parts.store.write(_only_mark_private)

        assert await surfaces_that_show_it(site) == []


async def test_withdrawing_to_published_is_refused(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        a_secret(site)
        await site.publish()

        with pytest.raises(BadInput, match="publish_article"):
            await site.parts.store.write(_withdraw, "published")


def _withdraw(conn: Connection, state: Visibility) -> None:
    draft = find_draft(conn, "secret")
    assert draft is not None
    withdraw_article(conn, draft.article.id, state, NOON)
    assert published_version(conn, draft.article.id) is None


def _only_mark_private(conn: Connection) -> None:
    """The fault we guard against: somebody changes the state and forgets the publication, but begins an edition."""
    from website.store.articles import set_visibility
    from website.store.editions import begin_edition

    draft = find_draft(conn, "secret")
    assert draft is not None
    set_visibility(conn, draft.article.id, "private")
    begin_edition(conn, "a fault", NOON)
