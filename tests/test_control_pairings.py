"""Pairings over the control API: the command line's part of it."""

from pathlib import Path

from core.control import messages as m
from tests.desk_world import DeskWorld, a_desk
from website.store import audit


async def a_code(world: DeskWorld, **wish: object) -> m.PairingCode:
    answer = await world.control("bridge", "/pairings/codes", m.PairingWish.model_validate(wish))
    assert answer.status_code == 200, answer.text
    return m.PairingCode.model_validate_json(answer.content)


async def claim(world: DeskWorld, code: str, *, group: bool = False) -> m.PairingAnswer:
    asked = m.PairingClaim(code=code, account="telegram:1", chat="-5" if group else "7", sender="7", group=group)
    answer = await world.control("bridge", "/pairings", asked)
    return m.PairingAnswer.model_validate_json(answer.content)


async def listed(world: DeskWorld) -> tuple[m.Binding, ...]:
    answer = await world.control("bridge", "/pairings", method="GET")
    assert answer.status_code == 200, answer.text
    return m.Pairings.model_validate_json(answer.content).pairings


async def test_a_code_pairs_once_and_the_pairing_can_be_ended(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        made = await a_code(world, role="guest")
        answer = await claim(world, made.code)
        assert answer.binding is not None and answer.binding.role == "guest"
        assert answer.binding in await listed(world)

        path = f"/pairings/{answer.binding.id}/revoke"
        assert (await world.control("bridge", path)).status_code == 204
        assert (await world.control("bridge", path)).status_code == 404
        assert answer.binding not in await listed(world)
        assert (await claim(world, made.code)).binding is None


async def test_a_code_opens_a_group_only_when_made_for_its_chat(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        direct = await a_code(world)
        assert (await claim(world, direct.code, group=True)).reason == "not_for_groups"
        opened = await a_code(world, account="telegram:1", chat="-5")
        assert (await claim(world, opened.code, group=True)).binding is not None


async def test_only_the_bridges_key_may_and_every_deed_is_in_the_audit(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        for path, method in (("/pairings", "GET"), ("/pairings/codes", "POST"), ("/pairings/x/revoke", "POST")):
            assert (await world.control("digest", path, b"{}", method=method)).status_code == 403, path
        assert (await world.control("bridge", "/pairings/codes", b'{"role":"admin"}')).status_code == 400
        assert (await world.control("bridge", "/pairings/codes", b'{"chat":"only"}')).status_code == 400

        await a_code(world)

        lines = await world.parts.store.read(audit.newest, 2**62, 5)
        assert (lines[0].deed.actor, lines[0].deed.action) == ("cli", "made_pairing_code")
