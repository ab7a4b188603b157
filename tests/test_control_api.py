"""The control API: who is let in, what is taken once, and what comes back."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text as sql

from core.control import messages as m
from core.control.keys import ensure_keys, key_file, load_keys, rotate
from core.errors import SettingsError
from tests.desk_world import NOON, DeskWorld, a_desk, a_record
from website.owner.pairing import CodeWish, Ids, keep_code, pair_console_owner
from website.store import instructions, sources

GRANT = m.GrantRequest(installation="here")


async def grant(world: DeskWorld, *closing: m.LeaseReport, wants: bool = True) -> m.Grant:
    asked = m.GrantRequest(installation="here", wants_lease=wants, closing=closing)
    answer = await world.control("bridge", "/grants", asked)
    assert answer.status_code == 200, answer.text
    return m.Grant.model_validate_json(answer.content)


# --- the door


async def test_a_signed_request_is_taken_and_its_replay_is_not(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        assert (await world.control("bridge", "/grants", GRANT, request_id="one")).status_code == 200
        replay = await world.control("bridge", "/grants", GRANT, request_id="one")

        assert replay.status_code == 409
        assert replay.headers["content-type"] == "application/problem+json"


async def test_fifty_copies_of_one_request_are_taken_once(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        body = GRANT.model_dump_json().encode()
        headers = world.signed("bridge", "POST", "/grants", body)

        answers = await asyncio.gather(
            *(world.client.post("/control/v1/grants", content=body, headers=headers) for _ in range(50))
        )

        assert sorted({answer.status_code for answer in answers}) == [200, 409]
        assert [answer.status_code for answer in answers].count(200) == 1


@pytest.mark.parametrize("shift_s", [-301, 301])
async def test_a_stale_or_future_request_is_refused(tmp_path: Path, shift_s: int) -> None:
    async with a_desk(tmp_path) as world:
        body = GRANT.model_dump_json().encode()
        headers = world.signed("bridge", "POST", "/grants", body)
        world.time.pass_ms(shift_s * 1000)

        assert (await world.client.post("/control/v1/grants", content=body, headers=headers)).status_code == 401


async def test_an_altered_body_path_query_or_method_is_refused(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        body = GRANT.model_dump_json().encode()
        headers = world.signed("bridge", "POST", "/grants", body)
        send = world.client.request

        assert (await send("POST", "/control/v1/grants", content=body + b" ", headers=headers)).status_code == 401
        assert (await send("POST", "/control/v1/usage", content=body, headers=headers)).status_code == 401
        assert (await send("POST", "/control/v1/grants?x", content=body, headers=headers)).status_code == 401
        swapped = world.signed("bridge", "POST", "/instructions", b"")
        assert (await send("GET", "/control/v1/instructions", headers=swapped)).status_code == 401
        assert (await send("POST", "/control/v1/grants", content=body)).status_code == 401


async def test_each_program_gets_only_its_own_part(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        bridge = ("/grants", "/usage", "/sync", "/pairings", "/instructions/x/done")
        digest = ("/digests/claims", "/digests/x/draft", "/digests/x/release")

        for path in bridge:
            assert (await world.control("digest", path, b"{}")).status_code == 403, path
        for path in digest:
            assert (await world.control("bridge", path, b"{}")).status_code == 403, path
        assert (await world.control("digest", "/instructions", method="GET")).status_code == 403


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"installation": 1}', b'{"installation":"x","more":1}', b"\xff\xfe", b"[" * 100_000],
)
async def test_a_body_that_is_not_the_message_is_a_400_with_a_sentence(tmp_path: Path, body: bytes) -> None:
    async with a_desk(tmp_path) as world:
        answer = await world.control("bridge", "/grants", body)

        assert answer.status_code == 400
        assert answer.json()["detail"] and answer.headers["content-type"] == "application/problem+json"


async def test_a_body_over_the_limit_is_refused(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        assert (await world.control("bridge", "/sync", b" " * (m.MAX_BODY_BYTES + 1))).status_code == 413


# --- keys


async def test_keys_are_private_made_once_and_replaced_with_an_overlap(tmp_path: Path) -> None:
    ensure_keys(tmp_path, NOON)
    old = load_keys(tmp_path)
    ensure_keys(tmp_path, NOON)

    assert load_keys(tmp_path) == old
    assert key_file(tmp_path, "bridge").stat().st_mode & 0o777 == 0o600

    fresh = rotate(tmp_path, "bridge", NOON, 60, lambda n: b"r" * n)
    now_s = NOON // 1000
    kept = {key.id: key for key in load_keys(tmp_path, ("bridge",))}
    assert kept[fresh.id].valid_at(now_s) and kept[old[0].id].valid_at(now_s + 59)
    assert not kept[old[0].id].valid_at(now_s + 60)


async def test_a_replaced_key_is_known_without_a_restart(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        assert (await world.control("bridge", "/grants", GRANT)).status_code == 200
        rotate(world.parts.settings.secrets_dir, "bridge", world.time.now, 60, lambda n: b"r" * n)

        assert (await world.control("bridge", "/grants", GRANT)).status_code == 200


@pytest.mark.parametrize("text", ["", "# nothing\n", "only-a-name\n", "k !!!\n", "k YWJj\n", "k YWJj x y\n"])
def test_a_damaged_key_file_is_named(tmp_path: Path, text: str) -> None:
    ensure_keys(tmp_path, NOON)
    key_file(tmp_path, "digest").write_text(text)

    with pytest.raises(SettingsError, match="key"):
        load_keys(tmp_path)


def test_a_missing_key_file_says_where_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="start the site once"):
        load_keys(tmp_path)


# --- pairing


async def code(world: DeskWorld, text: str, wish: CodeWish | None = None) -> None:
    await world.parts.store.write(keep_code, text, wish or CodeWish(), world.time.now)


async def claim(world: DeskWorld, text: str, **place: object) -> m.PairingAnswer:
    where = {"account": "telegram:1", "chat": "9", "sender": "9", **place}
    answer = await world.control("bridge", "/pairings", m.PairingClaim.model_validate({"code": text, **where}))
    return m.PairingAnswer.model_validate_json(answer.content)


async def test_a_code_pairs_one_sender_once_and_tells_them_again(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await code(world, "ABCDEFGH")

        first = await claim(world, "abcd-efgh")
        again = await claim(world, "ABCDEFGH")
        other = await claim(world, "ABCDEFGH", sender="10", chat="10")

        assert first.binding is not None and first.binding.role == "owner"
        assert again.binding == first.binding
        assert other.binding is None and other.reason == "used"
        assert first.binding in (await grant(world)).bindings


async def test_a_code_is_refused_when_late_unknown_elsewhere_or_for_a_group(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await code(world, "ABCDEFGH", CodeWish("guest", "telegram:1", "9"))
        await code(world, "BBBBBBBB")

        assert (await claim(world, "ABCDEFGH", chat="8")).reason == "elsewhere"
        assert (await claim(world, "ABCDEFGH", account="matrix:1")).reason == "elsewhere"
        assert (await claim(world, "ZZZZZZZZ")).reason == "unknown"
        assert (await claim(world, "BBBBBBBB", group=True)).reason == "not_for_groups"
        world.time.pass_ms(10 * 60 * 1000)
        assert (await claim(world, "ABCDEFGH")).reason == "expired"


async def test_the_first_start_pairs_the_console_and_a_revoked_console_stays_revoked(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        [console] = (await grant(world)).bindings
        assert (console.account, console.chat, console.sender, console.role) == (
            "console:local",
            "console",
            "owner",
            "owner",
        )

        await world.claim()
        await world.press(f"/owner/pairings/{console.id}/revoke")

        assert not await world.parts.store.write(pair_console_owner, Ids("new", world.time.now))
        assert (await grant(world)).bindings == ()
        [asked] = await world.parts.store.read(instructions.open_ones)
        assert (asked.kind, asked.body) == ("revoke", {"binding": console.id})


# --- sync


async def test_what_was_said_is_kept_once_and_the_newest_version_stays(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.say(a_record("k", "first"))
        await world.say(a_record("k", "third", version=3))
        await world.say(a_record("k", "second", version=2))
        await world.say(a_record("k", "first"))

        kept = await world.parts.store.read(sources.one, "k")
        assert kept is not None and (kept.text, kept.version) == ("third", 3)


async def test_a_deletion_takes_the_text_away_for_good(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.say(a_record("k", "a secret word"))
        await world.say(a_record("k", "", version=2, deleted=True))
        await world.say(a_record("k", "a secret word", version=9))

        kept = await world.parts.store.read(sources.one, "k")
        assert kept is not None and kept.text == "" and kept.forgotten_at == NOON


async def test_heard_goes_from_false_to_true_and_never_back(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        for heard in (False, True, False):
            await world.say(a_record("r", "a reply", speaker="persona", heard=heard))

        kept = await world.parts.store.read(sources.one, "r")
        assert kept is not None and kept.heard


async def test_one_record_that_cannot_be_kept_does_not_hold_up_the_others(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.say(a_record("k", "mine"))
        stolen = a_record("k", "other", turn="another")
        bad = m.StateRecord(kind="channel_health", key="c", at_ms=1, body="[]")
        good = m.StateRecord(kind="channel_health", key="d", at_ms=1, body="{}")

        answer = await world.control("bridge", "/sync", m.SyncBatch(records=(stolen, bad, good)))

        told = m.SyncAnswer.model_validate_json(answer.content)
        assert told.kept == ("d",) and set(told.refused) == {"k", "c"}


async def test_an_older_state_does_not_replace_a_newer_one(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        for at, state in ((5, "sent"), (3, "intent")):
            record = m.StateRecord(kind="part_state", key="p", at_ms=at, body=f'{{"state":"{state}"}}')
            await world.control("bridge", "/sync", m.SyncBatch(records=(record,)))

        bodies = world.parts.store.read_now(lambda conn: conn.execute(sql("SELECT body FROM synced")).scalars().all())
        assert bodies == ['{"state":"sent"}']


# --- instructions


async def test_an_instruction_is_handed_out_until_it_is_done(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.parts.store.write(instructions.add, "i", "pause", {"why": "asked"}, world.time.now)

        for _ in range(2):
            found = m.Instructions.model_validate_json(
                (await world.control("bridge", "/instructions", method="GET")).content
            )
            assert [one.kind for one in found.instructions] == ["pause"]
        for result in ("done", "again"):
            done = await world.control("bridge", "/instructions/i/done", m.InstructionDone(result=result))
            assert done.status_code == 204

        assert await world.parts.store.read(instructions.open_ones) == ()
        [kept] = await world.parts.store.read(instructions.newest)
        assert kept.result == "done"
        assert (await world.control("bridge", "/instructions/y/done", m.InstructionDone(result=""))).status_code == 404


async def test_a_waiting_bridge_hears_of_an_instruction_at_once(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        waiting = asyncio.create_task(world.control("bridge", "/instructions?wait=20", method="GET"))
        await asyncio.sleep(0.1)
        await world.parts.store.write(instructions.add, "i", "resume", {}, world.time.now)

        answer = await asyncio.wait_for(waiting, 5)

        assert '"resume"' in answer.text
        assert (await world.control("bridge", "/instructions?wait=26", method="GET")).status_code == 400
