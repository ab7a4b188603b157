"""Promises of `penfriend memory import`: three forms in zh and en, once whatever happens, marked, nobody mixed up."""

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.memory.import_formats import ExportFacts, ImportedLine, Read, Unreadable, format_of, read_lines
from bridge.memory.imports import Imported
from bridge.memory.scopes import APART
from core.clock import local_time
from core.errors import BadInput
from tests.memory_world import SHANGHAI, MemoryWorld, a_memory, after, line

FACTS = ExportFacts("group", "林夕", SHANGHAI)
IOS = "[2024/5/1 下午9:00:11] 林夕: 晚上好\n第二行: 还是我\n[2024/5/1 21:00:20] ~ Ann: hi: there\n\u200e[2024/5/2 00:01:00] 消息和通话已进行端到端加密\n"
ANDROID = "1/5/24, 9:00 PM - 林夕: 晚上好\n25/5/24, 12:05 am - Ann: <Media omitted>\n25/5/24, 12:05 am - Ann created the group\n"
TELEGRAM = {
    "name": "Ann",
    "type": "personal_chat",
    "id": 42,
    "messages": [
        {"id": 1, "type": "message", "date": "2024-05-01T21:00:11", "date_unixtime": "1714568411", "from": "林夕",
         "text": ["看 ", {"type": "link", "text": "https://a.example"}, " 这个"]},
        {"id": 2, "type": "service", "date": "2024-05-01T21:01:00", "actor": "Ann", "text": ""},
        {"id": 3, "type": "message", "date": "2024-05-01T21:02:00", "from": "Ann", "text": "ok"},
        {"id": 4, "type": "message", "from": "Ann", "text": "when?"},
    ],
}  # fmt: skip


def read(text: str) -> list[Read]:
    return list(read_lines(format_of(text), io.StringIO(text, newline="\n"), FACTS))


def said(lines: list[Read]) -> list[tuple[str, str | None, str, str]]:
    return [
        (f"{local_time(one.said_at, SHANGHAI):%Y-%m-%d %H:%M:%S}", one.name, one.who, one.text)
        for one in lines
        if isinstance(one, ImportedLine)
    ]


def generic(number: int, **changes: object) -> str:
    one = {
        "chat": "old",
        "id": str(number),
        "who": "person",
        "name": "Lin",
        "at": "2024-05-01T09:00:00+08:00",
        "text": "早",
    }
    return json.dumps({**one, **changes}, ensure_ascii=False) + "\n"


def test_whatsapp_of_ios_in_chinese_is_read_with_lines_that_go_on() -> None:
    assert said(read(IOS)) == [
        ("2024-05-01 21:00:11", "林夕", "person", "晚上好\n第二行: 还是我"),
        ("2024-05-01 21:00:20", "Ann", "other", "hi: there"),
    ]


def test_whatsapp_of_android_in_english_is_read_with_the_day_told_from_the_month() -> None:
    assert said(read(ANDROID)) == [
        ("2024-05-01 21:00:00", "林夕", "person", "晚上好"),
        ("2024-05-25 00:05:00", "Ann", "other", "<Media omitted>"),
    ]


def test_telegram_is_read_with_its_links_and_without_its_service_lines() -> None:
    lines = read(json.dumps(TELEGRAM, ensure_ascii=False, indent=1))

    assert said(lines) == [
        ("2024-05-01 21:00:11", "林夕", "person", "看 https://a.example 这个"),
        ("2024-05-01 21:02:00", "Ann", "other", "ok"),
    ]
    assert [type(one) for one in lines].count(Unreadable) == 1
    assert {one.chat for one in lines if isinstance(one, ImportedLine)} == {"telegram:42"}


@pytest.mark.parametrize(
    "bad",
    [
        "{\n",
        generic(1, at="2024-05-01T09:00:00"),
        generic(1, at="yesterday"),
        generic(1, who="me"),
        generic(1, chat=""),
        generic(1, text=None),
        "[1, 2]\n",
    ],
)
def test_a_line_that_cannot_be_read_is_reported_and_the_others_are_taken(bad: str) -> None:
    first, second, third = read(generic(0) + bad + generic(2))

    assert isinstance(first, ImportedLine) and isinstance(third, ImportedLine)
    assert isinstance(second, Unreadable) and second.line == 2 and second.reason


@pytest.mark.parametrize("text", ["", "hello\nworld\n", "\x00\x01", "<html>"])
def test_a_file_of_no_known_form_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="neither generic JSONL nor"):
        format_of(text)


@given(st.text(max_size=300))
def test_any_text_of_a_message_comes_through_the_generic_form(text: str) -> None:
    [one] = read(generic(1, text=text))

    assert isinstance(one, ImportedLine) and one.text == text


@given(st.text(max_size=200), st.sampled_from([IOS, ANDROID, json.dumps(TELEGRAM)]))
def test_no_damage_to_an_export_breaks_the_reading(noise: str, export: str) -> None:
    middle = len(export) // 2
    with contextlib.suppress(BadInput):
        assert all(
            isinstance(one, ImportedLine | Unreadable) for one in read(export[:middle] + noise + export[middle:])
        )


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[MemoryWorld]:
    async with a_memory(tmp_path) as world:
        yield world


async def test_a_second_import_adds_only_what_is_new(world: MemoryWorld) -> None:
    lines = [line(number, f"第 {number} 句", after(minutes=number)) for number in range(10)]

    assert await world.import_(lines[:6]) == Imported(added=6)
    assert await world.import_(lines) == Imported(added=4, known=6)
    assert await world.import_([line(3, "别的话", after()), line(11, "  ", after())]) == Imported(known=1, empty=1)
    assert await world.scalar("SELECT count(*) FROM messages") == 10
    assert await world.scalar("SELECT count(DISTINCT change) FROM messages") == 10


async def test_the_same_key_in_two_chats_is_two_messages(world: MemoryWorld) -> None:
    done = await world.import_([line(1, "a word", after(), chat="a"), line(1, "another", after(), chat="b")])

    assert done == Imported(added=2)


async def test_sessions_are_those_of_the_talk_and_not_of_the_import(world: MemoryWorld) -> None:
    await world.import_([line(1, "早", after()), line(2, "嗯", after(minutes=5)), line(3, "晚", after(hours=9))])
    await world.import_([line(4, "还在", after(hours=9, minutes=1))])

    in_order = "SELECT group_concat(session) FROM (SELECT session FROM messages ORDER BY said_at_ms)"
    first, second, third, fourth = str(await world.scalar(in_order)).split(",")
    assert first == second != third == fourth


async def test_imported_talk_is_recalled_as_such_and_never_told_to_the_site(world: MemoryWorld) -> None:
    await world.import_([line(1, "备用钥匙在门口第三个花盆下面", after())])

    [record] = (await world.ask("备用钥匙在哪里？", after(days=1))).material.related
    assert record.kind == "imported_said_before" and record.who == "person"
    assert await world.scalar("SELECT count(*) FROM sync_records") == 0


async def test_talk_kept_apart_is_in_no_conversation(world: MemoryWorld) -> None:
    await world.import_([line(1, "备用钥匙在门口第三个花盆下面", after()), line(2, "Call me Bo.", after())], APART)

    asked = await world.ask("备用钥匙在哪里？", after(days=1))
    assert asked.material.nothing_found and asked.material.preferences == ()


def test_an_import_that_is_killed_goes_on_where_it_ended(tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    file.write_text("".join(generic(number, text=f"第 {number} 句话") for number in range(12_000)), "utf-8")
    command = [sys.executable, "-m", "cli", "memory", "import", str(file), "--json"]
    env = {**os.environ, "PENFRIEND_DATA_DIR": str(tmp_path / "data")}

    first = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (tmp_path / "data" / "bridge.db-wal").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)

    facts = json.loads(second.stdout)
    assert facts["added"] + facts["known"] == 12_000
    assert facts["unreadable"] == 0
