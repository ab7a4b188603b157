"""Searching and forgetting what was said."""

import json
import re
from pathlib import Path

from core.control import messages as m
from tests.desk_world import NOON, DeskWorld, a_desk, a_record
from website.store import audit, instructions, sources


async def a_talk(world: DeskWorld) -> None:
    await world.claim()
    await world.say(
        a_record("k1", "My cat Bean eats 100% fish_cakes.", turn="t1"),
        a_record("k2", "Bean, fish cakes: noted.", turn="t1", speaker="persona", said_at_ms=NOON - 900),
        a_record("k3", "今天去看了运河边的老桥。", turn="t2", said_at_ms=NOON - 500),
    )


async def test_what_was_said_is_found_as_it_stands(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await a_talk(world)

        for words, found, not_found in (
            ("bean", "fish_cakes", "老桥"),
            ("老桥", "运河边的", "fish_cakes"),
            ("100%", "fish_cakes", "noted"),
            ("h_c", "fish_cakes", "noted"),
            ("", "老桥", "Nothing that was said"),
        ):
            page = (await world.client.get("/owner/memory", params={"q": words}, headers=world._cookie())).text
            assert found in page.replace("<mark>", "").replace("</mark>", ""), words
            assert not_found not in page.replace("<mark>", "").replace("</mark>", ""), words
        assert "<mark>Bean</mark>" in (await world.get("/owner/memory?q=bean")).text
        assert "Nothing that was said" in (await world.get("/owner/memory?q=zebra")).text


async def test_words_that_are_markup_are_shown_as_words(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await world.say(a_record("k1", "<script>alert(1)</script>"))

        page = (await world.get("/owner/memory?q=%3Cscript%3E")).text

        assert "<mark>&lt;script&gt;</mark>alert" in page and "<script>alert" not in page


async def test_long_talk_is_shown_page_by_page(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        # An import knows seconds only, so many share one moment.
        await world.say(*(a_record(f"k{n:03}", f"line {n}.", said_at_ms=NOON) for n in range(1, 61)))

        first = (await world.get("/owner/memory")).text
        following = re.search(r'href="(/owner/memory[^"]*before[^"]*)"', first)
        assert following is not None
        second = (await world.get(following[1].replace("&amp;", "&"))).text

        shown = [int(number) for page in (first, second) for number in re.findall(r"line (\d+)\.", page)]
        assert shown == list(range(60, 0, -1))


async def test_an_exchange_is_forgotten_here_at_once_and_the_bridge_is_asked(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await a_talk(world)
        page = (await world.get("/owner/memory/exchange?source=k2")).text
        assert "fish_cakes" in page and "noted" in page and "老桥" not in page

        assert (await world.press("/owner/memory/forget", source="k2")).status_code == 303

        assert "fish" not in (await world.get("/owner/memory")).text
        assert "Forgotten here." in (await world.get("/owner/memory/exchange?source=k1")).text
        [asked] = await world.parts.store.read(instructions.open_ones)
        assert asked.kind == "forget" and json.loads(asked.body["sources"]) == ["k1"]
        lines = await world.parts.store.read(audit.newest, 1000, 10)
        assert lines[0].deed.action == "forgot_exchange" and "fish" not in str(lines)


async def test_forgetting_twice_asks_once_and_a_late_copy_brings_nothing_back(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await a_talk(world)
        await world.press("/owner/memory/forget", source="k1")
        world.time.pass_ms(1)
        await world.press("/owner/memory/forget", source="k1")

        await world.say(a_record("k1", "My cat Bean eats 100% fish_cakes.", turn="t1", version=9))

        assert len(await world.parts.store.read(instructions.open_ones)) == 1
        kept = await world.parts.store.read(sources.one, "k1")
        assert kept is not None and kept.text == ""


async def test_drafts_made_from_it_are_emptied_and_named(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await a_talk(world)
        asked = m.ClaimRequest(max_cost_micros=0, max_tokens=0)
        claimed = m.ClaimAnswer.model_validate_json((await world.control("digest", "/digests/claims", asked)).content)
        assert claimed.claim is not None
        cost = m.Cost(verdict="settle", micros=0, provider="offline", model="", outcome="answered")
        draft = m.Draft(title="Fish", body="Bean ate.", facts=(), cost=cost)
        await world.control("digest", f"/digests/{claimed.claim.id}/draft", draft)
        assert "Fish" in (await world.get("/owner/memory/exchange?source=k1")).text

        await world.press("/owner/memory/forget", source="k1")

        page = (await world.get("/owner/memory/exchange?source=k1")).text
        assert "Fish" not in page and "/owner/inbox/1" in page
        assert "Bean ate." not in (await world.get("/owner/inbox/1")).text


async def test_what_was_never_said_and_strange_numbers_are_refused(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()

        assert (await world.get("/owner/memory/exchange?source=none")).status_code == 404
        assert (await world.get("/owner/memory/exchange")).status_code == 400
        assert (await world.get(f"/owner/memory?before={10**30}")).status_code == 400
        assert (await world.press("/owner/memory/forget", source="none")).status_code == 400
        assert (await world.press("/owner/memory/forget")).status_code == 400
