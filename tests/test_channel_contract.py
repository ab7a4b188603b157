"""What every channel promises, over its platform: the same tests for all of them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bridge.channels.contract import ChannelTrouble
from bridge.deliver import deliver_waiting

from .channel_labs import LABS, Lab
from .channel_world import World, a_world

OUTSIDE = [name for name in LABS if name != "console"]
"""The console is the owner's own: no strangers, nothing unreadable, no platform between."""


@pytest.fixture(params=LABS)
async def lab(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Lab]:
    async with LABS[request.param](tmp_path, lambda: request.getfixturevalue("synapse")) as lab:
        yield lab


@pytest.fixture
async def world(lab: Lab, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, lab.open()) as world:
        await world.pair(lab.chat, lab.sender)
        if lab.begins_quiet:
            await world.poll()
        yield world


PLATFORMS = [name for name in OUTSIDE if name != "webhook"]
"""The webhook refuses what it cannot read at once, and listens itself: nobody is there to be away."""

only_platforms = pytest.mark.parametrize("lab", PLATFORMS, indirect=True)
only_outside = pytest.mark.parametrize("lab", OUTSIDE, indirect=True)


async def test_a_message_is_answered_once_and_the_answer_is_known_to_have_arrived(lab: Lab, world: World) -> None:
    await lab.say("你好 😀")

    await world.round()

    assert lab.delivered() == ["You said: 你好 😀"]
    assert set(await world.states()) <= {"sent", "accepted"}


async def test_what_was_polled_but_not_kept_comes_again(lab: Lab, world: World) -> None:
    await lab.say("first")
    await world.take()

    await world.restart(lab.open())

    if not lab.replays:
        return  # The platform lets go of what it has delivered; docs/channels.md says so.
    await world.round()
    assert lab.delivered() == ["You said: first"]


async def test_what_was_kept_is_not_answered_again_after_a_crash(lab: Lab, world: World) -> None:
    await lab.say("first")
    await world.round()

    await world.restart(lab.open())
    await lab.say("second")
    for _ in range(3):
        if len(lab.delivered()) < 2:
            await world.round()

    assert lab.delivered() == ["You said: first", "You said: second"]


async def test_a_message_that_comes_again_is_not_answered_again(lab: Lab, world: World) -> None:
    await lab.say("once")
    await world.round()

    await lab.bring_again("once")
    await lab.say("next")
    for _ in range(3):
        if len(lab.delivered()) < 2:
            await world.round()

    assert lab.delivered() == ["You said: once", "You said: next"]
    assert world.counted["duplicate"] >= 1


async def test_a_message_that_comes_again_changed_is_a_conflict_and_no_turn(lab: Lab, world: World) -> None:
    await lab.say("pay 10")
    await world.round()

    await lab.bring_again("pay 1000")
    while not world.counted["conflict"]:
        await world.poll()

    assert await world.answer() == 0
    assert lab.delivered() == ["You said: pay 10"]


@only_platforms
async def test_an_unreadable_update_is_set_aside_and_the_batch_goes_on(lab: Lab, world: World) -> None:
    await lab.bring_poison()
    await lab.say("after it")

    while not world.counted["accepted"]:
        await world.round()

    assert lab.delivered() == ["You said: after it"]
    assert "poison" in await world.outcomes()


@only_outside
async def test_half_a_character_does_not_stop_the_channel(lab: Lab, world: World) -> None:
    await lab.say("bad \ud83d half")
    await lab.say("good \0 text")

    while not world.counted["accepted"]:
        await world.round()

    assert lab.delivered()[-1] == "You said: good \ufffd text"


@only_outside
async def test_a_stranger_is_noted_without_text_and_not_answered_as_a_friend(lab: Lab, world: World) -> None:
    await lab.say_as_stranger("secret words of a stranger")

    while not world.counted["stranger"]:
        await world.poll()

    assert await world.answer() == 0
    assert b"secret words" not in (world.folder / "bridge.db").read_bytes()


@only_outside
async def test_what_is_not_text_gets_one_polite_line(lab: Lab, world: World) -> None:
    await lab.say(None)

    while not world.counted["accepted"]:
        await world.round()

    assert len(lab.delivered()) == 1 and "text" in lab.delivered()[0]


@only_outside
async def test_every_fault_of_a_send_ends_in_its_state(lab: Lab, world: World) -> None:
    for fault, state in lab.faults.items():
        before = len(await world.states())
        lab.break_send(fault)
        await lab.say(f"under {fault}")
        while len(await world.states()) == before:
            await world.round()

        assert (await world.states())[-1] == state, fault
        arrived = lab.delivered().count(f"You said: under {fault}")
        assert arrived <= 1, f"{fault}: sent {arrived} times"
        assert state not in ("sent", "accepted") or arrived == 1, fault


@only_platforms
async def test_a_platform_that_is_away_for_a_while_loses_nothing(lab: Lab, world: World) -> None:
    await lab.say("before the outage")
    await world.poll()
    await world.answer()

    await lab.go_away()
    with pytest.raises(ChannelTrouble, match="cannot be reached"):
        await world.take()
    with pytest.raises(AssertionError, match="still something to deliver"):
        await world.deliver(most=2)
    assert await world.states() == ["intent"]
    await lab.come_back()

    await world.deliver()
    assert lab.delivered() == ["You said: before the outage"]


async def test_long_answers_go_in_parts_in_order(lab: Lab, world: World) -> None:
    text = "".join(f"第{number:03}句话在这里。" for number in range(500))
    await lab.say(text)

    await world.round()

    assert len(lab.delivered()) > (0 if world.channel.capabilities.limit > 6000 else 1)
    assert "".join(lab.delivered()) == f"You said: {text}"


async def test_two_sends_keep_the_pace_the_channel_asks_for(lab: Lab, world: World) -> None:
    await lab.say("word " * 2_400)
    await world.poll()
    await world.answer()
    delivering = world.delivering()

    wait_ms = await deliver_waiting(delivering, world.channel)

    pace_ms = world.channel.capabilities.pace_ms
    assert wait_ms is not None and wait_ms > pace_ms - 500
    if pace_ms >= 1_000:
        await deliver_waiting(delivering, world.channel)
        assert (await world.states()).count("intent") == len(await world.states()) - 1, "the second waits"


async def test_a_poll_can_be_stopped_at_any_moment(lab: Lab, world: World) -> None:
    polling = asyncio.ensure_future(world.take())
    await asyncio.sleep(0.05)

    polling.cancel()

    with pytest.raises(asyncio.CancelledError):
        await polling
    await lab.say("after the stop")
    await world.round()
    assert lab.delivered() == ["You said: after the stop"]
