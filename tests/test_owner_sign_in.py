"""Becoming the owner, signing in, and what nobody else can do."""

import asyncio
import json
import re
import stat
from pathlib import Path

import pytest
from litestar import Litestar
from litestar.routes import HTTPRoute
from sqlalchemy import text as sql

from tests.desk_world import PASSWORD, DeskWorld, a_desk
from website.app import create_litestar
from website.owner import sessions
from website.owner.claim_link import link_file, offer, offer_reset
from website.owner.origin import from_our_page
from website.owner.start import prepare
from website.parts import Parts
from website.public_side import build_public_side
from website.store import audit


def rows(parts: Parts, statement: str) -> list[tuple[object, ...]]:
    return parts.store.read_now(lambda conn: [tuple(row) for row in conn.execute(sql(statement))])


async def test_the_claim_link_lies_in_a_private_file_and_only_its_hash_in_the_store(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        path = link_file(world.parts.settings)
        link = path.read_text().strip()

        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert link.startswith("http://desk.test/setup#token=")
        assert link.rpartition("=")[2] not in json.dumps(rows(world.parts, "SELECT * FROM claim_links"))


async def test_a_second_start_offers_the_same_link(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        first = link_file(world.parts.settings).read_text()

        await prepare(world.parts)

        assert link_file(world.parts.settings).read_text() == first


async def test_a_lost_link_file_is_replaced_and_the_old_link_dies(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        old = link_file(world.parts.settings).read_text().strip().rpartition("=")[2]
        link_file(world.parts.settings).unlink()

        await prepare(world.parts)

        refused = await world.submit("/setup", token=old, password=PASSWORD, again=PASSWORD)
        assert refused.status_code == 400
        assert (await world.claim()).status_code == 303


async def test_claiming_signs_in_and_closes_the_setup_for_ever(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        claimed = await world.claim()

        assert claimed.status_code == 303 and claimed.headers["location"] == "/owner"
        assert (await world.get("/owner")).status_code == 200
        assert (await world.get("/setup")).status_code == 404
        assert (await world.submit("/setup", token="x", password=PASSWORD, again=PASSWORD)).status_code == 404
        assert not link_file(world.parts.settings).exists()
        assert await offer(world.parts.store, world.parts.settings, world.time, world.parts.random_bytes) is None


async def test_two_who_use_one_link_at_once_have_one_winner(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        token = link_file(world.parts.settings).read_text().strip().rpartition("=")[2]

        answers = await asyncio.gather(
            *(
                world.submit("/setup", token=token, password=f"{PASSWORD} {n}", again=f"{PASSWORD} {n}")
                for n in range(4)
            )
        )

        assert sorted(answer.status_code for answer in answers).count(303) == 1
        assert len(rows(world.parts, "SELECT * FROM sessions")) == 1


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"token": "nonsense"}, "This link does not work"),
        ({"again": "another password"}, "The two passwords differ"),
        ({"password": "short", "again": "short"}, "10 to 1024"),
        ({"password": "x" * 1025, "again": "x" * 1025}, "10 to 1024"),
    ],
)
async def test_a_bad_setup_form_says_what_is_wrong_and_leaves_the_link(
    tmp_path: Path, fields: dict[str, str], sentence: str
) -> None:
    async with a_desk(tmp_path) as world:
        token = link_file(world.parts.settings).read_text().strip().rpartition("=")[2]

        refused = await world.submit("/setup", **{"token": token, "password": PASSWORD, "again": PASSWORD, **fields})

        assert refused.status_code == 400 and sentence in refused.text
        assert (await world.claim()).status_code == 303


async def test_a_reset_link_sets_a_new_password_and_ends_every_session(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        before = dict(world.cookies)
        link = await offer_reset(world.parts.store, world.parts.settings, world.time, world.parts.random_bytes)

        new = {"password": "another long sentence", "again": "another long sentence"}
        assert (await world.submit("/setup", token=link.rpartition("=")[2], **new)).status_code == 303

        world.cookies = before
        assert (await world.get("/owner")).status_code == 303
        assert (await world.sign_in()).status_code == 403
        assert (await world.sign_in("another long sentence")).status_code == 303


async def test_a_reset_link_is_good_for_an_hour(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await offer_reset(world.parts.store, world.parts.settings, world.time, world.parts.random_bytes)

        world.time.pass_ms(3_600_000)

        assert (await world.get("/setup")).status_code == 404


# --- sessions


async def test_a_visitor_gets_neither_a_cookie_nor_a_row(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        for path in ("/", "/owner", "/owner/sign-in", "/setup"):
            assert "set-cookie" not in (await world.get(path)).headers, path

        assert rows(world.parts, "SELECT * FROM sessions") == []


async def test_the_cookie_is_strict_and_the_store_knows_its_hash_only(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        cookie = (await world.claim()).headers["set-cookie"]

        for word in ("__Host-sid=", "Secure", "HttpOnly", "SameSite=lax", "Path=/"):
            assert word.lower() in cookie.lower()
        assert "domain" not in cookie.lower()
        assert world.cookies[sessions.COOKIE] not in json.dumps(rows(world.parts, "SELECT * FROM sessions"))


async def test_an_id_that_an_attacker_chose_is_never_taken_over(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        chosen = "ab" * sessions.ID_BYTES
        world.cookies = {sessions.COOKIE: chosen}

        await world.sign_in()

        assert world.cookies[sessions.COOKIE] != chosen
        world.cookies = {sessions.COOKIE: chosen}
        assert (await world.get("/owner")).status_code == 303


async def test_signing_in_again_ends_the_session_before(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        before = dict(world.cookies)

        await world.sign_in()

        assert world.cookies != before
        world.cookies = before
        assert (await world.get("/owner")).status_code == 303


@pytest.mark.parametrize("idle", [True, False])
async def test_a_session_ends_when_idle_and_when_old(tmp_path: Path, idle: bool) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()

        for _ in range(1 if idle else 29):
            world.time.pass_ms(sessions.IDLE_MS if idle else sessions.IDLE_MS - 1000)
            last = await world.get("/owner")

        assert last.status_code == 303


async def test_signing_out_ends_the_session_everywhere(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        before = dict(world.cookies)

        await world.press("/owner/sign-out")

        world.cookies = before
        assert (await world.get("/owner")).status_code == 303


async def test_after_signing_in_one_comes_to_where_one_wanted_to_go_but_never_off_the_site(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        world.cookies = {}
        sent = await world.get("/owner/money?x=1")
        assert sent.headers["location"].startswith("/owner/sign-in?next=%2Fowner%2Fmoney")

        assert (await world.sign_in(next="/owner/money?x=1")).headers["location"] == "/owner/money?x=1"
        for evil in (
            "//evil.test",
            "https://evil.test",
            "/owner/\\evil",
            "/owner//evil.test",
            "/owners",
            "/owner\r\nX: y",
        ):
            assert (await world.sign_in(next=evil)).headers["location"] == "/owner", evil


# --- limits


async def test_a_thousand_guesses_are_not_looked_at_and_the_live_session_goes_on(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        live, world.cookies = dict(world.cookies), {}

        answers = await asyncio.gather(*(world.sign_in(f"guess number {n}") for n in range(100)))

        assert [answer.status_code for answer in answers].count(403) == 5
        assert [answer.status_code for answer in answers].count(429) == 95
        assert (await world.sign_in()).status_code == 429, "even the right one waits"
        world.cookies = live
        assert (await world.get("/owner")).status_code == 200
        world.cookies = {}
        world.time.pass_ms(10 * 60 * 1000)
        assert (await world.sign_in()).status_code == 303


# --- every unsafe route


def unsafe_routes(app: Litestar) -> list[str]:
    """Every address of the owner's that takes a POST, with something in the place of each number and name."""
    found = [
        route.path
        for route in app.routes
        if isinstance(route, HTTPRoute)
        and route.path.startswith(("/owner", "/setup"))
        and not set(route.methods) <= {"GET", "HEAD", "OPTIONS"}
    ]
    return sorted(re.sub(r"\{[^}]*:int\}", "1", re.sub(r"\{[^}]*:str\}", "x", path)) for path in found)


async def _each_unsafe_route(world: DeskWorld) -> list[str]:
    found = unsafe_routes(create_litestar(world.parts, build_public_side(world.parts)))
    assert len(found) >= 12, found
    return found


BEFORE_THE_DOOR = {"/setup", "/owner/sign-in", "/owner/sign-in/passkey", "/owner/sign-in/passkey/options"}


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://evil.test"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site", "origin": "http://desk.test"},
        {"sec-fetch-site": "same-site"},
    ],
)
async def test_every_unsafe_route_refuses_what_another_site_sent(tmp_path: Path, headers: dict[str, str]) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        token = await world.token()
        for path in await _each_unsafe_route(world):
            answer = await world.send(path, headers, {"csrf": token, "password": PASSWORD})
            assert answer.status_code == 403, path
        assert (await world.get("/owner")).status_code == 200


def test_an_origin_that_is_no_address_is_not_ours() -> None:
    for broken in ("http://[broken", "http://", "", "desk.test", "file:///"):
        assert not from_our_page({"origin": broken, "host": "desk.test"}, "http://desk.test"), broken


async def test_every_unsafe_route_wants_a_session_and_its_own_token(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        live = dict(world.cookies)
        for path in set(await _each_unsafe_route(world)) - BEFORE_THE_DOOR:
            world.cookies = {}
            assert (await world.submit(path, csrf="0" * 64)).status_code == 401, path
            world.cookies = dict(live)
            for wrong in ("", "0" * 64, "é", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1")):
                assert (await world.submit(path, csrf=wrong)).status_code == 403, path
        assert (await world.get("/owner")).status_code == 200, "none of them signed out"


async def test_a_token_of_another_session_is_refused(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        old = await world.token()
        world.cookies = {}
        await world.sign_in()

        assert (await world.submit("/owner/sign-out", csrf=old)).status_code == 403


async def test_an_edit_is_not_lost_when_the_session_ended(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        world.cookies = {}

        late = await world.submit(
            "/owner/inbox/1/edit", csrf="old", title="<b>A title</b>", body="Long, careful words."
        )

        assert late.status_code == 401
        assert "Long, careful words." in late.text and "&lt;b&gt;A title" in late.text
        assert "old" not in late.text.partition("<form")[2]


async def test_an_owner_page_cannot_be_framed_or_cached(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        for path in ("/setup", "/owner/sign-in", "/owner"):
            headers = (await world.get(path)).headers
            assert headers["cache-control"] == "no-store"
            assert "frame-ancestors 'none'" in headers["content-security-policy"]


async def test_a_form_over_the_limit_is_refused(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        token = await world.token()

        answer = await world.submit("/owner/inbox/1/edit", csrf=token, body="x" * (2 * 1024 * 1024 + 1))

        assert answer.status_code == 413


# --- the audit chain


async def test_what_the_owner_did_is_in_the_chain_and_a_changed_line_is_found(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await world.press("/owner/pairings/code", role="owner")
        await world.press("/owner/sign-out")

        actions = [row[0] for row in rows(world.parts, "SELECT action FROM audit ORDER BY id")]
        assert actions == ["became_owner", "made_pairing_code", "signed_out"]
        assert await world.parts.store.read(audit.verify) is None

        await world.parts.store.write(
            lambda conn: conn.execute(sql("UPDATE audit SET detail = 'guest' WHERE id = 2")) and None
        )
        assert await world.parts.store.read(audit.verify) == 2


async def test_a_line_taken_out_of_the_chain_is_found(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        await world.press("/owner/sign-out")
        await world.sign_in()

        await world.parts.store.write(lambda conn: conn.execute(sql("DELETE FROM audit WHERE id = 2")) and None)

        assert await world.parts.store.read(audit.verify) == 3
