"""The journal has pages and a feed of its own, and is in nothing else: no list, tag, feed, search or answer."""

from pathlib import Path

from sqlalchemy import Connection, insert, update

from tests.site_world import NOON, SiteWorld, a_site
from website.store.content import journal
from website.store.control import claims, digests
from website.store.editions import begin_edition

WORD = "Archaeopteryx"
ELSEWHERE = ("/", "/posts", "/notes", "/projects", "/tags", "/feed.xml", "/feed.json", "/llms.txt", f"/search?q={WORD}")


async def a_journal(site: SiteWorld) -> None:
    site.write("tea", "Boil it.", tags="[tea]")
    await site.publish()
    await site.parts.store.write(_publish_entry)


async def test_an_entry_is_on_its_own_pages_and_nowhere_else(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await a_journal(site)

        listed, page = await site.get("/zh/journal"), await site.get("/journal/2026-03-14")
        feed, sitemap = await site.get("/journal/feed.xml"), await site.get("/sitemap.xml")

        assert f"A day with an {WORD}" in listed.text and WORD in page.text
        assert WORD in feed.text and "/journal/2026-03-14" in sitemap.text
        for path in ELSEWHERE:
            text = (await site.get(path)).text
            assert WORD not in text.replace(f'value="{WORD}"', "").replace(f"“{WORD}”", "").replace(f">{WORD} ·", ""), (
                path
            )
        assert f"seen an {WORD}" not in (await site.ask(f"Who has seen the {WORD}?")).text


async def test_a_withdrawn_entry_is_gone_at_once(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await a_journal(site)
        assert (await site.get("/journal/2026-03-14")).status_code == 200

        await site.parts.store.write(_withdraw_entry)

        assert (await site.get("/journal/2026-03-14")).status_code == 404
        assert WORD not in (await site.get("/journal")).text + (await site.get("/journal/feed.xml")).text


async def test_an_article_leads_on_to_its_neighbours_and_relatives(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        for day, slug in enumerate(("first", "second", "third"), 1):
            site.write(slug, "Text.", title=f"The {slug}", date=f"2026-03-0{day}", tags="[a]")
        site.write("far", "Text.", title="A relative", kind="note", tags="[a]")
        await site.publish()

        page = (await site.get("/posts/second")).text

        onward = page.split('class="onward"')[1]
        assert onward.index("The first") < onward.index("The third") < onward.index("A relative")


def _publish_entry(conn: Connection) -> None:
    conn.execute(insert(claims).values(id="c", batch=1, state="drafted", claimed_at_ms=NOON))
    conn.execute(
        insert(digests).values(
            id=1, claim_id="c", state="published", language="en", day="2026-03-14", title="t", body="b", facts="[]",
            made_at_ms=NOON, updated_at_ms=NOON,
        )
    )  # fmt: skip
    conn.execute(
        insert(journal).values(
            slug="2026-03-14", day="2026-03-14", language="en", title=f"A day with an {WORD}", document="{}",
            html=f"<p>We have seen an {WORD}.</p>", text_hash="h", digest_id=1, published_at_ms=NOON,
            updated_at_ms=NOON,
        )
    )  # fmt: skip
    begin_edition(conn, "journal", NOON)


def _withdraw_entry(conn: Connection) -> None:
    conn.execute(update(journal).values(withdrawn_at_ms=NOON))
    begin_edition(conn, "journal", NOON)
