"""Matrix's own rules, over a real Synapse: gaps, invitations, transaction ids, encryption, edits, groups."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bridge.channels.contract import ChannelStopped, ChannelTrouble, Outgoing, Poison, Sent, Update, UpdateKind
from bridge.channels.matrix import MatrixChannel
from bridge.channels.matrix_events import Room, inviter_of, read_events
from bridge.prove import Proving, prove_unknown
from core.errors import SettingsError
from core.ids import ChatId
from core.settings import Matrix

from .channel_labs import MatrixLab
from .channel_world import World, a_world
from .fakes.matrix_proxy import MatrixProxy
from .synapse import Synapse, User

ME = "@persona:localhost"


@pytest.fixture
async def lab(synapse: Synapse, tmp_path: Path) -> AsyncIterator[MatrixLab]:
    async with MatrixProxy(tmp_path / "matrix.log", synapse.base_url) as proxy:
        yield MatrixLab(proxy, synapse)


@pytest.fixture
async def world(lab: MatrixLab, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, lab.open()) as world:
        await world.pair(lab.chat, lab.sender)
        yield world


async def until(world: World, done: Callable[[], bool]) -> None:
    for _ in range(20):
        if done():
            return
        await world.round()
    raise AssertionError(f"it did not come to that: {world.counted}")


# --- receiving -------------------------------------------------------------------------------------------------------


async def test_history_before_the_first_start_is_not_answered(lab: MatrixLab, world: World) -> None:
    lab.friend.say(lab.chat, "long ago")
    await world.round()
    lab.friend.say(lab.chat, "now")
    await until(world, lambda: bool(lab.delivered()))
    assert lab.delivered() == ["You said: now"]


async def test_a_gap_after_an_absence_is_filled_without_loss_and_in_order(lab: MatrixLab, world: World) -> None:
    await world.poll()
    said = [f"message {number:03}" for number in range(170)]
    for text in said:
        lab.friend.say(lab.chat, text)

    await world.restart(lab.open())
    batch = await world.take()

    texts = [update.text for update in batch.updates if isinstance(update, Update)]
    assert texts == said
    await world.keep(batch)
    assert await world.answer() == 1, "a backlog is one turn"


async def test_our_own_words_are_not_heard(lab: MatrixLab, world: World) -> None:
    await world.poll()
    lab.friend.say(lab.chat, "hi")
    await until(world, lambda: bool(lab.delivered()))
    await world.poll()
    assert world.counted["accepted"] == 1
    assert await world.outcomes() == ["accepted"]


async def test_edits_and_deletions_change_their_message_and_start_no_turn(lab: MatrixLab, world: World) -> None:
    await world.poll()
    event = lab.friend.say(lab.chat, "teh cat")
    await until(world, lambda: bool(lab.delivered()))
    new = {"m.new_content": {"msgtype": "m.text", "body": "the cat"}}
    relation = {"m.relates_to": {"rel_type": "m.replace", "event_id": event}}
    lab.friend.say(lab.chat, "* the cat", **new, **relation)
    lab.friend.redact(lab.chat, event)
    await until(world, lambda: world.counted["accepted"] == 3)
    assert lab.delivered() == ["You said: teh cat"]


# --- rooms -----------------------------------------------------------------------------------------------------------


async def test_only_listed_people_can_invite_and_what_was_said_before_is_not_answered(
    lab: MatrixLab, world: World
) -> None:
    await world.poll()
    welcome = lab.friend.make_room(lab.persona)
    lab.friend.say(welcome, "before you came")
    unwelcome = lab.other.make_room(lab.persona)
    await world.poll()
    lab.friend.say(welcome, "after you came")

    await world.pair(welcome, lab.friend.id)
    await until(world, lambda: world.counted["accepted"] > 0)

    joined = lab.persona.call("GET", "/joined_rooms")["joined_rooms"]
    assert isinstance(joined, list)
    assert welcome in joined and unwelcome not in joined
    assert lab.friend.heard(welcome, lab.persona) == ["You said: after you came"]


async def test_an_invitation_that_cannot_be_followed_now_is_not_lost(lab: MatrixLab, world: World) -> None:
    await world.poll()
    room = lab.friend.make_room(lab.persona)
    lab.server.break_next("join", "lie_500")
    with pytest.raises(ChannelTrouble, match="invitation"):
        await world.take()
    await world.poll()
    joined = lab.persona.call("GET", "/joined_rooms")["joined_rooms"]
    assert isinstance(joined, list) and room in joined


async def test_nothing_is_sent_into_an_encrypted_room(lab: MatrixLab, world: World) -> None:
    room = lab.friend.make_room(lab.persona, encrypted=True)
    lab.persona.join(room)
    outcome = await world.channel.send(Outgoing(ChatId(room), "secret", "t-1"))
    assert outcome.kind is Sent.REFUSED
    assert "encrypted" in outcome.reason
    assert lab.friend.heard(room, lab.persona) == []


async def test_a_room_that_turns_encrypted_is_refused_from_then_on(lab: MatrixLab, world: World) -> None:
    assert (await world.channel.send(Outgoing(ChatId(lab.chat), "open", "t-1"))).kind is Sent.SENT
    path = f"/rooms/{lab.chat}/state/m.room.encryption"
    lab.friend.call("PUT", path, {"algorithm": "m.megolm.v1.aes-sha2"})
    assert (await world.channel.send(Outgoing(ChatId(lab.chat), "closed", "t-2"))).kind is Sent.REFUSED


async def test_a_room_we_are_not_in_is_a_refusal(lab: MatrixLab, world: World) -> None:
    room = lab.friend.make_room()
    outcome = await world.channel.send(Outgoing(ChatId(room), "x", "t-1"))
    assert (outcome.kind, "not in that room" in outcome.reason) == (Sent.REFUSED, True)


async def test_with_several_people_only_a_mention_speaks_to_us(lab: MatrixLab, world: World, synapse: Synapse) -> None:
    third = synapse.new_user("third")
    lab.friend.call("POST", f"/rooms/{lab.chat}/invite", {"user_id": third.id})
    third.join(lab.chat)
    await world.poll()
    lab.friend.say(lab.chat, "just between us")
    lab.friend.say(lab.chat, "persona?", **{"m.mentions": {"user_ids": [lab.persona.id]}})
    await until(world, lambda: bool(lab.delivered()))
    assert world.counted["not_addressed"] == 1
    assert lab.delivered() == ["You said: persona?"]


# --- sending ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["drop_before", "drop_after", "lie_500"])
async def test_an_unclear_send_is_cleared_up_and_heard_once(lab: MatrixLab, world: World, fault: str) -> None:
    await world.poll()
    lab.server.break_next("send", fault)
    lab.friend.say(lab.chat, "x" * 15_000 + " end of it")
    await until(world, lambda: world.counted["accepted"] > 0)
    assert await world.states() == ["unknown"]

    delivering = world.delivering()
    assert await prove_unknown(Proving(), delivering, world.channel) == 1

    assert await world.states() == ["sent"]
    assert len(lab.delivered()) == 1


async def test_an_unclear_part_that_is_too_old_is_not_tried_again(lab: MatrixLab, world: World) -> None:
    await world.poll()
    lab.server.break_next("send", "drop_before")
    lab.friend.say(lab.chat, "hi")
    await until(world, lambda: world.counted["accepted"] > 0)
    world.ahead_ms += 12 * 3_600_000 + 1

    delivering = world.delivering()
    assert await prove_unknown(Proving(), delivering, world.channel) == 0
    assert lab.delivered() == []


async def test_a_try_that_proves_nothing_leaves_it_unknown_and_the_next_waits(lab: MatrixLab, world: World) -> None:
    await world.poll()
    lab.server.break_next("send", "drop_after", times=2)
    lab.friend.say(lab.chat, "hi")
    await until(world, lambda: world.counted["accepted"] > 0)
    proving = Proving()
    delivering = world.delivering()
    assert [await prove_unknown(proving, delivering, world.channel) for _ in range(3)] == [0, 0, 0]
    assert len(lab.server.noted("put")) == 2
    world.ahead_ms += 6_000
    assert await prove_unknown(proving, delivering, world.channel) == 1
    assert len(lab.delivered()) == 1


async def test_what_is_said_is_a_notice(lab: MatrixLab, world: World) -> None:
    await world.channel.send(Outgoing(ChatId(lab.chat), "hello", "t-1"))
    chunk = lab.friend.call("GET", f"/rooms/{lab.chat}/messages?dir=b&limit=1")["chunk"]
    assert isinstance(chunk, list)
    assert chunk[0]["content"]["msgtype"] == "m.notice"


async def test_a_new_token_of_the_account_goes_on_where_the_old_one_was(lab: MatrixLab, world: World) -> None:
    await world.poll()
    lab.friend.say(lab.chat, "while the token was changed")
    login = {"type": "m.login.password", "identifier": {"type": "m.id.user", "user": lab.persona.id}, "password": "pw"}
    again = lab.persona.call("POST", "/login", {**login, "device_id": lab.persona.device})

    await world.restart(a_channel(lab, token=SecretStr(str(again["access_token"]))))
    await world.round()

    assert lab.delivered() == ["You said: while the token was changed"]


# --- accounts --------------------------------------------------------------------------------------------------------


def a_channel(lab: MatrixLab, **more: object) -> MatrixChannel:
    return MatrixChannel(lab.settings().model_copy(update=more), hold_s=0.3)


async def test_a_refused_token_stops_the_channel_and_names_no_token(lab: MatrixLab) -> None:
    channel = a_channel(lab, token=SecretStr("canary-token"))
    with pytest.raises(ChannelStopped, match="refuses the token") as stopped:
        await channel.poll(None)
    outcome = await channel.send(Outgoing(ChatId(lab.chat), "x", "t"))
    await channel.close()
    assert outcome.kind is Sent.NOT_SENT
    assert "canary" not in str(stopped.value) + channel.health().detail + outcome.reason


@pytest.mark.parametrize("wrong", [{"device": "ANOTHER"}, {"user": "@nobody:localhost"}])
async def test_a_token_of_another_device_or_account_is_named(lab: MatrixLab, wrong: dict[str, object]) -> None:
    channel = a_channel(lab, **wrong)
    with pytest.raises(ChannelStopped, match="the matrix token belongs to"):
        await channel.poll(None)
    await channel.close()


@pytest.mark.parametrize("user", ["", "persona", "@persona"])
def test_settings_without_a_full_user_id_are_refused(user: str) -> None:
    with pytest.raises(SettingsError, match="full user id"):
        MatrixChannel(Matrix(base_url="http://127.0.0.1:1", user=user, token=SecretStr("t")))


# --- events, pure ----------------------------------------------------------------------------------------------------


def test_encrypted_words_are_seen_and_not_read() -> None:
    event: dict[str, object] = {"type": "m.room.encrypted", "event_id": "$1", "sender": "@a:x", "content": {}}
    (update,) = read_events([event], Room("!r:x", False), ME)
    assert isinstance(update, Update)
    assert (update.kind, update.text) == (UpdateKind.OTHER, None)


def test_an_invitation_without_an_inviter_names_nobody() -> None:
    assert inviter_of({}, ME) is None
    assert (
        inviter_of({"invite_state": {"events": [{"type": "m.room.member", "state_key": ME, "sender": 7}]}}, ME) is None
    )


@given(
    st.recursive(
        st.none() | st.integers() | st.sampled_from(["m.room.message", "m.text", "m.replace", "@a:x", "\ud800"]),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(
                    ["type", "event_id", "sender", "content", "body", "msgtype", "m.relates_to", "rel_type", "redacts"]
                ),
                inner,
                max_size=6,
            )
            | st.lists(inner, max_size=2)
        ),
        max_leaves=14,
    )
)
def test_whatever_an_event_holds_it_is_read_or_set_aside(content: object) -> None:
    event: dict[str, object] = {"type": "m.room.message", "event_id": "$1", "sender": "@a:x", "content": content}
    for found in read_events([event], Room("!r:x", True), ME):
        assert isinstance(found, Update | Poison)
        found.body.encode()


def test_a_user_is_what_the_tests_think(synapse: Synapse) -> None:
    user: User = synapse.new_user("somebody")
    assert user.call("GET", "/account/whoami")["device_id"] == user.device
