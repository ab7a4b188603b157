"""Promises of `bridge/memory/index.py`: findable at once, never fatal, rebuilt by itself, the same after a rebuild."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.lexical.entry import LexicalLocked
from core.lexical.index import LexicalIndex
from tests.memory_world import MemoryWorld, a_memory, after, line

SAID = "房东的电话写在冰箱门上的便签里"
ASKED = "房东的电话写在哪里？"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[MemoryWorld]:
    async with a_memory(tmp_path) as world:
        await world.say(SAID, after())
        for number in range(20):
            await world.say(f"第 {number} 天没什么可说的，散步，看书", after(days=number + 1))
        yield world


async def told(world: MemoryWorld) -> list[str]:
    return [record.text for record in (await world.ask(ASKED, after(days=40))).material.related]


async def mended(world: MemoryWorld) -> None:
    for _ in range(200):
        await world.index.keep_up()
        if world.index.failure is None:
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"the index was not mended: {world.index.failure}")


async def test_an_accepted_message_is_findable_at_once(world: MemoryWorld) -> None:
    assert SAID in await told(world)


async def test_an_index_deleted_while_in_use_is_said_and_built_anew_while_the_chat_goes_on(world: MemoryWorld) -> None:
    before = await told(world)
    await world.index.settle()
    shutil.rmtree(world.folder / "index")

    without = await world.ask(ASKED, after(days=40))
    assert world.index.failure is not None and "gone" in str(world.index.failure)
    assert without.material.related == () and without.material.nothing_found
    assert len(without.material.exchanges) == world.settings.bridge.recent_turns

    await mended(world)
    assert await told(world) == before


async def test_a_damaged_index_is_built_anew_at_the_next_start(tmp_path: Path) -> None:
    async with a_memory(tmp_path) as world:
        await world.say(SAID, after())
        await world.index.settle()
    for file in (tmp_path / "index" / "memory").glob("meta.json"):
        file.write_bytes(b"{ not an index")

    async with a_memory(tmp_path) as world:
        assert world.index.failure is not None
        await mended(world)
        for number in range(13):
            await world.say(f"散步 {number}", after(days=number + 1))
        assert SAID in await told(world)


async def test_another_programs_index_is_left_alone_until_it_is_free(tmp_path: Path) -> None:
    other = LexicalIndex.open(tmp_path / "index" / "memory", writable=True)

    async with a_memory(tmp_path) as world:
        assert isinstance(world.index.failure, LexicalLocked)
        await world.say(SAID, after())
        assert (await world.ask(ASKED, after(days=1))).material.nothing_found
        other.close()
        await mended(world)


async def test_a_rebuilt_index_tells_the_same_as_the_one_before(world: MemoryWorld) -> None:
    before = [(record.key, record.why) for record in (await world.ask(ASKED, after(days=40))).material.related]

    await world.index.rebuild()

    after_ = [(record.key, record.why) for record in (await world.ask(ASKED, after(days=40))).material.related]
    assert [key for key, _ in before] == [key for key, _ in after_]
    for (_, old), (_, new) in zip(before, after_, strict=True):
        assert old == pytest.approx(new, abs=1e-3)


async def test_leaving_during_a_rebuild_leaves_a_store_and_an_index_that_open_again(tmp_path: Path) -> None:
    async with a_memory(tmp_path) as world:
        await world.say(SAID, after())
        rebuilding = asyncio.create_task(world.index.rebuild())
        await asyncio.sleep(0)
    rebuilding.cancel()
    await asyncio.gather(rebuilding, return_exceptions=True)

    async with a_memory(tmp_path) as world:
        for number in range(13):
            await world.say(f"散步 {number}", after(days=number + 1))
        assert SAID in await told(world)


async def test_a_guest_and_a_group_recall_only_their_own_conversation(world: MemoryWorld) -> None:
    await world.import_([line(1, "我的存折放在书架后面", after())])
    guest = await world.open("telegram:1", "77", "guest")

    mine = await world.ask("存折放在哪里？", after(days=40))
    theirs = await world.ask("存折放在哪里？", after(days=40), guest)

    assert "我的存折放在书架后面" in [record.text for record in mine.material.related]
    assert theirs.material.nothing_found and "存折放在书架" not in theirs.request.body.decode()


async def test_keeping_up_without_news_changes_nothing(world: MemoryWorld) -> None:
    await world.index.settle()

    assert await world.index.keep_up() > 0
    assert world.index.failure is None and not list(world.folder.rglob("*.erased"))
