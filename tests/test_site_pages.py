"""The public pages over the real application: what they show, in which language, and how they may be kept."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.site_world import SiteWorld, a_site
from website.assets import Assets
from website.language import UNPREFIXED
from website.words import WORDS

TEXT = "## Water\n\nBoil it twice.\n\n## Leaves\n\nUse more than you think.\n"


async def some_articles(site: SiteWorld) -> None:
    site.write("tea", TEXT, title="On tea", summary="Why it matters.", tags="[tea, 茶]")
    site.write("cha", "水开了再等两分钟。", title="关于茶", language="zh", kind="note", tags="[茶]", date="2026-03-15")
    site.write("kettle", "A kettle made of tin.", title="A kettle", kind="project", date="2026-03-16")
    await site.publish()


async def test_home_and_shelves_show_each_article_in_its_own_language(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_articles(site)

        home, notes = await site.get("/"), await site.get("/notes")

        assert all(title in home.text for title in ("On tea", "关于茶", "A kettle"))
        assert '<html lang="en"' in home.text
        assert '<a class="title" href="/notes/cha" lang="zh-Hans">关于茶</a>' in notes.text
        assert "On tea" not in notes.text


async def test_the_other_language_has_a_prefix_and_the_houses_own_leads_back(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_articles(site)

        chinese, house = await site.get("/zh/posts"), await site.get("/en/posts?a=1")

        assert '<html lang="zh-Hans"' in chinese.text and WORDS["zh"].posts_lede in chinese.text
        assert 'href="/zh/posts/tea"' in chinese.text
        assert (house.status_code, house.headers["location"]) == (301, "/posts?a=1")


async def test_a_house_that_speaks_chinese_has_english_under_a_prefix(tmp_path: Path) -> None:
    async with a_site(tmp_path, persona={"language": "zh"}) as site:
        await some_articles(site)

        assert '<html lang="zh-Hans"' in (await site.get("/")).text
        assert '<html lang="en"' in (await site.get("/en/")).text


@pytest.mark.parametrize("path", [*UNPREFIXED, "/owner/drafts", "/control/v1/usage"])
async def test_private_and_technical_addresses_have_no_second_one_with_a_prefix(tmp_path: Path, path: str) -> None:
    async with a_site(tmp_path) as site:
        assert (await site.get(f"/zh{path}")).status_code == 404


async def test_a_redirect_never_leads_to_another_host(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        answer = await site.get("/en//evil.example/")

        assert answer.headers["location"] == "/evil.example/"


async def test_an_article_page_has_what_a_reader_and_a_program_need(tmp_path: Path) -> None:
    async with a_site(tmp_path, site={"public_url": "https://blog.example.org"}) as site:
        await some_articles(site)

        page = (await site.get("/zh/posts/tea")).text

        assert '<article class="text" lang="en"' in page and '<html lang="zh-Hans"' in page
        assert re.findall(r"<h[12][ >]", page).count("<h1>") == 1
        assert '<link rel="canonical" href="https://blog.example.org/posts/tea">' in page
        assert 'property="og:title" content="On tea"' in page
        facts = json.loads(re.findall(r'ld\+json">(.*?)</script>', page)[0])
        assert facts["headline"] == "On tea" and facts["inLanguage"] == "en"
        assert re.search(r'<h2 id="(b\w+)"', page) and re.search(r'class="level-1"><a href="#b', page)


async def test_structured_data_cannot_be_ended_by_a_title(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("odd", "Text.", title='"</script><script>alert(1)</script>"')
        await site.publish()

        page = (await site.get("/posts/odd")).text

        assert "<script>alert" not in page


async def test_a_wrong_shelf_and_an_old_address_lead_to_the_right_one(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_articles(site)

        wrong = await site.get("/zh/notes/tea")

        assert (wrong.status_code, wrong.headers["location"]) == (301, "/zh/posts/tea")


async def test_a_tag_page_lists_its_articles_and_an_unknown_tag_is_not_found(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_articles(site)

        tagged = await site.get("/tags/茶")

        assert "On tea" in tagged.text and "关于茶" in tagged.text and "A kettle" not in tagged.text
        assert (await site.get("/tags/nothing")).status_code == 404


@pytest.mark.parametrize("path", ["/", "/posts", "/posts/tea", "/about", "/feed.xml", "/feed.json", "/sitemap.xml"])
async def test_head_and_a_second_visit_cost_no_body(tmp_path: Path, path: str) -> None:
    async with a_site(tmp_path) as site:
        await some_articles(site)
        first = await site.get(path)

        head = await site.client.head(path)
        again = await site.get(path, if_none_match=f'"other", W/{first.headers["etag"]}')

        assert head.status_code == 200 and head.content == b""
        assert head.headers["etag"] == first.headers["etag"]
        assert head.headers["content-length"] == str(len(first.content))
        assert again.status_code == 304 and again.content == b""


async def test_a_page_changes_its_etag_when_something_is_published(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_articles(site)
        before = (await site.get("/posts")).headers["etag"]
        site.write("more", "More.")
        await site.publish()

        after = await site.get("/posts", if_none_match=before)

        assert after.status_code == 200


@pytest.mark.parametrize("path", ["/", "/nope", "/posts/nope", "/static/nope.js", "/owner/nope"])
async def test_security_headers_are_on_every_answer(tmp_path: Path, path: str) -> None:
    async with a_site(tmp_path) as site:
        headers = (await site.get(path)).headers

        assert "default-src 'none'" in headers["content-security-policy"]
        assert "require-trusted-types-for 'script'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


async def test_no_public_page_sets_a_cookie_or_loads_anything_foreign(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_articles(site)
        for path in ("/", "/posts/tea", "/search?q=tea", "/ask", "/journal", "/nope"):
            answer = await site.get(path)

            assert "set-cookie" not in answer.headers
            assert not re.findall(r'(?:src|action)="https?://', answer.text), path


async def test_a_missing_page_is_a_page_for_people_and_a_problem_for_programs(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        page, problem = (
            await site.get("/zh/nope", accept="text/html"),
            await site.get("/nope", accept="application/json"),
        )

        assert page.status_code == problem.status_code == 404
        assert WORDS["zh"].not_found in page.text
        assert problem.headers["content-type"].startswith("application/problem+json")
        assert problem.json() == {"type": "about:blank", "title": "Not Found", "status": 404, "detail": "Not Found"}


async def test_a_fault_of_ours_is_a_page_without_particulars(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_articles(site)
        await site.parts.store.write(_break_a_document)

        answer = await site.get("/posts/tea")

        assert answer.status_code == 500
        assert WORDS["en"].failed in answer.text and "Traceback" not in answer.text and "canary" not in answer.text


async def test_static_files_are_kept_for_ever_under_their_hash(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        css = re.findall(r'href="(/static/site\.[0-9a-f]{12}\.css)"', (await site.get("/")).text)[0]

        answer = await site.get(css)

        assert "immutable" in answer.headers["cache-control"] and answer.headers["content-type"].startswith("text/css")
        assert (await site.get("/static/..%2f..%2fapp.py")).status_code == 404
        assert (await site.get("/static/site.css")).status_code == 404


def test_a_module_that_imports_another_names_it_by_its_hash(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text('import { b } from "./b.js";\n')
    (tmp_path / "b.js").write_text("export const b = 1;\n")

    before = Assets(tmp_path)
    (tmp_path / "b.js").write_text("export const b = 2;\n")
    after = Assets(tmp_path)

    body = after.by_name[after.url("a.js").removeprefix("/static/")].body.decode()
    assert after.url("b.js").removeprefix("/static/") in body
    assert before.url("a.js") != after.url("a.js")


async def test_feeds_are_well_formed_and_hold_the_newest_first(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await some_articles(site)

        atom = ElementTree.fromstring((await site.get("/feed.xml")).text)
        feed = (await site.get("/tags/茶/feed.json")).json()

        name = "{http://www.w3.org/2005/Atom}"
        assert [one.findtext(f"{name}title") for one in atom.findall(f"{name}entry")] == [
            "A kettle",
            "关于茶",
            "On tea",
        ]
        assert [one["title"] for one in feed["items"]] == ["关于茶", "On tea"]
        assert feed["version"] == "https://jsonfeed.org/version/1.1"
        assert (await site.get("/tags/nothing/feed.xml")).status_code == 404
        sitemap = ElementTree.fromstring((await site.get("/sitemap.xml")).text)
        assert any("/posts/tea" in (one[0].text or "") for one in sitemap)
        assert "- [On tea](" in (await site.get("/llms.txt")).text


async def test_an_address_without_a_method_is_refused_politely(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        answer = await site.client.post("/posts", headers={"accept": "text/html"})

        assert answer.status_code == 405 and WORDS["en"].refused in answer.text


def _break_a_document(conn: object) -> None:
    from sqlalchemy import Connection, update

    from website.store.content import publications

    assert isinstance(conn, Connection)
    conn.execute(update(publications).values(document="canary"))
