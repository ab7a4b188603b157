"""Search and questions without JavaScript: sources, floors, money, and a model that fails."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, update

from tests.fakes.model_server import ModelServer, Step
from tests.site_world import SiteWorld, a_site
from website.store.content import publications
from website.store.ledger import entries, usage
from website.words import WORDS

EN, ZH = WORDS["en"], WORDS["zh"]
PRICES = {"price_input_per_mtok": "1", "price_output_per_mtok": "2"}


async def a_shelf(site: SiteWorld) -> None:
    for number, place in enumerate(("harbour", "mountain", "desert", "island", "forest")):
        site.write(
            f"lamp-{number}", f"The lighthouse keeper of the {place} polished the brass lamp.", title=f"Lamp {number}"
        )
    site.write("tea", "Green tea wants water of eighty degrees, and never more.", title="Green tea")
    site.write("cha", "绿茶要用八十度的水，不能再高。", title="绿茶", language="zh")
    await site.publish()


@asynccontextmanager
async def a_site_with_model(
    tmp_path: Path, script: list[Step], **budgets: object
) -> AsyncIterator[tuple[SiteWorld, ModelServer]]:
    async with ModelServer(script, log=tmp_path / "model.log") as server:
        model = {"provider": "openai", "base_url": server.base_url, "name": "m", **PRICES}
        async with a_site(tmp_path, models={"reader": model}, budgets={"readers": budgets}) as site:
            await a_shelf(site)
            yield site, server


def kinds_of_entries(conn: Connection) -> list[str]:
    return [row.kind for row in conn.execute(select(entries.c.kind).order_by(entries.c.id))]


def sources_in(page: str) -> list[str]:
    return re.findall(r'<li id="source-\d+">\s*<a class="title" href="([^"]+)"', page)


async def test_a_search_marks_what_matched_in_both_languages(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await a_shelf(site)

        english, chinese = await site.get("/search?q=lighthouses"), await site.get("/search?q=綠茶")

        assert english.text.count("<mark>lighthouse</mark>") == 5
        assert "<mark>绿茶</mark>" in chinese.text and 'lang="zh-Hans"' in chinese.text


@pytest.mark.parametrize("q", ["", "   ", "<b>", "的", '"', "%", "x" * 5_000])
async def test_a_search_for_nothing_much_is_a_page_all_the_same(tmp_path: Path, q: str) -> None:
    async with a_site(tmp_path) as site:
        await a_shelf(site)

        answer = await site.client.get("/search", params={"q": q})

        assert answer.status_code == 200 and "<b>" not in answer.text


async def test_offline_an_answer_is_at_most_three_articles_own_words(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await a_shelf(site)

        answer = await site.ask("Who polished the brass lamp of the lighthouse?")

        assert len(sources_in(answer.text)) == 3
        assert EN.state_offline in answer.text and "polished the brass lamp" in answer.text
        assert answer.headers["cache-control"] == "no-store"


async def test_a_question_in_chinese_is_answered_from_the_chinese_article(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await a_shelf(site)

        answer = await site.client.post("/zh/ask", data={"question": "綠茶要用多少度的水？"})

        assert sources_in(answer.text) == ["/zh/posts/cha"] and ZH.state_offline in answer.text


@pytest.mark.parametrize("question", ["Who won the world cup in 1998?", "量子计算机是谁发明的？", "zzz", "？？？"])
async def test_what_the_articles_do_not_hold_is_said_and_no_model_is_called(tmp_path: Path, question: str) -> None:
    async with a_site_with_model(tmp_path, []) as (site, server):
        answer = await site.ask(question)

        assert EN.state_nothing in answer.text and sources_in(answer.text) == []
        assert server.asked == []


async def test_a_model_answers_with_checked_citations_and_the_cost_is_settled(tmp_path: Path) -> None:
    told = Step(text="Eighty degrees [1]. Made up [7].\n\n<script>alert(1)</script> [1, 2]")
    async with a_site_with_model(tmp_path, [told]) as (site, server):
        answer = await site.ask("How hot is water for green tea?")

        assert 'href="#source-1"' in answer.text and "#source-7" not in answer.text and "[7]" not in answer.text
        assert "&lt;script&gt;" in answer.text and "<script>alert" not in answer.text
        assert await site.parts.store.read(kinds_of_entries) == ["reserve", "settle"]
        assert "Green tea wants water" in server.asked[0].body


async def test_the_same_question_again_is_answered_from_memory_and_costs_nothing(tmp_path: Path) -> None:
    async with a_site_with_model(tmp_path, [Step(text="Eighty [1]"), Step(text="Ninety [1]")]) as (site, server):
        first = await site.ask("How hot is water for green tea?")
        again = await site.ask("How hot is water for green tea?")

        assert first.text == again.text and len(server.asked) == 1


async def test_a_model_that_names_no_source_is_shown_with_a_warning(tmp_path: Path) -> None:
    async with a_site_with_model(tmp_path, [Step(text="I just know.")]) as (site, _):
        answer = await site.ask("How hot is water for green tea?")

        assert EN.state_uncited in answer.text and sources_in(answer.text)


@pytest.mark.parametrize(
    ("step", "entry"),
    [(Step("status", status=429), "release"), (Step("status", status=500), "unknown"), (Step(text=""), "settle")],
)
async def test_a_model_that_fails_leaves_the_articles_own_words(tmp_path: Path, step: Step, entry: str) -> None:
    async with a_site_with_model(tmp_path, [step]) as (site, _):
        answer = await site.ask("How hot is water for green tea?")

        assert EN.state_failed in answer.text and "wants water of eighty degrees" in answer.text
        assert await site.parts.store.read(kinds_of_entries) == ["reserve", entry]


async def test_over_the_budget_the_articles_answer_and_no_byte_leaves(tmp_path: Path) -> None:
    async with a_site_with_model(tmp_path, [], money_per_day="0.000001") as (site, server):
        answer = await site.ask("How hot is water for green tea?")

        assert EN.state_budget in answer.text and "wants water of eighty degrees" in answer.text
        assert server.asked == []


async def test_a_reader_who_leaves_in_the_middle_leaves_a_settled_ledger(tmp_path: Path) -> None:
    async with a_site_with_model(tmp_path, [Step(text="Eighty [1]", delay_s=5)]) as (site, server):
        asking = asyncio.create_task(site.ask("How hot is water for green tea?"))
        while not server.asked:
            await asyncio.sleep(0.01)

        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

        assert await site.parts.store.read(kinds_of_entries) == ["reserve", "unknown"]


async def test_a_question_never_reaches_the_usage_table(tmp_path: Path) -> None:
    async with a_site_with_model(tmp_path, [Step(text="Eighty [1]")]) as (site, _):
        await site.ask("How hot is water for green tea?")

        rows = await site.parts.store.read(lambda conn: conn.execute(select(usage)).mappings().all())

        assert len(rows) == 1 and "green tea" not in str(rows)


@pytest.mark.parametrize("page", ["tea", "draft", "../etc/passwd", "https://evil.example/", "nowhere", "x" * 200])
async def test_a_page_is_a_hint_looked_up_among_published_articles(tmp_path: Path, page: str) -> None:
    async with a_site(tmp_path) as site:
        site.write("draft", "A hidden word: Quetzalcoatlus.", draft=True)
        await a_shelf(site)

        answer = await site.ask("How hot should the water be?", page=page)

        assert answer.status_code == 200 and "Quetzalcoatlus" not in answer.text
        assert ("/posts/tea" in sources_in(answer.text)) == (page == "tea")


@pytest.mark.parametrize(
    ("question", "sentence"),
    [("", EN.question_missing), ("  ", EN.question_missing), ("长" * 700, EN.question_too_long.format(limit=2000))],
)
async def test_a_question_that_cannot_be_asked_says_why(tmp_path: Path, question: str, sentence: str) -> None:
    async with a_site(tmp_path) as site:
        answer = await site.ask(question)

        assert answer.status_code == 400 and sentence in answer.text


async def test_a_form_with_a_strange_field_or_too_large_is_refused(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        assert (await site.ask("tea", extra="1")).status_code == 400
        assert (await site.ask("x" * 20_000)).status_code == 413


async def test_another_site_cannot_make_a_browser_ask(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        for headers in ({"sec-fetch-site": "cross-site"}, {"origin": "https://evil.example"}, {"origin": "null"}):
            answer = await site.client.post("/ask", data={"question": "tea"}, headers=headers)

            assert answer.status_code == 403
        own = await site.client.post("/ask", data={"question": "tea"}, headers={"origin": "http://blog.test"})
        assert own.status_code == 200


async def test_too_many_questions_from_one_address_are_asked_to_wait(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        answers = [await site.ask("tea") for _ in range(21)]

        assert [one.status_code for one in answers] == [200] * 20 + [429]
        assert EN.too_fast in answers[-1].text


async def test_one_unreadable_text_does_not_take_the_search_from_the_others(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        await a_shelf(site)
        await site.parts.store.write(_break_one)

        answer = await site.get("/search?q=lighthouse")

        assert answer.status_code == 200 and answer.text.count("<mark>lighthouse</mark>") == 4


def _break_one(conn: Connection) -> None:
    conn.execute(update(publications).where(publications.c.slug == "lamp-0").values(document="{}x"))
