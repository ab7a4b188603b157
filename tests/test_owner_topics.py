"""The outbox, the voice, the sessions and the audit page."""

import re
from pathlib import Path

from core.control import messages as m
from tests.desk_world import PASSWORD, DeskWorld, a_desk
from website.ledger.overview import forecast
from website.owner import sessions
from website.owner.default_voices import DEFAULT_VOICES
from website.store import instructions
from website.store.pool_days import PoolDay


async def tell(world: DeskWorld, key: str, body: str) -> None:
    record = m.StateRecord(kind="part_state", key=key, at_ms=1, body=body)
    await world.control("bridge", "/sync", m.SyncBatch(records=(record,)))


async def test_the_owners_word_on_a_part_goes_to_the_bridge_and_comes_back(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await tell(world, "r/0", '{"state":"unknown","reply":"r","number":0,"part":7}')
        await tell(world, "r/1", '{"state":"sent","reply":"r","number":1,"part":8}')
        page = (await world.get("/owner/outbox")).text
        assert "r/0" in page and "r/1" not in page

        assert (await world.press("/owner/outbox/resolve", part="7", how="delivered")).status_code == 303

        [asked] = await world.parts.store.read(instructions.open_ones)
        assert (asked.kind, asked.body) == ("resolve_part", {"part": "7", "how": "delivered"})
        await world.control("bridge", f"/instructions/{asked.id}/done", m.InstructionDone(result="part is sent"))
        assert "part is sent" in (await world.get("/owner/outbox")).text
        for bad in ({"part": "x", "how": "delivered"}, {"part": "7", "how": "burn"}, {}):
            assert (await world.press("/owner/outbox/resolve", **bad)).status_code == 400


async def test_a_conflict_waits_on_the_desk_until_it_is_put_aside(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        record = m.StateRecord(kind="conflict", key="c/1", at_ms=1, body='{"event":"e-77","account":"a"}')
        await world.control("bridge", "/sync", m.SyncBatch(records=(record,)))
        assert "came twice" in (await world.get("/owner")).text and "e-77" in (await world.get("/owner/outbox")).text

        assert (await world.press("/owner/outbox/conflicts/aside", key="c/1")).status_code == 303

        assert "came twice" not in (await world.get("/owner")).text
        for key in ("c/1", ""):
            assert (await world.press("/owner/outbox/conflicts/aside", key=key)).status_code == 400


async def test_answers_are_paused_and_resumed_and_nothing_else_is_asked(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        for wish in ("pause", "resume"):
            assert (await world.press(f"/owner/outbox/{wish}")).status_code == 303
            world.time.pass_ms(1)
        assert (await world.press("/owner/outbox/explode")).status_code == 400

        assert [one.kind for one in await world.parts.store.read(instructions.open_ones)] == ["pause", "resume"]


async def test_a_saved_voice_is_in_the_next_grant_and_in_the_preview(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await world.press("/owner/voice", version="0", text="Dry, and never in a hurry.")

        answer = await world.control("bridge", "/grants", m.GrantRequest(installation="here", wants_lease=False))

        voice = m.Grant.model_validate_json(answer.content).voice
        assert (voice.version, voice.text) == (1, "Dry, and never in a hurry.")
        assert (await world.get("/owner/voice")).text.count("Dry, and never in a hurry.") == 4
        assert "Dry, and never" not in (await world.get("/")).text


async def test_until_the_owner_writes_one_the_voice_of_the_house_holds_and_an_empty_one_is_none(tmp_path: Path) -> None:
    async with a_desk(tmp_path, persona={"language": "zh"}) as world:
        await world.claim()

        async def told() -> m.Voice:
            answer = await world.control("bridge", "/grants", m.GrantRequest(installation="here", wants_lease=False))
            return m.Grant.model_validate_json(answer.content).voice

        assert await told() == m.Voice(version=0, text=DEFAULT_VOICES["zh"])
        assert "小结不是聊天" in (await world.get("/owner/voice")).text
        await world.press("/owner/voice", version="0", text="")
        assert await told() == m.Voice(version=1, text="")


async def test_a_voice_of_two_tabs_loses_neither_and_an_old_one_comes_back(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await world.press("/owner/voice", version="0", text="first")

        stale = await world.press("/owner/voice", version="0", text="second")

        assert stale.status_code == 409 and "first" in stale.text and "second" in stale.text
        await world.press("/owner/voice", version="1", text="second")
        assert (await world.press("/owner/voice/1/restore")).status_code == 303
        assert 'name="version" value="3"' in (await world.get("/owner/voice")).text
        assert (await world.press("/owner/voice/99/restore")).status_code == 404
        assert (await world.press("/owner/voice", version="3", text="x" * 8001)).status_code == 400


async def test_a_session_elsewhere_is_listed_and_ended(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        elsewhere, world.cookies = dict(world.cookies), {}
        await world.sign_in()
        hashed = sessions.id_hash(elsewhere[sessions.COOKIE])
        assert hashed in (await world.get("/owner/security")).text

        assert (await world.press(f"/owner/security/sessions/{hashed}/end")).status_code == 303
        assert (await world.press(f"/owner/security/sessions/{hashed}/end")).status_code == 404
        world.cookies = elsewhere
        assert (await world.get("/owner")).status_code == 303


async def test_a_new_password_ends_every_other_session_and_renews_this_one(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        elsewhere, world.cookies = dict(world.cookies), {}
        await world.sign_in()
        before, new = dict(world.cookies), "quite another sentence"
        path = "/owner/security/password"
        assert (await world.press(path, present="wrong password", password=new, again=new)).status_code == 400
        assert (await world.press(path, present=PASSWORD, password=new, again="other")).status_code == 400

        assert (await world.press(path, present=PASSWORD, password=new, again=new)).status_code == 303

        assert (await world.get("/owner")).status_code == 200
        for old in (elsewhere, before):
            world.cookies = old
            assert (await world.get("/owner")).status_code == 303
        assert (await world.sign_in(new)).status_code == 303


async def test_the_audit_page_shows_what_was_done_and_that_the_chain_holds(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()

        page = (await world.get("/owner/audit")).text

        assert "became_owner" in page and "The chain holds" in page


async def test_the_money_page_draws_what_a_day_cost_and_gives_it_as_csv(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        assert "<svg" not in (await world.get("/owner/money")).text, "an empty axis answers nothing"
        await world.control("bridge", "/grants", m.GrantRequest(installation="here"))

        page, table = await world.get("/owner/money"), await world.get("/owner/money.csv")

        assert page.text.count("<svg") == 1 and "2.00" in page.text
        assert table.headers["content-type"].startswith("text/csv")
        assert table.text.splitlines()[0] == "day,pool,held,spent,unknown,overrun,tokens,requests"
        assert "2026-05-29,chat,2000000,0,0,0,0,20" in table.text.splitlines()
        world.cookies = {}
        assert (await world.get("/owner/money.csv")).status_code == 303


async def test_the_money_page_says_which_model_serves_what_and_never_a_key(tmp_path: Path) -> None:
    default = {"provider": "openai", "base_url": "http://127.0.0.1:9/v1", "api_key": "sk-secret-default", "name": "big"}
    digest = {"provider": "openai", "base_url": "http://127.0.0.1:8/v1", "api_key": "sk-secret-digest", "name": "small"}
    models = {"default": default, "reader": {"name": "quick"}, "digest": digest}
    async with a_desk(tmp_path, models=models) as world:
        await world.claim()

        page = (await world.get("/owner/money")).text

        served = re.findall(r"<td>openai (\w+)</td><td>[^<]*</td><td>(\w+)</td>", page)
        assert served == [("big", "shared"), ("quick", "mixed"), ("small", "dedicated")]
        assert "sk-secret" not in page


def a_day(day: str, spent: int) -> PoolDay:
    return PoolDay("chat", day, None, 0, spent, 0, 0, 0, 0, False)


def test_a_forecast_is_thirty_days_at_the_pace_of_the_last_whole_week() -> None:
    days = tuple(a_day(f"2026-03-{number:02}", 700) for number in range(1, 12))

    assert forecast(days, "2026-03-11") == 700 * 30
    assert forecast((a_day("2026-03-11", 5),), "2026-03-11") == 0
    assert forecast((), "2026-03-11") == 0
