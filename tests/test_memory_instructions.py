"""The owner's word from the site: forget and edit are carried out once, and what cannot be is said."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.deliver import Delivering
from bridge.gateway import find_capabilities
from bridge.instructions import Instructing, carry_out
from core.control.client import ControlClient
from core.control.messages import Instruction
from core.control.signing import ControlKey
from core.ids import new_ulid
from tests.memory_world import MemoryWorld, a_memory, after


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[MemoryWorld]:
    async with a_memory(tmp_path) as world:
        yield world


async def told(world: MemoryWorld, id_: str, kind: str, **body: str) -> str:
    control = ControlClient("http://127.0.0.1:9", ControlKey("k", "bridge", b"s" * 32), lambda: after(days=2))
    async with control:
        delivering = Delivering(world.store, world.settings, lambda: after(days=2), new_ulid, find_capabilities([]))
        parts = Instructing(world.store, control, delivering, lambda: after(days=2))
        instruction = Instruction.model_validate({"id": id_, "kind": kind, "body": body})
        return await world.store.write(carry_out, parts, instruction, after(days=2))


async def test_the_site_can_have_words_forgotten_and_hears_how_many(world: MemoryWorld) -> None:
    trace = await world.say("备用钥匙在第三个花盆下面", after())
    keys = json.dumps([trace, "nobody"])

    assert await told(world, "i1", "forget", sources=keys) == "forgotten: 1 messages, 0 replies"
    assert await told(world, "i1", "forget", sources=keys) == "forgotten: 1 messages, 0 replies"
    assert await told(world, "i2", "forget", sources=keys) == "forgotten: 0 messages, 0 replies"
    assert (await told(world, "i3", "forget", sources="{")).startswith("not done")
    assert (await told(world, "i4", "forget", sources="7")) == "not done: sources must be a JSON array of keys"
    assert await world.scalar("SELECT text FROM messages") == ""


async def test_the_site_can_edit_and_take_back_a_preference(world: MemoryWorld) -> None:
    await world.say("我喜欢黑咖啡", after())

    assert await told(world, "i1", "edit_preference", preference="1", text="我喜欢淡咖啡") == "done"
    assert await world.stated(after(days=3)) == ["我喜欢淡咖啡"]
    assert await told(world, "i2", "edit_preference", preference="2") == "done"
    assert await world.stated(after(days=3)) == ["我喜欢黑咖啡"]
    assert (await told(world, "i3", "edit_preference", preference="x", text="y")).startswith("not done")
