"""From what was said to what is public: claims, drafts, the owner's review."""

import asyncio
import re
from pathlib import Path

from sqlalchemy import text as sql

from core.control import messages as m
from tests.desk_world import NOON, DeskWorld, a_desk, a_record
from website.store import claims, pool_days, sources

DAY = "2026-05-29"
SECRET = "豆豆"
FREE = m.Cost(verdict="release", provider="offline", model="", outcome="offline")


async def ask(
    world: DeskWorld, slot: str | None = None, chosen: tuple[str, ...] = (), cost: int = 100
) -> m.ClaimAnswer:
    asked = m.ClaimRequest(slot=slot, sources=chosen, max_cost_micros=cost, max_tokens=50)
    answer = await world.control("digest", "/digests/claims", asked)
    assert answer.status_code == 200, answer.text
    return m.ClaimAnswer.model_validate_json(answer.content)


async def claimed(world: DeskWorld, slot: str | None = None) -> m.Claim:
    answer = await ask(world, slot)
    assert answer.claim is not None, answer
    return answer.claim


def a_draft(claim: m.Claim, title: str = "A cat", body: str = "There is a cat.", cost: m.Cost = FREE) -> m.Draft:
    fact = m.DraftFact(statement="There is a cat.", sources=(claim.sources[0].id,), who="owner")
    return m.Draft(title=title, body=body, facts=(fact,), cost=cost)


async def submit(world: DeskWorld, claim: m.Claim, draft: m.Draft | None = None) -> int:
    answer = await world.control("digest", f"/digests/{claim.id}/draft", draft or a_draft(claim))
    assert answer.status_code == 200, answer.text
    number = m.DraftKept.model_validate_json(answer.content).digest
    assert number is not None
    return number


async def a_waiting_draft(world: DeskWorld) -> int:
    await world.claim()
    await world.say(a_record("a", f"My cat is called {SECRET}."))
    return await submit(world, await claimed(world))


async def form_of(world: DeskWorld, digest: int, action: str) -> dict[str, str]:
    """The hidden fields of a form of the review page."""
    page = (await world.get(f"/owner/inbox/{digest}")).text
    form = page.partition(f'action="/owner/inbox/{digest}/{action}"')[2].partition("</form>")[0]
    assert form, f"the page offers {action}"
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', form))


async def decide(world: DeskWorld, digest: int, action: str, **fields: str) -> int:
    form = {**await form_of(world, digest, action), **fields}
    return (await world.submit(f"/owner/inbox/{digest}/{action}", **form)).status_code


def public_without_approval(world: DeskWorld) -> int:
    """I12: entries shown to readers whose exact text nobody approved."""
    query = sql(
        "SELECT COUNT(*) FROM journal j LEFT JOIN approvals a ON a.digest_id = j.digest_id AND a.text_hash = j.text_hash "
        "WHERE j.withdrawn_at_ms IS NULL AND a.id IS NULL"
    )
    return int(world.parts.store.read_now(lambda conn: conn.execute(query).scalar_one()))


def everything(world: DeskWorld, table: str) -> str:
    return world.parts.store.read_now(lambda conn: str(conn.execute(sql(f"SELECT * FROM {table}")).all()))


# --- claims


async def test_a_claim_holds_the_owners_waiting_talk_and_what_was_heard_of_the_replies(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.say(
            a_record("a", "A question", turn="t"),
            a_record("b", "A heard reply", turn="t", speaker="persona", said_at_ms=NOON - 900),
            a_record("c", "An unheard reply", turn="t", speaker="persona", heard=False),
            a_record("g", "A guest's words", role="guest"),
            a_record("f", "gone", version=2, deleted=True),
            a_record("l", "A reply to nothing", speaker="persona", turn="lone"),
        )

        claim = await claimed(world)

        assert [source.id for source in claim.sources] == ["a", "b"]
        assert (claim.day, claim.language, claim.output_tokens, claim.voice.version) == (DAY, "en", 2048, 0)
        assert (await ask(world)).reason == "no_sources"


async def test_a_day_without_talk_costs_nothing(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        assert (await ask(world, f"{DAY} 21:30")).reason == "no_sources"
        assert (await ask(world, f"{DAY} 21:30")).reason == "slot_taken"
        assert await world.parts.store.read(pool_days.one, "digest", DAY) is None


async def test_a_slot_is_taken_once_however_many_schedulers_ask(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.say(*(a_record(f"m{n}", "word " * 3000) for n in range(3)))

        answers = await asyncio.gather(*(ask(world, f"{DAY} 21:30") for _ in range(5)))

        assert sorted(answer.reason for answer in answers) == [
            "",
            "slot_taken",
            "slot_taken",
            "slot_taken",
            "slot_taken",
        ]


async def test_a_slot_gives_one_batch_after_another_up_to_its_limit(tmp_path: Path) -> None:
    budgets = {"digest": {"requests_per_minute": 100}}
    async with a_desk(tmp_path, digest={"max_batches": 2}, budgets=budgets) as world:
        await world.say(*(a_record(f"m{n}", "word " * 3000) for n in range(3)))
        slot, seen = f"{DAY} 21:30", []
        for _ in range(2):
            claim = await claimed(world, slot)
            seen += [source.id for source in claim.sources]
            await submit(world, claim)

        assert (await ask(world, slot)).reason == "too_many_batches"
        assert (await ask(world, slot)).reason == "slot_taken"
        assert seen == ["m0", "m1"], "oldest first, none twice"


async def test_a_turn_too_long_for_a_draft_waits_and_holds_up_nobody(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await world.say(a_record("long", "字" * 7000, said_at_ms=1), a_record("a", "short"))

        assert [source.id for source in (await claimed(world)).sources] == ["a"]
        assert "too long for one draft" in (await world.get("/owner/inbox")).text


async def test_sources_can_be_chosen_by_hand(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.say(a_record("a", "one"), a_record("b", "two"))

        answer = await ask(world, chosen=("b", "nothing"))

        assert answer.claim is not None and [source.id for source in answer.claim.sources] == ["b"]


async def test_a_budget_that_is_used_up_says_so_and_the_slot_can_be_asked_again(tmp_path: Path) -> None:
    async with a_desk(tmp_path, budgets={"digest": {"requests_per_minute": 1}}) as world:
        await world.say(a_record("a", "one"))
        claim = await claimed(world)
        await world.control("digest", f"/digests/{claim.id}/release", m.Release(state="released", reason="stopped"))

        refused = await ask(world, f"{DAY} 21:30")
        world.time.pass_ms(60_000)

        assert refused.reason == "budget" and "requests a minute" in refused.text
        assert (await ask(world, f"{DAY} 21:30")).claim is not None


async def test_a_draft_is_settled_and_told_once(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.say(a_record("a", "one"))
        claim = await claimed(world)
        cost = m.Cost(
            verdict="settle", micros=70, provider="o", model="m", outcome="answered", input_tokens=9, output_tokens=1
        )

        numbers = {await submit(world, claim, a_draft(claim, cost=cost)) for _ in range(3)}

        assert len(numbers) == 1
        day = await world.parts.store.read(pool_days.one, "digest", DAY)
        assert day is not None and (day.held, day.spent, day.tokens) == (0, 70, 10)
        assert (await ask(world)).reason == "no_sources"


async def test_a_fact_without_a_source_of_the_batch_is_refused(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.say(a_record("a", "one"))
        claim = await claimed(world)
        for names in ((), ("other",)):
            fact = m.DraftFact(statement="x", sources=names, who="owner")
            draft = m.Draft(title="t", body="b", facts=(fact,), cost=FREE)
            assert (await world.control("digest", f"/digests/{claim.id}/draft", draft)).status_code == 400


async def test_a_released_batch_waits_again_and_a_failed_one_ends_its_slot(tmp_path: Path) -> None:
    async with a_desk(tmp_path, budgets={"digest": {"requests_per_minute": 100}}) as world:
        await world.say(a_record("a", "one"))
        slot = f"{DAY} 21:30"
        first = await claimed(world, slot)
        for _ in range(2):
            told = m.Release(state="released", reason="stopping")
            assert (await world.control("digest", f"/digests/{first.id}/release", told)).status_code == 204
        second = await claimed(world, slot)
        failed = m.Release(state="failed", reason="no sense in it", cost=FREE)
        await world.control("digest", f"/digests/{second.id}/release", failed)

        assert (await ask(world, slot)).reason == "slot_taken"
        assert [source.id for source in (await claimed(world)).sources] == ["a"]
        late = await world.control("digest", f"/digests/{first.id}/draft", a_draft(first))
        assert late.status_code == 409


async def test_the_owner_gives_up_a_stuck_claim_and_pays_for_it_in_full(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await world.say(a_record("a", "one"))
        claim = await claimed(world)

        assert (await world.press(f"/owner/claims/{claim.id}/release")).status_code == 303
        assert (await world.press(f"/owner/claims/{claim.id}/release")).status_code == 400

        day = await world.parts.store.read(pool_days.one, "digest", DAY)
        assert day is not None and (day.held, day.spent, day.unknown) == (0, 100, 100)
        found = await world.parts.store.read(claims.one, claim.id)
        assert found is not None and found.state == "unknown"
        assert await world.parts.store.read(sources.count_waiting) == 1


async def test_claims_and_drafts_of_nobody_are_404(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.say(a_record("a", "one"))
        claim = await claimed(world)
        told = m.Release(state="released", reason="")

        assert (await world.control("digest", "/digests/x/draft", a_draft(claim))).status_code == 404
        assert (await world.control("digest", "/digests/x/release", told)).status_code == 404


# --- review


async def test_a_draft_stands_beside_its_sources_and_each_fact_leads_to_its_words(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        digest = await a_waiting_draft(world)

        page = (await world.get(f"/owner/inbox/{digest}")).text

        assert SECRET in page and 'href="#source-a"' in page and 'id="source-a"' in page
        assert "A cat" in (await world.get("/owner")).text


async def test_what_is_published_is_the_approved_text_and_nothing_of_its_sources(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        digest = await a_waiting_draft(world)
        assert (await world.get("/journal")).text.count("A cat") == 0

        assert await decide(world, digest, "publish") == 303

        listed, entry = (await world.get("/journal")).text, (await world.get(f"/journal/{DAY}")).text
        assert "A cat" in listed and "There is a cat." in entry
        for page in (listed, entry, (await world.get("/")).text, (await world.get("/sitemap.xml")).text):
            assert SECRET not in page and "console:local" not in page
        assert public_without_approval(world) == 0


async def test_an_approval_is_for_the_text_that_was_seen_and_for_no_other(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        digest = await a_waiting_draft(world)
        seen = await form_of(world, digest, "publish")
        await decide(world, digest, "edit", title="A cat", body="Words that nobody approved.")

        stale = await world.submit(f"/owner/inbox/{digest}/publish", **seen)
        newer = {**seen, "version": "2"}
        forged = await world.submit(f"/owner/inbox/{digest}/publish", **newer)

        assert stale.status_code == 409 and forged.status_code == 409
        assert "The text changed" in stale.text and "Words that nobody approved." in stale.text
        assert "Words that nobody approved." not in (await world.get("/journal")).text


async def test_an_edit_after_publishing_shows_nothing_until_it_is_approved(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        digest = await a_waiting_draft(world)
        await decide(world, digest, "publish")
        await decide(world, digest, "edit", title="A cat", body="A second thought.")

        assert "A second thought." not in (await world.get(f"/journal/{DAY}")).text
        await decide(world, digest, "publish")
        assert "A second thought." in (await world.get(f"/journal/{DAY}")).text
        assert public_without_approval(world) == 0


async def test_publishing_is_undone_and_done_again_under_the_same_address(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        digest = await a_waiting_draft(world)
        await decide(world, digest, "publish")

        assert await decide(world, digest, "unpublish") == 303
        assert (await world.get(f"/journal/{DAY}")).status_code == 404
        assert (await world.press(f"/owner/inbox/{digest}/unpublish")).status_code == 400

        await decide(world, digest, "publish")
        assert (await world.get(f"/journal/{DAY}")).status_code == 200


async def test_two_drafts_of_one_day_have_addresses_of_their_own(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        first = await a_waiting_draft(world)
        await world.say(a_record("b", "another"))
        second = await submit(world, await claimed(world))
        await decide(world, first, "publish")
        await decide(world, second, "publish")

        assert (await world.get(f"/journal/{DAY}-2")).status_code == 200


async def test_an_edit_in_two_tabs_shows_both_texts_and_loses_neither(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        digest = await a_waiting_draft(world)
        form = await form_of(world, digest, "edit")
        path = f"/owner/inbox/{digest}/edit"
        assert (await world.submit(path, **form, title="First tab", body="From the first.")).status_code == 303

        second = await world.submit(path, **form, title="Second tab", body="From the second.")

        assert second.status_code == 409
        assert "From the first." in second.text and "From the second." in second.text
        again = dict(re.findall(r'name="(version|csrf)" value="([^"]*)"', second.text))
        assert (await world.submit(path, **again, title="Second tab", body="From both.")).status_code == 303
        assert "From both." in (await world.get(f"/owner/inbox/{digest}")).text


async def test_a_discarded_draft_is_taken_back(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        digest = await a_waiting_draft(world)

        assert await decide(world, digest, "discard", reason="too private") == 303
        assert (await world.press(f"/owner/inbox/{digest}/publish", version="1", hash="x")).status_code == 409
        assert "too private" in (await world.get("/owner/inbox")).text
        assert await decide(world, digest, "take-back") == 303
        assert await decide(world, digest, "publish") == 303


async def test_a_discarded_draft_cannot_be_published_by_a_form_from_before(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        digest = await a_waiting_draft(world)
        form = await form_of(world, digest, "publish")
        await decide(world, digest, "discard")

        assert (await world.submit(f"/owner/inbox/{digest}/publish", **form)).status_code == 400
        assert "A cat" not in (await world.get("/journal")).text


async def test_forgetting_a_source_empties_the_drafts_made_from_it(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        digest = await a_waiting_draft(world)
        await decide(world, digest, "edit", title=f"About {SECRET}", body=f"{SECRET} sleeps.")

        await world.say(a_record("a", "", version=2, deleted=True))

        page = (await world.get(f"/owner/inbox/{digest}")).text
        assert SECRET not in page and "was forgotten" in page
        assert (await world.press(f"/owner/inbox/{digest}/take-back")).status_code == 400
        for table in ("sources", "digests", "digest_versions"):
            assert SECRET not in everything(world, table), table


async def test_bad_forms_and_unknown_drafts_are_refused_with_a_sentence(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        digest = await a_waiting_draft(world)
        path = f"/owner/inbox/{digest}/edit"
        for version in ("", "-1", "x", "1.0", "9" * 30, "١"):
            assert (await world.press(path, version=version, title="t", body="b")).status_code == 400, version
        for title, body in (("", "b"), ("t", "  "), ("t" * 301, "b"), ("t", "b" * 100_001)):
            assert (await world.press(path, version="1", title=title, body=body)).status_code == 400
        for action in ("edit", "unpublish", "discard", "take-back"):
            assert (await world.press(f"/owner/inbox/999/{action}", version="1", title="t", body="b")).status_code in (
                400,
                404,
            )
        assert (await world.get("/owner/inbox/999")).status_code == 404


async def test_what_a_model_wrote_is_never_markup_of_ours(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await world.say(a_record("a", "<img src=x onerror=alert(1)>"))
        claim = await claimed(world)
        evil = "<script>alert(1)</script>"
        digest = await submit(world, claim, a_draft(claim, title=evil, body=f"{evil}\n\n[x](javascript:alert(1))"))
        await decide(world, digest, "publish")

        for path in ("/owner", "/owner/inbox", f"/owner/inbox/{digest}", "/journal", f"/journal/{DAY}"):
            page = (await world.get(path)).text
            assert evil not in page and "<img src=x" not in page and 'href="javascript' not in page, path
