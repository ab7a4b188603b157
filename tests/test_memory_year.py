"""A year of imported talk: what holds after a correction, what is gone, who said it, whose it is, after a rebuild too."""

import random
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.memory.forget import forget_messages
from bridge.memory.import_formats import ImportedLine
from bridge.memory.naming import messages_named
from bridge.memory.scopes import APART
from core.ids import ConversationId
from tests.memory_world import MemoryWorld, a_memory, after, line

DAILY = (
    "今天走了运河那一圈，风很大",
    "备份脚本又跑了一遍，没有问题",
    "读了二十页书，讲城市里的树",
    "Fixed the rear wheel again, it rubs less now",
    "The bakery had rye bread today",
    "晚饭是番茄面，放多了盐",
)
ANSWERS = ("听起来不错。", "You like rye bread most of all, I think.", "你最讨厌的就是下雨天吧。", "Good.")
SAID = {
    "name": (20, "以后请叫我林夕"),
    "colour": (40, "My favourite colour is green."),
    "birthday": (60, "记住，我妹妹的生日是五月三号"),
    "diet": (80, "我对花生过敏"),
    "key": (100, "备用钥匙在邻居老周那里，蓝色的信封"),
    "new name": (200, "别叫我林夕了，叫我阿夕"),
    "new colour": (240, "Actually my favourite colour is blue, not green."),
    "birthday again": (250, "我妹妹的生日不是五月三号，是五月四号"),
}
LAST = 365


def a_year(chance: random.Random) -> list[ImportedLine]:
    lines = []
    for day in range(LAST):
        lines.append(line(10 * day, f"{chance.choice(DAILY)}（第 {day} 天）", after(days=day)))
        lines.append(line(10 * day + 1, chance.choice(ANSWERS), after(days=day, minutes=1), "persona"))
        if day % 9 == 0:
            lines.append(
                line(10 * day + 2, "Call me Boss. I hate tea.", after(days=day, minutes=2), "other", name="Bo")
            )
    lines += [line(10 * day + 5, text, after(days=day, minutes=5)) for day, text in SAID.values()]
    return lines


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[MemoryWorld]:
    async with a_memory(tmp_path) as world:
        await world.import_(a_year(random.Random(5)))
        someone = [line(1, "我的保险箱密码是三七二十一", after(days=50)), line(2, "叫我大王", after(days=60))]
        await world.import_(someone, APART)
        yield world


async def found(world: MemoryWorld, text: str) -> list[str]:
    return [record.text for record in (await world.ask(text, after(days=LAST + 1))).material.related]


async def test_after_a_correction_the_right_preference_holds(world: MemoryWorld) -> None:
    stated = await world.stated(after(days=LAST + 1))

    assert "别叫我林夕了，叫我阿夕" in stated and "以后请叫我林夕" not in stated
    assert (
        "Actually my favourite colour is blue, not green." in stated and "My favourite colour is green." not in stated
    )
    assert "我对花生过敏" in stated
    assert "记住，我妹妹的生日是五月三号\n我妹妹的生日不是五月三号，是五月四号" in stated


async def test_before_the_correction_the_old_one_held(world: MemoryWorld) -> None:
    stated = await world.stated(after(days=150))

    assert "以后请叫我林夕" in stated and "My favourite colour is green." in stated


async def test_what_the_persona_and_others_said_is_no_fact_about_the_person(world: MemoryWorld) -> None:
    stated = " ".join(await world.stated(after(days=LAST + 1)))

    assert "rye bread most" not in stated and "下雨天" not in stated
    assert "Boss" not in stated and "tea" not in stated
    composed = await world.ask("我最讨厌什么？", after(days=LAST + 1))
    assert all(record.who == "persona" for record in composed.material.related if "下雨天" in record.text)
    assert all("下雨天" not in quote.text for quote in composed.request.quotes)


async def test_nobody_elses_words_are_recalled(world: MemoryWorld) -> None:
    composed = await world.ask("保险箱密码是什么？叫我什么？", after(days=LAST + 1))

    body = composed.request.body.decode()
    assert "三七二十一" not in body and "大王" not in body
    guest: ConversationId = await world.open("telegram:1", "9", "guest")
    theirs = await world.ask("备用钥匙在谁那里？", after(days=LAST + 1), guest)
    assert "老周" not in theirs.request.body.decode() and theirs.material.nothing_found


async def test_after_forgetting_there_is_nothing(world: MemoryWorld) -> None:
    assert SAID["key"][1] in await found(world, "备用钥匙在谁那里？")
    named = await world.store.read(messages_named, [str(10 * 100 + 5)], "old")

    await world.store.write(forget_messages, named, after(days=LAST + 1))
    await world.index.rebuild()

    composed = await world.ask("备用钥匙在谁那里？", after(days=LAST + 2))
    assert "老周" not in composed.request.body.decode()
    assert world.files_hold("邻居老周") == []


async def test_the_answers_are_the_same_after_the_index_was_deleted_and_built_anew(world: MemoryWorld) -> None:
    asked = ("备用钥匙在谁那里？", "what is my favourite colour?", "妹妹的生日？", "rear wheel", "4月7号我做了什么？")
    before = [await found(world, text) for text in asked]
    assert all(before)
    await world.index.settle()

    shutil.rmtree(world.folder / "index")
    await world.index.catch_up()
    await world.index.rebuild()

    assert [await found(world, text) for text in asked] == before
