"""Telegram's own rules: offsets, two pollers, webhooks, groups, edits, entities, and the token that is never shown."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bridge.channels.contract import ChannelStopped, ChannelTrouble, Outgoing, Poison, Sent, Update, UpdateKind
from bridge.channels.telegram import TelegramChannel
from bridge.channels.telegram_text import with_entities
from bridge.channels.telegram_updates import Me, read_update
from bridge.channels.transport import read_object
from core.errors import SettingsError
from core.ids import ChatId
from core.settings import Telegram
from core.text.split import Unit, length_in

from .channel_world import World, a_world
from .fakes.telegram_server import TOKEN, TelegramServer, refusal

ME = Me(7301, "Pen_bot")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[TelegramServer]:
    async with TelegramServer(tmp_path / "telegram.log") as server:
        yield server


def a_channel(server: TelegramServer, token: str = TOKEN, *, groups: bool = False) -> TelegramChannel:
    return TelegramChannel(Telegram(token=SecretStr(token), base_url=server.base_url, groups=groups), hold_s=1)


@pytest.fixture
async def world(server: TelegramServer, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, a_channel(server)) as world:
        await world.pair("42", "42")
        yield world


async def test_nothing_is_acknowledged_before_it_is_kept(server: TelegramServer, world: World) -> None:
    server.say("one")
    batch = await world.take()
    assert len(server.queue) == 1, "polled, not kept: still with the platform"

    await world.keep(batch)
    server.say("two")
    await world.poll()

    assert [one["offset"] for one in server.noted("polled")] == [None, 1001]
    assert len(server.queue) == 1


async def test_numbers_that_start_lower_after_an_idle_week_are_taken_and_acknowledged(
    server: TelegramServer, world: World
) -> None:
    server.next_update = 900_000
    server.say("before the holiday")
    await world.round()
    await asyncio.wait_for(world.poll(), 5)  # acknowledges

    server.next_update = 17
    server.say("after the holiday")
    await world.round()
    server.say("and one more")
    await world.round()

    assert [one["text"] for one in server.sent][-2:] == ["You said: after the holiday", "You said: and one more"]
    assert world.counted["duplicate"] == 0


async def test_the_same_message_under_another_update_number_is_a_duplicate(
    server: TelegramServer, world: World
) -> None:
    message = server.say("once")
    await world.round()
    server.bring({"message": message})
    await world.round()
    assert len(server.sent) == 1
    assert world.counted["duplicate"] == 1


async def test_a_second_poller_is_named_and_the_first_goes_on_when_it_is_gone(
    server: TelegramServer, world: World
) -> None:
    other = a_channel(server)
    waiting = asyncio.ensure_future(world.take())
    await asyncio.sleep(0.2)
    stealing = asyncio.ensure_future(other.poll(None))

    with pytest.raises(ChannelStopped, match="another program polls this telegram bot"):
        await waiting
    assert not world.channel.health().receiving
    assert world.channel.health().sending, "sending does not depend on polling"

    await stealing
    await other.close()
    server.say("alone again")
    await world.round()
    assert world.channel.health().receiving


async def test_a_webhook_is_removed_once_without_dropping_updates(server: TelegramServer, world: World) -> None:
    server.say("kept by the webhook")
    server.webhook = "https://elsewhere.example"

    with pytest.raises(ChannelTrouble, match="a webhook was set"):
        await world.take()
    await world.round()
    assert server.noted("webhook deleted") == [{"what": "webhook deleted", "dropped": False}]
    assert [one["text"] for one in server.sent] == ["You said: kept by the webhook"]

    server.webhook = "https://elsewhere.example"
    with pytest.raises(ChannelStopped, match="webhook is set for this telegram bot again"):
        await world.take()


async def test_a_revoked_token_stops_the_channel_and_keeps_what_waits(server: TelegramServer, world: World) -> None:
    server.say("hello")
    await world.poll()
    await world.answer()
    server.token = "7301:another-token-AAAAAAAAAAAAAAAAAA"

    with pytest.raises(ChannelStopped, match="refuses the token"):
        await world.take()
    await world.deliver()

    assert await world.states() == ["intent"]
    assert not world.channel.health().signed_in
    server.token = TOKEN
    await world.poll()
    await world.deliver()
    assert await world.states() == ["sent"]


async def test_the_token_is_in_no_error_and_no_health(server: TelegramServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    channel = a_channel(server)
    seen = []
    for fault in ("drop_before", "html", "lie_500"):
        server.break_next("getMe", fault)
        with pytest.raises(ChannelTrouble) as trouble:
            await channel.poll(None)
        seen += [str(trouble.value), repr(trouble.value.__cause__), repr(trouble.value.__context__)]
        server.break_next("sendMessage", fault)
        seen.append((await channel.send(Outgoing(ChatId("42"), "x", "t"))).reason)
    server.refusals["42"] = refusal(400, f"Bad Request at /bot{TOKEN}/sendMessage")
    seen.append((await channel.send(Outgoing(ChatId("42"), "x", "t"))).reason)
    await server.stop()
    seen.append((await channel.send(Outgoing(ChatId("42"), "x", "t"))).reason)
    seen.append(channel.health().detail)
    await channel.close()

    assert all("canary" not in one for one in seen), seen
    ours = [record.getMessage() for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    assert all("canary" not in one for one in ours)


async def test_429_names_its_time_and_the_part_waits_for_it(server: TelegramServer) -> None:
    channel = a_channel(server)
    server.break_next("sendMessage", "busy")
    outcome = await channel.send(Outgoing(ChatId("42"), "x", "t"))
    await channel.close()
    assert (outcome.kind, outcome.retry_after_ms) == (Sent.NOT_SENT, 1000)


async def test_an_answer_that_never_comes_is_unknown(server: TelegramServer) -> None:
    channel = TelegramChannel(Telegram(token=SecretStr(TOKEN), base_url=server.base_url), send_s=0.3)
    server.break_next("sendMessage", "hang")
    outcome = await channel.send(Outgoing(ChatId("42"), "x", "t"))
    await channel.close()
    assert outcome.kind is Sent.UNKNOWN
    assert len(server.sent) == 1


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (refusal(400, "Bad Request: chat not found"), "chat not found"),
        (refusal(403, "Forbidden: bot was kicked from the supergroup chat"), "kicked"),
        (refusal(400, "Bad Request: group chat was upgraded", migrate_to_chat_id=-100), "pair it again"),
    ],
)
async def test_a_refusal_is_a_state_that_says_why(server: TelegramServer, answer: object, says: str) -> None:
    channel = a_channel(server)
    server.refusals["42"] = answer  # type: ignore[assignment]  # a response can be sent once, so each case has its own
    outcome = await channel.send(Outgoing(ChatId("42"), "x", "t"))
    await channel.close()
    assert outcome.kind is Sent.REFUSED
    assert says in outcome.reason


async def test_a_refusal_of_entities_goes_once_more_as_plain_text(server: TelegramServer) -> None:
    channel = a_channel(server)
    server.refusals["42"] = refusal(400, "Bad Request: can't parse entities")
    outcome = await channel.send(Outgoing(ChatId("42"), "a **b**", "t"))
    await channel.close()
    assert outcome.kind is Sent.SENT
    assert [(one["text"], one["entities"]) for one in server.sent] == [("a b", [])]


async def test_blank_parts_are_refused_here(server: TelegramServer) -> None:
    channel = a_channel(server)
    outcome = await channel.send(Outgoing(ChatId("42"), " \n", "t"))
    await channel.close()
    assert outcome.kind is Sent.REFUSED
    assert server.sent == []


async def test_an_edit_becomes_a_version_and_no_turn(server: TelegramServer, world: World) -> None:
    message = server.say("teh cat")
    await world.round()
    server.edit(message, "the cat")
    await world.poll()
    assert await world.answer() == 0
    assert await world.outcomes() == ["accepted", "accepted"]


# --- groups ----------------------------------------------------------------------------------------------------------


def in_a_group(text: str, *entities: dict[str, object], **more: object) -> dict[str, object]:
    message = {
        "message_id": 9,
        "date": 1_790_000_000,
        "chat": {"id": -1001, "type": "supergroup"},
        "from": {"id": 42, "is_bot": False, "first_name": "Anna"},
        "text": text,
        "entities": list(entities),
        **more,
    }
    return {"update_id": 1, "message": message}


def the_update(raw: dict[str, object], *, groups: bool = True) -> Update:
    found = read_update(raw, ME, groups=groups)
    assert isinstance(found, Update), found
    return found


def test_a_group_speaks_to_us_by_mention_reply_or_command_only() -> None:
    mention = {"type": "mention", "offset": 3, "length": 8}
    command = {"type": "bot_command", "offset": 0, "length": 13}
    bare = {"type": "bot_command", "offset": 0, "length": 5}
    by_id = {"type": "text_mention", "offset": 0, "length": 2, "user": {"id": 7301}}
    reply = {"reply_to_message": {"from": {"id": 7301}}}

    assert the_update(in_a_group("😀 @pen_bot hi", mention)).addressed
    assert the_update(in_a_group("/why@Pen_bot x", command | {"length": 12})).text == "/why x"
    assert the_update(in_a_group("小笔 hi", by_id)).addressed
    assert the_update(in_a_group("yes", **reply)).addressed
    assert not the_update(in_a_group("😀 @pen_box hi", mention)).addressed
    assert not the_update(in_a_group("/help", bare)).addressed
    assert not the_update(in_a_group("@Pen_bot without entity")).addressed


def test_with_groups_off_a_group_is_not_even_read() -> None:
    update = the_update(in_a_group("@Pen_bot secret", {"type": "mention", "offset": 0, "length": 8}), groups=False)
    assert (update.text, update.addressed, update.body) == (None, False, "{}")


def test_another_bot_is_known_as_one() -> None:
    raw = in_a_group("hi", reply_to_message={"from": {"id": 7301}})
    raw["message"] |= {"from": {"id": 5, "is_bot": True, "first_name": "B"}}  # type: ignore[operator]
    assert the_update(raw).from_bot


async def test_a_group_answer_replies_to_its_message(server: TelegramServer, tmp_path: Path) -> None:
    async with a_world(tmp_path, a_channel(server, groups=True)) as world:
        await world.pair("-1001", "42")
        raw = in_a_group("hello", reply_to_message={"from": {"id": 7301}})
        server.bring({"message": raw["message"]})
        await world.round()
    assert server.sent[0]["replies_to"] == {"message_id": 9, "allow_sending_without_reply": True}


# --- bad input -------------------------------------------------------------------------------------------------------


@given(
    st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.dictionaries(
                st.sampled_from(
                    ["message", "edited_message", "chat", "from", "id", "message_id", "text", "entities", "date"]
                ),
                inner,
                max_size=5,
            )
            | st.lists(inner, max_size=3)
        ),
        max_leaves=12,
    )
)
def test_whatever_an_update_holds_it_is_read_or_set_aside(raw: object) -> None:
    update = {"update_id": 1, "message": raw}
    found = read_update(update, ME, groups=True)
    assert isinstance(found, Update | Poison)
    assert read_object(found.body) is not None
    found.body.encode()


@pytest.mark.parametrize("token", ["", "abc", "7301", "7301:short", f" {TOKEN} x"])
def test_a_token_that_cannot_be_one_is_refused_without_showing_it(token: str) -> None:
    with pytest.raises(SettingsError, match="BotFather") as refused:
        TelegramChannel(Telegram(token=SecretStr(token)))
    assert not token or token not in str(refused.value)


def test_a_token_never_goes_over_plain_http_to_the_world() -> None:
    with pytest.raises(SettingsError, match="https"):
        TelegramChannel(Telegram(token=SecretStr(TOKEN), base_url="http://8.8.8.8"))


# --- text ------------------------------------------------------------------------------------------------------------


def test_code_links_and_bold_become_entities() -> None:
    text, entities = with_entities("see [docs](https://a.example/x) **now**\n```python\nx = '**'\n```\nend")
    assert text == "see docs now\nx = '**'\nend"
    units = text.encode("utf-16-le")
    cut = [units[2 * e["offset"] : 2 * (e["offset"] + e["length"])].decode("utf-16-le") for e in entities]  # type: ignore[operator]
    assert cut == ["docs", "now", "x = '**'"]
    assert entities[2] == {"type": "pre", "language": "python", "offset": 13, "length": 8}


@given(st.text(alphabet="a好😀*`[]()\n h", max_size=80))
def test_formatting_never_makes_a_text_longer_and_entities_stay_inside(markdown: str) -> None:
    text, entities = with_entities(markdown)
    assert length_in(Unit.UTF16, text) <= length_in(Unit.UTF16, markdown)
    for entity in entities:
        start, length = entity["offset"], entity["length"]
        assert isinstance(start, int) and isinstance(length, int)
        assert 0 <= start < start + length <= length_in(Unit.UTF16, text)


def test_edits_and_messages_have_keys_of_their_own() -> None:
    raw = in_a_group("x")
    message = the_update(raw)
    edit = the_update({"update_id": 2, "edited_message": {**raw["message"], "edit_date": 7}})  # type: ignore[dict-item]
    assert (message.event_key, edit.event_key, edit.target) == ("-1001/9", "-1001/9/edit-7", "-1001/9")
    assert edit.kind is UpdateKind.EDIT
