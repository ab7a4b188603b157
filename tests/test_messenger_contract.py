"""What every channel keeps to. A new one gets a line in `CHANNELS` with its fake."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from bridge.channels.console import ConsoleChannel
from bridge.channels.contract import Batch, Channel, Outgoing, SendOutcome, Sent, Update, UpdateKind
from core.clock import Instant
from core.ids import ChatId, EventKey, SenderId
from tests.fakes.messenger import Platform

from .crash.world import a_world

PART = Outgoing(ChatId("ann"), "你好", "pf-1-1", answers="m1")


@dataclass
class Rig:
    """A channel beside what stands for its platform."""

    channel: Channel
    say: Callable[[str, str], Awaitable[None]]
    shown: Callable[[], list[str]]


def a_fake(folder: Path) -> Rig:
    platform = Platform(folder)

    async def say(key: str, text: str) -> None:
        platform.push(Update(EventKey(key), UpdateKind.MESSAGE, ChatId("ann"), SenderId("ann"), '{"raw": 1}', text))

    return Rig(platform, say, lambda: platform.texts)


def a_console(_folder: Path) -> Rig:
    channel = ConsoleChannel(lambda: Instant(1))
    shown: list[str] = []

    async def push(frame: dict[str, object]) -> None:
        if "text" in frame:
            shown.append(str(frame["text"]))
            await channel.hear(terminal, json.dumps({"shown": frame["id"]}))

    terminal = channel.open_terminal(push)

    async def say(key: str, text: str) -> None:
        assert await channel.hear(terminal, json.dumps({"id": key, "text": text})) is None

    return Rig(channel, say, lambda: shown)


CHANNELS = {"fake": a_fake, "console": a_console}


@pytest.fixture(params=CHANNELS)
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> Rig:
    return CHANNELS[request.param](tmp_path)


def keys(batch: Batch) -> list[str]:
    return [update.event_key for update in batch.updates]


async def test_a_poll_brings_what_was_said_with_a_cursor(rig: Rig) -> None:
    await rig.say("message-1", "你好")

    batch = await asyncio.wait_for(rig.channel.poll(None), 5)

    update = batch.updates[0]
    assert isinstance(update, Update)
    assert (update.event_key, update.text) == ("message-1", "你好")
    assert json.loads(update.body)
    assert batch.cursor


async def test_what_was_not_kept_comes_again(rig: Rig) -> None:
    await rig.say("message-1", "one")
    first = await asyncio.wait_for(rig.channel.poll(None), 5)
    await rig.say("message-2", "two")

    again = await asyncio.wait_for(rig.channel.poll(None), 5)
    later = await asyncio.wait_for(rig.channel.poll(first.cursor), 5) if keys(again) == ["message-1"] else again

    assert keys(again)[0] == "message-1"
    assert "message-2" in keys(again) + keys(later)


async def test_what_was_kept_does_not_come_again(rig: Rig) -> None:
    await rig.say("message-1", "one")
    first = await asyncio.wait_for(rig.channel.poll(None), 5)
    await rig.say("message-2", "two")

    second = await asyncio.wait_for(rig.channel.poll(first.cursor), 5)

    assert keys(second) == ["message-2"]


async def test_a_send_that_arrived_says_what_its_yes_is_worth(rig: Rig) -> None:
    outcome = await rig.channel.send(PART)

    assert outcome.kind in (Sent.SENT, Sent.ACCEPTED)
    assert (outcome.platform_id is not None) == (outcome.kind is Sent.SENT)
    assert rig.shown() == ["你好"]


async def test_its_limits_can_be_kept(rig: Rig) -> None:
    capabilities = rig.channel.capabilities

    assert capabilities.limit > 0
    assert capabilities.max_parts >= 1
    assert capabilities.expire_ms > 0
    assert rig.channel.account.partition(":")[2]
    assert rig.channel.fingerprint


async def test_closing_twice_is_fine(rig: Rig) -> None:
    await rig.channel.close()
    await rig.channel.close()


def test_sent_without_an_id_cannot_be_said() -> None:
    with pytest.raises(AssertionError):
        SendOutcome(Sent.SENT)
    with pytest.raises(AssertionError):
        SendOutcome(Sent.ACCEPTED, platform_id="7")


async def test_a_terminal_is_told_kept_only_after_the_commit(tmp_path: Path) -> None:
    frames: list[dict[str, object]] = []

    async def push(frame: dict[str, object]) -> None:
        frames.append(frame)

    channel = ConsoleChannel(lambda: Instant(1))
    terminal = channel.open_terminal(push)
    await channel.hear(terminal, '{"id": "message-1", "text": "one"}')
    first = await channel.poll(None)
    await channel.poll(None)
    assert frames == []

    await channel.hear(terminal, '{"id": "message-2", "text": "two"}')
    await channel.poll((await channel.poll(None)).cursor if not first.cursor else first.cursor)
    assert [frame.get("kept") for frame in frames] == ["message-1"]


async def test_the_console_without_a_terminal_sends_nothing(tmp_path: Path) -> None:
    channel = ConsoleChannel(lambda: Instant(1))

    assert (await channel.send(PART)).kind is Sent.NOT_SENT
    assert not channel.health().sending


@pytest.mark.parametrize(
    "frame", ["", "{", "[]", "7", '{"id": "x", "text": "hi"}', '{"id": "long enough", "text": ""}', '{"shown": 7}']
)
async def test_a_frame_that_is_none_is_told_what_is_wrong(frame: str) -> None:
    async def push(_frame: dict[str, object]) -> None:
        return None

    channel = ConsoleChannel(lambda: Instant(1))

    assert "not understood" in (await channel.hear(channel.open_terminal(push), frame) or "")


async def test_the_bridge_talks_over_the_fake(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.say("hello")
        await world.settle()

        assert world.platform.texts == ["answer to: hello"]
