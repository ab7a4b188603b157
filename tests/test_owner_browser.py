"""The owner before a real browser: claims, reviews, writes in two tabs, publishes, undoes, forgets. And every page, looked at by axe."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Page, expect

from core.control import messages as m
from tests.browser import a_browser, serve, visit
from tests.desk_world import PASSWORD, DeskWorld, a_desk, a_record
from website.app import create_app
from website.owner.claim_link import link_file

ADDRESSES = (
    "/owner",
    "/owner/inbox",
    "/owner/inbox/1",
    "/owner/drafts",
    "/owner/drafts/new",
    "/owner/drafts/1",
    "/owner/drafts/1/versions",
    "/owner/drafts/1/links",
    "/owner/pictures",
    "/owner/memory",
    "/owner/memory?q=fish",
    "/owner/memory/exchange?source=k1",
    "/owner/outbox",
    "/owner/voice",
    "/owner/pairings",
    "/owner/money",
    "/owner/security",
    "/owner/audit",
)


@asynccontextmanager
async def a_busy_desk(tmp_path: Path) -> AsyncIterator[tuple[DeskWorld, str]]:
    """One of everything: talk, a draft of it, an article, a part in doubt, a conflict, money lent and spent."""
    async with a_desk(tmp_path) as world:
        await world.say(
            a_record("k1", "My cat Bean eats dried fish.", turn="t1"),
            a_record("k2", "Bean, dried fish: noted.", turn="t1", speaker="persona"),
            a_record("k3", "今天去看了运河边的老桥。", turn="t2"),
        )
        asked = m.ClaimRequest(max_cost_micros=5, max_tokens=5)
        claim = m.ClaimAnswer.model_validate_json((await world.control("digest", "/digests/claims", asked)).content)
        assert claim.claim is not None
        fact = m.DraftFact(statement="Bean eats fish.", sources=("k1",), who="owner")
        cost = m.Cost(verdict="settle", micros=5, provider="openai", model="m", outcome="answered")
        draft = m.Draft(title="A cat", body="## Food\n\nBean **eats** fish.", facts=(fact,), cost=cost)
        await world.control("digest", f"/digests/{claim.claim.id}/draft", draft)
        await world.control("bridge", "/grants", m.GrantRequest(installation="here"))
        doubt = m.StateRecord(kind="part_state", key="r/0", at_ms=1, body='{"state":"unknown","part":7}')
        conflict = m.StateRecord(kind="conflict", key="c/1", at_ms=1, body='{"event":"e","account":"console:local"}')
        await world.control("bridge", "/sync", m.SyncBatch(records=(doubt, conflict)))
        async with serve(create_app(world.parts)) as base:
            yield world, base


async def become_owner(world: DeskWorld, page: Page, base: str) -> None:
    link = link_file(world.parts.settings).read_text().strip()
    await page.goto(f"{base}/setup#{link.partition('#')[2]}")
    await page.fill("[name=password]", PASSWORD)
    await page.fill("[name=again]", PASSWORD)
    await page.get_by_role("button", name="Set the password").click()
    await page.wait_for_url("**/owner")


async def write_an_article(page: Page, title: str, body: str) -> None:
    await page.goto("/owner/drafts/new")
    await page.get_by_label("Title", exact=True).fill(title)
    await page.get_by_label("Text (Markdown)").fill(body)
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.wait_for_url("**/owner/drafts/1")


async def an_owner(world: DeskWorld, browser: Browser, base: str, **more: bool) -> tuple[BrowserContext, Page]:
    context = await browser.new_context(
        base_url=base,
        viewport={"width": 1280, "height": 800},
        locale="en",
        java_script_enabled=more.get("script", True),
    )
    return context, await context.new_page()


async def test_the_owner_claims_reviews_and_publishes_and_the_token_leaves_the_address(tmp_path: Path) -> None:
    async with a_busy_desk(tmp_path) as (world, base), a_browser() as browser:
        context, page = await an_owner(world, browser, base)
        link = link_file(world.parts.settings).read_text().strip()
        await page.goto(f"{base}/setup#{link.partition('#')[2]}")
        assert page.url == f"{base}/setup"
        await become_owner(world, page, base)

        await page.keyboard.press("j")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/owner/inbox/1")
        await page.get_by_label("Title", exact=True).fill("A cat and her fish")
        await page.get_by_role("button", name="Save", exact=True).click()
        await page.get_by_role("button", name="Approve and publish").click()

        await expect(page.locator(".note")).to_contain_text("/journal/")
        stranger = await (await browser.new_context(base_url=base)).new_page()
        await stranger.goto("/journal")
        await expect(stranger.locator("main")).to_contain_text("A cat and her fish")
        await stranger.goto("/owner/inbox/1")
        await expect(stranger).to_have_url(f"{base}/owner/sign-in?next=%2Fowner%2Finbox%2F1")
        await context.close()


async def test_the_owner_writes_in_two_tabs_publishes_and_undoes(tmp_path: Path) -> None:
    async with a_busy_desk(tmp_path) as (world, base), a_browser() as browser:
        context, page = await an_owner(world, browser, base)
        await become_owner(world, page, base)
        await write_an_article(page, "On tea", "Water first, $x^2$ and [a](https://a.test).")

        body = page.get_by_label("Text (Markdown)")
        await body.fill("Water first, $x^2$.\n\n**Then** leaves.")
        await expect(page.locator("#status")).to_have_text("Saved as version 2.", timeout=8000)
        await expect(page.locator("#preview strong")).to_have_text("Then")
        assert await page.locator("#preview math").evaluate("node => node.namespaceURI") == (
            "http://www.w3.org/1998/Math/MathML"
        )

        other = await visit(context, "/owner/drafts/1")
        await other.page.get_by_label("Title", exact=True).fill("On green tea")
        await other.page.get_by_role("button", name="Save", exact=True).click()
        await other.page.wait_for_load_state()
        await body.fill("Leaves first.")
        await expect(page.locator("#status")).to_contain_text("Saved elsewhere", timeout=8000)
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(page.locator(".diff del").first).to_be_visible()
        await page.get_by_role("button", name="Save mine as the newest").click()
        await page.get_by_role("button", name="Publish version 4").click()
        await expect(page.get_by_role("status").first).to_contain_text("Readers see version 4.")

        assert "Leaves first." in await (await context.request.get("/posts/on-tea")).text()
        await page.get_by_role("button", name="Undo").click()
        await page.wait_for_url("**/owner/drafts/1")
        assert (await context.request.get("/posts/on-tea")).status == 404
        assert other.complaints == []
        await context.close()


async def test_an_exchange_is_forgotten_and_gone(tmp_path: Path) -> None:
    async with a_busy_desk(tmp_path) as (world, base), a_browser() as browser:
        context, page = await an_owner(world, browser, base)
        await become_owner(world, page, base)
        await page.goto("/owner/memory")
        await page.keyboard.press("/")
        await page.keyboard.type("fish")
        await page.keyboard.press("Enter")
        await expect(page.locator("mark").first).to_have_text("fish")

        await page.get_by_role("link", name="The exchange").first.click()
        await page.get_by_role("button", name="Forget this exchange").click()

        await expect(page.get_by_role("status")).to_contain_text("Forgotten here.")
        await page.goto("/owner/memory?q=fish")
        await expect(page.locator("main")).to_contain_text("Nothing that was said holds these words.")
        await context.close()


async def test_everything_works_without_a_script(tmp_path: Path) -> None:
    async with a_busy_desk(tmp_path) as (world, base), a_browser() as browser:
        context, page = await an_owner(world, browser, base, script=False)
        await page.goto("/setup")
        await page.get_by_label("Link or token").fill(link_file(world.parts.settings).read_text().strip())
        await page.fill("[name=password]", PASSWORD)
        await page.fill("[name=again]", PASSWORD)
        await page.get_by_role("button", name="Set the password").click()
        await write_an_article(page, "On tea", "Water first.")

        await page.get_by_label("Text (Markdown)").fill("**Leaves** first.")
        await page.get_by_role("button", name="Preview").click()
        await expect(page.locator("#preview strong")).to_have_text("Leaves")
        await page.get_by_role("button", name="Save", exact=True).click()
        await page.get_by_role("button", name="Publish version 2").click()
        assert "Leaves" in await (await context.request.get("/posts/on-tea")).text()
        await page.goto("/owner/inbox/1")
        await page.get_by_label("Reason").fill("too thin")
        await page.get_by_role("button", name="Discard").click()
        await page.get_by_role("button", name="Undo: take it back").click()
        await expect(page.get_by_role("button", name="Approve and publish")).to_be_visible()
        await context.close()


async def test_every_page_is_without_fault_in_both_languages_light_and_dark_wide_and_narrow(tmp_path: Path) -> None:
    async with a_busy_desk(tmp_path) as (world, base), a_browser() as browser:
        context, page = await an_owner(world, browser, base)
        await become_owner(world, page, base)
        await write_an_article(page, "On tea", "## Water\n\n| a | b |\n| - | - |\n| 1 | 2 |\n\n```\ncode\n```")
        await page.close()
        seen, faults = await visit(context, "/owner"), list[str]()
        for language, scheme, width in (("en", "light", 1280), ("zh", "dark", 390)):
            await seen.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            await seen.page.set_viewport_size({"width": width, "height": 844})
            for path in ADDRESSES:
                await seen.page.goto(path)
                wide = await seen.page.evaluate("document.documentElement.scrollWidth")
                faults += [f"{language} {path}: {fault}" for fault in await seen.faults()]
                faults += [f"{language} {path} is {wide} wide"] if wide > width else []
            await seen.page.locator("form[action='/owner/language'] button").click()
        assert seen.complaints == []
        assert all(one.split(" ", 1)[1].startswith(base) for one in seen.requests)
        assert faults == []
        await context.close()
