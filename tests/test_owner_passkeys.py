"""Passkeys, with a browser's virtual authenticator; and what strangers get who have none."""

import base64
import json
from pathlib import Path

import httpx
import pytest
from playwright.async_api import expect

from tests.browser import a_browser, serve
from tests.desk_world import OURS, PASSWORD, DeskWorld, a_desk
from website.app import create_app
from website.owner.claim_link import link_file
from website.store import audit, passkeys

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


async def test_a_passkey_is_made_signs_in_counts_and_is_removed(tmp_path: Path) -> None:
    async with a_desk(tmp_path, site={"public_url": ""}) as world, serve(create_app(world.parts)) as served:
        base = served.replace("127.0.0.1", "localhost")
        async with a_browser() as browser:
            context = await browser.new_context(base_url=base, locale="en")
            page = await context.new_page()
            devtools = await context.new_cdp_session(page)
            await devtools.send("WebAuthn.enable")
            await devtools.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
            await page.goto(f"/setup#{link_file(world.parts.settings).read_text().strip().partition('#')[2]}")
            await page.fill("[name=password]", PASSWORD)
            await page.fill("[name=again]", PASSWORD)
            await page.get_by_role("button", name="Set the password").click()
            await page.wait_for_url("**/owner")

            await page.goto("/owner/security")
            await page.get_by_label("What you call it").fill("laptop")
            await page.locator("#make-passkey [name=present]").fill("not the password")
            await page.get_by_role("button", name="Add a passkey").click()
            await expect(page.locator("#make-passkey [role=status]")).to_have_text("that is not the password")
            await page.locator("#make-passkey [name=present]").fill(PASSWORD)
            await page.get_by_role("button", name="Add a passkey").click()
            await expect(page.locator("main")).to_contain_text("laptop")

            await page.get_by_role("button", name="Sign out", exact=True).click()
            await page.goto("/owner/inbox")
            await page.get_by_role("button", name="Use a passkey").click()
            await page.wait_for_url("**/owner/inbox")

            [kept] = await world.parts.store.read(passkeys.every)
            assert (kept.name, kept.used_at) == ("laptop", world.time.now) and kept.sign_count > 0
            assert [line.deed.detail for line in await world.parts.store.read(audit.newest, 1000, 1)] == ["laptop"]
            await page.goto("/owner/security")
            await page.get_by_role("button", name="Remove it").click()
            await expect(page.locator("main")).to_contain_text("None yet.")
            await page.get_by_role("button", name="Sign out", exact=True).click()
            await page.goto("/owner/sign-in")
            await page.get_by_role("button", name="Use a passkey").click()
            await expect(page.locator("#use-passkey [role=status]")).to_have_text("this passkey does not sign in here")
            await context.close()


async def as_script(world: DeskWorld, path: str, token: str = "", **fields: str) -> httpx.Response:
    return await world.send(path, {**OURS, "accept": "application/json", "x-csrf-token": token}, fields)


def an_answer(challenge: str, identity: str = "AAAA") -> str:
    client = {"type": "webauthn.get", "challenge": challenge, "origin": "http://desk.test"}
    said = base64.urlsafe_b64encode(json.dumps(client).encode()).decode().rstrip("=")
    signed = {"clientDataJSON": said, "authenticatorData": "AAAA", "signature": "AAAA"}
    return json.dumps({"id": identity, "rawId": identity, "type": "public-key", "response": signed})


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "{",
        "[]",
        "1",
        '"x"',
        "{}",
        '{"response":{}}',
        '{"response":{"clientDataJSON":"!!"}}',
        '{"response":{"clientDataJSON":"eyJjaGFsbGVuZ2UiOjV9"}}',
        "[" * 9_000,
        "x" * 20_000,
    ],
)
async def test_what_is_no_answer_is_refused_before_and_behind_the_door(tmp_path: Path, answer: str) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        token = await world.token()

        for path in ("/owner/sign-in/passkey", "/owner/security/passkeys"):
            refused = await as_script(world, path, token, credential=answer, name="x")
            assert refused.status_code == 400, path
        assert await world.parts.store.read(passkeys.every) == ()


async def test_a_forged_answer_to_a_real_question_signs_nobody_in(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        key = passkeys.Passkey("AAAA", "AAAA", 3, "laptop", world.time.now)
        await world.parts.store.write(passkeys.add, key)
        world.cookies.clear()
        asked = (await as_script(world, "/owner/sign-in/passkey/options")).json()
        assert asked["rpId"] == "desk.test" and asked["userVerification"] == "required"
        assert not asked.get("allowCredentials"), "a stranger learns of no credential"

        for identity, status in (("AAAA", 400), ("BBBB", 403)):
            answer = await as_script(
                world, "/owner/sign-in/passkey", credential=an_answer(asked["challenge"], identity)
            )
            assert answer.status_code == status and "set-cookie" not in answer.headers


async def test_a_question_is_answered_once_in_time_and_for_its_purpose(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        now, store = world.time.now, world.parts.store
        soon = type(now)(now + 10)
        for challenge in ("a", "b", "c"):
            await store.write(passkeys.ask, challenge, "sign_in", now, soon)

        assert not await store.write(passkeys.answer, "a", "register", now)
        assert await store.write(passkeys.answer, "a", "sign_in", now)
        assert not await store.write(passkeys.answer, "a", "sign_in", now)
        assert not await store.write(passkeys.answer, "b", "sign_in", soon)


async def test_a_flood_of_questions_leaves_a_bounded_number(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        for number in range(passkeys.MOST_CHALLENGES + 20):
            later = type(world.time.now)(world.time.now + 1000 + number)
            await world.parts.store.write(passkeys.ask, f"c{number}", "sign_in", world.time.now, later)

        first = await world.parts.store.write(passkeys.answer, "c0", "sign_in", world.time.now)
        last = await world.parts.store.write(passkeys.answer, "c219", "sign_in", world.time.now)

        assert (first, last) == (False, True)


async def test_adding_a_passkey_wants_the_password_and_tries_are_counted(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        token = await world.token()
        path = "/owner/security/passkeys/options"

        told = [(await as_script(world, path, token, present="guess")).status_code for _ in range(6)]

        assert told == [403] * 5 + [429]
        assert (await as_script(world, path, token, present=PASSWORD)).status_code == 429
        world.time.pass_ms(11 * 60 * 1000)
        options = (await as_script(world, path, token, present=PASSWORD)).json()
        assert options["rp"]["id"] == "desk.test"
        assert options["authenticatorSelection"]["residentKey"] == "required"


async def test_an_address_of_numbers_says_that_a_name_is_needed(tmp_path: Path) -> None:
    async with a_desk(tmp_path, site={"public_url": "http://127.0.0.1:8420"}) as world:
        await world.claim()

        answer = await as_script(world, "/owner/security/passkeys/options", await world.token(), present=PASSWORD)

        assert answer.status_code == 400 and "http://localhost" in answer.json()["detail"]
