"""A reader before a real browser: reads, searches, selects, asks, follows a citation, confirms a plan, stops a stream."""

import gzip
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, expect

from tests.browser import Visit, a_browser, serve, visit
from tests.fakes.model_server import ModelServer, Step
from tests.site_world import SiteWorld, a_site
from tests.test_site_ask import a_site_with_model, kinds_of_entries
from website.assets import Assets
from website.plan.catalog import as_json

KB = 1024
SAMPLE = Path(__file__).parent.parent / "data" / "sample"
CASES = json.loads((Path(__file__).parent / "plans.json").read_text("utf-8"))
QUESTION = "How hot should water be for green tea?"


@asynccontextmanager
async def a_blog(tmp_path: Path, script: list[Step] | None = None) -> AsyncIterator[tuple[SiteWorld, str]]:
    """The sample articles and one of our own, before a scripted model, or offline without a script."""
    async with ModelServer(script or [], log=tmp_path / "model.log") as server:
        model = {"provider": "openai", "base_url": server.base_url, "name": "m"} if script is not None else {}
        async with a_site(tmp_path, models={"reader": model}) as site:
            site.folder = SAMPLE
            await site.publish()
            site.folder = tmp_path / "articles"
            long = "\n\n".join(f"Paragraph {number} tells of nothing much." for number in range(40))
            site.write(
                "green-tea",
                f"{long}\n\nGreen tea wants water of eighty degrees, never more.\n\nThe end.",
                title="Green tea",
            )
            await site.publish()
            async with serve(site.app) as base:
                yield site, base


async def test_a_reader_asks_reads_the_answer_and_follows_a_citation(tmp_path: Path) -> None:
    told = [Step(text="Eighty degrees [1]. <img src=x onerror=alert(1)> [9]")]
    async with a_blog(tmp_path, told) as (_, base), a_browser() as browser:
        context = await browser.new_context(base_url=base, viewport={"width": 1280, "height": 800})
        seen = await visit(context, "/posts/green-tea")
        assert not any("assistant" in one for one in seen.requests)

        await seen.page.locator("button[data-open-assistant]").click()
        await seen.page.get_by_label("Your question").fill(QUESTION)
        await seen.page.keyboard.press("Enter")

        answer = seen.page.locator(".assistant .said")
        await expect(answer).to_contain_text("Eighty degrees")
        await expect(answer).to_contain_text("<img src=x")
        assert await seen.page.locator(".assistant .said img").count() == 0
        await seen.page.locator(".assistant .cite").first.click()
        passage = seen.page.get_by_text("Green tea wants water", exact=False).first
        await expect(passage).to_be_in_viewport()
        assert await seen.page.evaluate("CSS.highlights.has('cited') && [...CSS.highlights.get('cited')].length") == 1
        assert seen.complaints == []
        assert all(one.split(" ", 1)[1].startswith(base) for one in seen.requests)
        assert sum("assistant.js" in one or "/assistant." in one for one in seen.requests) <= 2


async def test_selecting_only_prepares_a_quote_and_the_server_takes_its_own_copy(tmp_path: Path) -> None:
    async with a_blog(tmp_path, [Step(text="Because [1].")]) as (_, base), a_browser() as browser:
        context = await browser.new_context(base_url=base, viewport={"width": 1280, "height": 800})
        seen = await visit(context, "/posts/green-tea")

        await seen.page.evaluate("getSelection().selectAllChildren([...document.querySelectorAll('.body p')].at(-2))")
        await seen.page.locator("[data-quote]").wait_for(state="visible")
        assert not any("assistant" in one or one.startswith("POST") for one in seen.requests)
        await seen.page.locator("[data-quote]").click()
        await expect(seen.page.locator(".assistant .quoted blockquote")).to_contain_text("eighty degrees")
        assert not any(one.startswith("POST") for one in seen.requests)
        await seen.page.get_by_label("Your question").fill("Why?")
        await seen.page.get_by_role("button", name="Ask", exact=True).last.click()

        await expect(seen.page.locator(".assistant .said")).to_contain_text("Because")
        assert sum(one.startswith("POST") for one in seen.requests) == 1


async def test_a_stream_is_stopped_and_a_reset_ends_it_for_good(tmp_path: Path) -> None:
    slow = Step(text="Eighty " * 40, pieces=40, delay_s=30)
    async with a_blog(tmp_path, [slow, slow]) as (_, base), a_browser() as browser:
        context = await browser.new_context(base_url=base)
        seen = await visit(context, "/posts/green-tea")
        await seen.page.locator("button[data-open-assistant]").click()
        await seen.page.get_by_label("Your question").fill(QUESTION)
        await seen.page.keyboard.press("Enter")
        await expect(seen.page.locator(".assistant .read")).to_contain_text("Green tea")

        await seen.page.get_by_role("button", name="Stop").click()

        await expect(seen.page.locator(".assistant .turn")).to_contain_text("Stopped")
        await seen.page.get_by_role("button", name="Ask again").click()
        await seen.page.get_by_role("button", name="Start over").click()
        await expect(seen.page.locator(".assistant .turn")).to_have_count(0)


@pytest.mark.parametrize(("language", "nothing"), [("", "No answer was made up"), ("/zh", "没有编造回答")])
async def test_an_empty_result_is_a_designed_state(tmp_path: Path, language: str, nothing: str) -> None:
    async with a_blog(tmp_path, []) as (_, base), a_browser() as browser:
        seen = await visit(await browser.new_context(base_url=base), f"{language}/posts/green-tea")
        await seen.page.locator("button[data-open-assistant]").click()
        await seen.page.locator("#assistant-question").fill("量子计算机是谁发明的？")
        await seen.page.keyboard.press("Enter")

        await expect(seen.page.locator(".assistant .state")).to_contain_text(nothing)


async def test_a_plan_is_shown_confirmed_once_and_run_in_order(tmp_path: Path) -> None:
    async with a_blog(tmp_path) as (_, base), a_browser() as browser:
        seen = await visit(await browser.new_context(base_url=base), "/zh/posts/green-tea")
        await seen.page.locator("button[data-open-assistant]").click()
        await seen.page.locator("#assistant-question").fill("换成深色模式，然后打开札记")
        await seen.page.keyboard.press("Enter")
        await expect(seen.page.locator(".assistant .plan li")).to_have_count(2)
        assert await seen.page.evaluate("document.documentElement.dataset.theme") is None

        await seen.page.get_by_role("button", name="就这样做").click()

        await seen.page.wait_for_url("**/zh/notes")
        assert await seen.page.evaluate("document.documentElement.dataset.theme") == "dark"


async def test_the_browser_refuses_every_plan_the_server_refuses(tmp_path: Path) -> None:
    async with a_blog(tmp_path) as (_, base), a_browser() as browser:
        seen = await visit(await browser.new_context(base_url=base), "/about")
        judge = """async ([address, catalog, cases, articles]) => {
            const { checkPlan } = await import(address);
            return cases.map((one) => checkPlan(one.plan, catalog, articles) !== null);
        }"""
        address = Assets().url("plan.js")

        for cases, expected in ((CASES["good"], True), (CASES["bad"], False)):
            judged = await seen.page.evaluate(judge, [address, as_json(), cases, CASES["articles"]])

            wrong = [case["name"] for case, verdict in zip(cases, judged, strict=True) if verdict is not expected]
            assert wrong == []


async def test_the_terminal_knows_its_commands_and_searches_for_the_rest(tmp_path: Path) -> None:
    async with a_blog(tmp_path) as (_, base), a_browser() as browser:
        seen = await visit(await browser.new_context(base_url=base), "/")
        field = seen.page.get_by_label("Command").last
        for line in ("help", "theme dark", "posts"):
            await field.fill(line)
            await field.press("Enter")

        await expect(seen.page.locator(".screen a")).to_have_attribute("href", "/posts")
        assert await seen.page.evaluate("document.documentElement.dataset.theme") == "dark"
        await field.press("ArrowUp")
        assert await field.input_value() == "posts"
        await field.fill("green tea")
        await field.press("Enter")
        await seen.page.wait_for_url("**/search?q=green+tea")
        assert seen.complaints == []


async def test_without_javascript_a_reader_reads_searches_and_asks(tmp_path: Path) -> None:
    async with a_blog(tmp_path) as (_, base), a_browser() as browser:
        context = await browser.new_context(base_url=base, java_script_enabled=False)
        seen = await visit(context, "/")
        await seen.page.locator("[data-terminal] input").fill("green tea")
        await seen.page.locator("[data-terminal] button").click()
        await expect(seen.page.locator(".results mark").first).to_be_visible()

        await seen.page.get_by_role("button", name="Ask it as a question").click()

        await expect(seen.page.locator(".sources blockquote").first).to_contain_text("eighty degrees")
        await seen.page.locator(".sources li p a").first.click()
        await expect(seen.page.locator("h1")).to_have_text("Green tea")
        assert await seen.page.locator("button[data-open-assistant]").is_visible() is False


PAGES = ("/", "/posts", "/posts/boiling-water", "/search?q=tea", "/ask", "/journal", "/tags", "/about", "/nope")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("language", ["", "/zh"])
async def test_axe_finds_nothing_on_any_page(tmp_path: Path, scheme: str, language: str) -> None:
    async with a_blog(tmp_path) as (_, base), a_browser() as browser:
        faults = {}
        for path in PAGES:
            seen = await a_visit(browser, base, scheme, f"{language}{path}")
            faults[path] = await seen.faults()
            if path == "/posts/boiling-water":
                await seen.page.locator("button[data-open-assistant]").click()
                await seen.page.locator("#assistant-question").fill("水温")
                await seen.page.keyboard.press("Enter")
                await seen.page.locator(".assistant .tail button").first.wait_for()
                faults["assistant"] = await seen.faults()
            await seen.page.context.close()

        assert {path: found for path, found in faults.items() if found} == {}


async def test_axe_would_find_something(tmp_path: Path) -> None:
    async with a_blog(tmp_path) as (_, base), a_browser() as browser:
        seen = await a_visit(browser, base, "light", "/about")
        await seen.page.evaluate("document.querySelector('main').append(document.createElement('img'))")

        assert any(fault.startswith("image-alt") for fault in await seen.faults())


async def test_an_article_is_light_still_and_loads_nothing_foreign(tmp_path: Path) -> None:
    async with a_blog(tmp_path) as (site, base), a_browser() as browser:
        context = await browser.new_context(base_url=base, viewport={"width": 390, "height": 844})
        page = await context.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        await page.add_init_script(
            "window.shift = 0; new PerformanceObserver((list) => { for (const one of list.getEntries())"
            " window.shift += one.value }).observe({ type: 'layout-shift', buffered: true });"
        )
        await page.goto("/posts/boiling-water")
        await page.mouse.wheel(0, 4000)
        await page.wait_for_timeout(300)

        assert all(one.startswith(base) for one in asked)
        own = [one for one in asked if "/media/" not in one and "icon" not in one]
        assert len(own) <= 4, own
        assert await page.evaluate("window.shift") <= 0.02
        html = (await site.get("/posts/boiling-water")).text
        article = re.search(r'<div class="body">.*?</div>\n(?=<ul|</article)', html, re.DOTALL)
        assert article is not None
        assert zipped(html.replace(article[0], "").encode()) <= 6 * KB


def test_scripts_and_styles_stay_within_their_budgets() -> None:
    assets = Assets()

    def size(*names: str) -> int:
        return sum(zipped(assets.by_name[assets.url(name).removeprefix("/static/")].body) for name in names)

    assert size("entry.js") <= 4 * KB
    assert size("site.css") <= 8 * KB
    assert size("assistant.js", "stream.js", "plan.js", "words.js") <= 20 * KB
    assert size("assistant.css") <= 3 * KB


def test_no_script_writes_markup() -> None:
    for path in (Path(__file__).parent.parent / "site" / "static").glob("*.js"):
        text = path.read_text("utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text), (
            path
        )


async def a_visit(browser: Browser, base: str, scheme: str, path: str) -> Visit:
    context = await browser.new_context(base_url=base, color_scheme="dark" if scheme == "dark" else "light")
    # Animations would be measured half way.
    await context.add_init_script("sessionStorage.intro = 1")
    seen = await visit(context, path)
    await seen.page.emulate_media(reduced_motion="reduce")
    return seen


def zipped(body: bytes) -> int:
    return len(gzip.compress(body, 9))


async def test_leaving_the_page_ends_its_request_and_a_late_answer_never_shows(tmp_path: Path) -> None:
    slow = Step(text="Eighty " * 40, pieces=40, delay_s=30)
    async with a_blog(tmp_path, [slow]) as (site, base), a_browser() as browser:
        seen = await visit(await browser.new_context(base_url=base), "/posts/green-tea")
        await seen.page.locator("button[data-open-assistant]").click()
        await seen.page.get_by_label("Your question").fill(QUESTION)
        await seen.page.keyboard.press("Enter")
        await expect(seen.page.locator(".assistant .read")).to_contain_text("Green tea")

        await seen.page.locator("header .brand").click()

        await expect(seen.page.locator("h1")).to_have_text("Penfriend")
        await seen.page.locator("button[data-open-assistant]").click()
        await expect(seen.page.locator(".assistant .turn")).to_have_count(0)
        for _ in range(100):
            if await site.parts.store.read(kinds_of_entries) == ["reserve", "unknown"]:
                break
            await seen.page.wait_for_timeout(50)
        assert await site.parts.store.read(kinds_of_entries) == ["reserve", "unknown"]


async def test_an_exhausted_budget_is_told_and_the_articles_answer(tmp_path: Path) -> None:
    budget = a_site_with_model(tmp_path, [], money_per_day="0.000001")
    async with budget as (site, _), serve(site.app) as base, a_browser() as browser:
        seen = await visit(await browser.new_context(base_url=base), "/posts/tea")
        await seen.page.locator("button[data-open-assistant]").click()
        await seen.page.get_by_label("Your question").fill(QUESTION)
        await seen.page.keyboard.press("Enter")

        await expect(seen.page.locator(".assistant .said .state")).to_contain_text("budget")
        await expect(seen.page.locator(".assistant .said")).to_contain_text("eighty degrees")
