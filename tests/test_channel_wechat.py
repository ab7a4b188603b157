"""WeChat's own rules: sessions, headers, context tokens, quotas, receipts, twins, and signing in."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from bridge.channels.contract import ChannelStopped, ChannelTrouble, Outgoing, Poison, Sent, Update
from bridge.channels.wechat import WeChatChannel
from bridge.channels.wechat_messages import read_message
from bridge.channels.wechat_session import Session, checked_address, keep_session, load_session, session_file
from bridge.channels.wechat_sign_in import SignIn
from core.clock import system_clock
from core.errors import BadInput, ControlUnreachable, SettingsError
from core.ids import ChatId

from .channel_world import World, a_world
from .fakes.ilink_server import BOT, TOKEN, USER, IlinkServer


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[IlinkServer]:
    async with IlinkServer(tmp_path / "ilink.log") as server:
        yield server


def sign_in(folder: Path, server: IlinkServer, token: str = TOKEN) -> None:
    keep_session(folder, Session(SecretStr(token), BOT, USER, server.base_url))


def a_channel(folder: Path, server: IlinkServer) -> WeChatChannel:
    return WeChatChannel(folder, server.base_url)


@pytest.fixture
async def world(server: IlinkServer, tmp_path: Path) -> AsyncIterator[World]:
    sign_in(tmp_path, server)
    async with a_world(tmp_path, a_channel(tmp_path, server)) as world:
        await world.pair(USER, USER)
        yield world


# --- receiving -------------------------------------------------------------------------------------------------------


async def test_the_place_is_kept_with_the_messages_and_an_empty_one_changes_nothing(
    server: IlinkServer, world: World
) -> None:
    server.say("one")
    await world.poll()
    server.hold_s = 0.05
    await world.poll()
    await world.poll()
    assert [one["place"] for one in server.noted("polled")] == ["", "place-1", "place-1"]


async def test_every_request_has_all_headers(server: IlinkServer, world: World) -> None:
    server.say("hi")
    await world.round()
    await world.channel.close()
    called = server.noted("called")
    assert [one["method"] for one in called] == ["msg/notifystart", "getupdates", "sendmessage", "msg/notifystop"]
    assert all(one["wrong"] == "" for one in called)


async def test_a_poll_that_runs_into_our_own_time_limit_is_a_quiet_one(server: IlinkServer, tmp_path: Path) -> None:
    sign_in(tmp_path, server)
    server.hold_s = 30
    channel = WeChatChannel(tmp_path, server.base_url, hold_s=-9.7)
    batch = await channel.poll(None)
    await channel.close()
    assert batch.updates == ()


async def test_a_gateway_timeout_passes(server: IlinkServer, world: World) -> None:
    server.break_next("getupdates", "lie_500")
    with pytest.raises(ChannelTrouble, match="500"):
        await world.take()
    assert (world.channel.health().receiving, world.channel.health().sending) == (False, True)
    server.say("hi")
    await world.round()
    assert world.channel.health().receiving


async def test_the_same_message_under_another_id_is_a_twin(server: IlinkServer, world: World) -> None:
    first = server.say("once")
    await world.round()
    server.bring({**first, "message_id": 2**63 + 999})
    await world.poll()
    server.say("once")
    await world.round()
    assert (world.counted["twin"], len(server.sent)) == (1, 2), "a real repeat has another time"


def test_ids_beyond_a_signed_64_bit_number_are_text_and_exact() -> None:
    update = read_message({"message_id": 2**64 - 1, "from_user_id": USER, "item_list": []})
    assert isinstance(update, Update)
    assert update.event_key == str(2**64 - 1)


def test_without_an_id_the_key_is_made_of_the_content_and_the_same_each_time() -> None:
    item = {"type": 1, "text_item": {"text": "hi"}}
    bare = {"from_user_id": USER, "create_time_ms": 5, "item_list": [item]}
    named = {"from_user_id": USER, "item_list": [item | {"msg_id": 2**63}]}
    keys = [getattr(read_message(dict(raw)), "event_key", "") for raw in (bare, bare, bare | {"seq": 2}, named)]
    assert keys[0] == keys[1] != keys[2]
    assert keys[3] == f"item/{2**63}"


def test_bots_groups_and_unfinished_messages_are_told_apart() -> None:
    raw = {"message_id": 1, "from_user_id": USER, "item_list": [{"type": 1, "text_item": {"text": "x"}}]}
    bot, group, half = (
        read_message(raw | more) for more in ({"message_type": 2}, {"group_id": "g"}, {"message_state": 1})
    )
    assert isinstance(bot, Update) and bot.from_bot
    assert isinstance(group, Update) and group.group and not group.addressed
    assert isinstance(half, Update) and half.text is None and half.event_key != "1"


@pytest.mark.parametrize(
    "raw", [{}, {"from_user_id": USER, "message_id": True}, {"from_user_id": "\ud800", "message_id": 1}]
)
def test_an_unreadable_message_is_poison(raw: dict[str, object]) -> None:
    assert isinstance(read_message(raw), Poison)


@given(
    st.dictionaries(
        st.sampled_from(
            ["message_id", "from_user_id", "item_list", "create_time_ms", "context_token", "group_id", "seq"]
        ),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=4) | st.just("\ud800"),
            lambda inner: (
                st.dictionaries(st.sampled_from(["type", "text_item", "text", "msg_id"]), inner, max_size=3)
                | st.lists(inner, max_size=3)
            ),
            max_leaves=8,
        ),
    )
)
def test_whatever_a_message_holds_it_is_read_or_set_aside(raw: dict[str, object]) -> None:
    found = read_message({"from_user_id": USER, **raw})
    assert isinstance(found, Update | Poison)
    found.body.encode()
    found.event_key.encode()


# --- sending ---------------------------------------------------------------------------------------------------------


async def test_an_answer_carries_the_newest_context_token_and_a_stable_id(server: IlinkServer, world: World) -> None:
    server.say("old")
    newest = server.say("new")
    await world.round()
    assert server.sent[-1]["context"] == newest["context_token"]
    assert str(server.sent[-1]["client_id"]).startswith("pf-")


async def test_without_a_context_token_nothing_is_sent(server: IlinkServer, world: World) -> None:
    outcome = await world.channel.send(Outgoing(ChatId(USER), "x", "t"))
    assert outcome.kind is Sent.DEFERRED
    assert server.noted("called") == []


async def test_beyond_the_quota_the_rest_waits_for_the_next_message(server: IlinkServer, world: World) -> None:
    for number in range(12):
        server.say(f"m{number}")
        server.contexts = dict.fromkeys(server.contexts, 0)
    await world.poll()
    await world.answer()
    await world.deliver()
    assert set(await world.states()) == {"deferred"}

    server.say("go on")
    await world.poll()
    await world.deliver()
    assert set(await world.states()) == {"sent"}


async def test_yes_without_an_id_is_accepted_and_said_in_health(server: IlinkServer, world: World) -> None:
    server.without_id = True
    server.say("hi")
    await world.round()
    assert await world.states() == ["accepted"]
    assert "without a receipt" in world.channel.health().detail


async def test_typing_is_shown_with_a_ticket_and_its_failure_is_nothing(server: IlinkServer, world: World) -> None:
    said = server.say("hi")
    await world.poll()
    channel = world.channel
    assert isinstance(channel, WeChatChannel)
    await channel.show_typing(USER, "unknown-context")
    assert server.noted("typing") == []
    for _ in range(2):
        await channel.show_typing(USER, str(said["context_token"]))
    await server.stop()
    await channel.show_typing(USER, str(said["context_token"]))
    assert [one["status"] for one in server.noted("typing")] == [1, 1]
    assert [one["method"] for one in server.noted("called")].count("getconfig") == 2


# --- sessions --------------------------------------------------------------------------------------------------------


async def test_a_dead_session_stops_polling_keeps_the_queue_and_a_new_sign_in_goes_on(
    server: IlinkServer, world: World, tmp_path: Path
) -> None:
    # given an answer that waits while the session dies
    server.say("hello")
    await world.poll()
    await world.answer()
    server.token = "new-canary-token"

    # when it is polled, then it is asked twice and never again
    for _ in range(3):
        with pytest.raises(ChannelStopped, match="penfriend pair wechat"):
            await world.take()
    assert [one["method"] for one in server.noted("called")].count("getupdates") == 3
    await world.deliver()
    assert await world.states() == ["intent"]
    assert not world.channel.health().signed_in

    # and a new sign-in is taken up without a restart
    sign_in(tmp_path, server, "new-canary-token")
    server.say("again")
    await world.round()
    assert await world.states() == ["sent", "sent"]
    assert server.noted("polled")[-1]["place"] == "", "the place of another session is not used"


async def test_a_session_that_dies_during_a_send_keeps_the_part(server: IlinkServer, world: World) -> None:
    server.say("hello")
    await world.poll()
    await world.answer()
    server.send_answers.append({"errcode": -14})
    await world.deliver()
    assert await world.states() == ["intent"]
    assert world.channel.health().signed_in is False


async def test_before_the_first_sign_in_the_channel_says_what_to_do(server: IlinkServer, tmp_path: Path) -> None:
    channel = a_channel(tmp_path, server)
    with pytest.raises(ChannelStopped, match="penfriend pair wechat"):
        await channel.poll(None)
    assert not channel.health().sending
    await channel.close()


def test_a_session_file_is_private_and_a_broken_one_is_one_sentence(tmp_path: Path) -> None:
    keep_session(tmp_path, Session(SecretStr("t"), "b", "u", "https://a.weixin.qq.com"))
    assert session_file(tmp_path).stat().st_mode & 0o077 == 0
    assert load_session(tmp_path) == Session(SecretStr("t"), "b", "u", "https://a.weixin.qq.com")
    session_file(tmp_path).write_text("{")
    with pytest.raises(SettingsError, match="sign in again"):
        load_session(tmp_path)


@pytest.mark.parametrize("address", ["https://evil.example", None])
async def test_a_session_that_cannot_be_used_stops_this_channel_only(tmp_path: Path, address: str | None) -> None:
    if address is None:
        session_file(tmp_path).write_text("{")
    else:
        keep_session(tmp_path, Session(SecretStr("canary"), BOT, USER, address))
    channel = WeChatChannel(tmp_path, "https://ilinkai.weixin.qq.com")
    assert not channel.health().signed_in
    with pytest.raises(ChannelStopped) as stopped:
        await channel.poll(None)
    assert "canary" not in str(stopped.value)
    await channel.close()


@pytest.mark.parametrize(
    "url",
    [
        "http://ilink.weixin.qq.com",
        "https://weixin.qq.com.evil.example",
        "https://evilweixin.qq.com",
        "https://a@x.weixin.qq.com",
        "https://x.weixin.qq.com:8443",
        "ftp://x.weixin.qq.com",
        "https://[",
    ],
)
def test_an_address_that_is_not_the_platforms_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="not its own"):
        checked_address(url, "https://ilinkai.weixin.qq.com")


# --- signing in ------------------------------------------------------------------------------------------------------


class Phone:
    def __init__(self, *numbers: str) -> None:
        self.numbers, self.shown, self.told, self.asked = list(numbers), list[str](), list[str](), list[bool]()

    def show_code(self, url: str) -> None:
        self.shown.append(url)

    def tell(self, what: str) -> None:
        self.told.append(what)

    async def ask_number(self, *, again: bool) -> str:
        self.asked.append(again)
        return self.numbers.pop(0)


async def no_pause(_seconds: float) -> None:
    return None


Run = Callable[..., Awaitable[Session | None]]


@pytest.fixture
def run(server: IlinkServer) -> Run:
    async def run(phone: Phone, *statuses: dict[str, object], before: Session | None = None) -> Session | None:
        server.statuses.extend(statuses)
        return await SignIn(server.base_url, phone, system_clock, before, sleep=no_pause).run()

    return run


def confirmed(server: IlinkServer, **more: object) -> dict[str, object]:
    facts = {"bot_token": "t", "ilink_bot_id": BOT, "ilink_user_id": USER, "baseurl": server.base_url}
    return {"status": "confirmed", **facts, **more}


async def test_a_scan_and_a_yes_give_a_session(server: IlinkServer, run: Run) -> None:
    phone = Phone()
    session = await run(
        phone, {"status": "wait"}, {"status": "cut"}, {"status": "scaned"}, {"status": "scaned"}, confirmed(server)
    )
    assert session == Session(SecretStr("t"), BOT, USER, server.base_url)
    assert phone.shown == ["https://liteapp.weixin.qq.com/q/code-1"]
    assert phone.told == ["scanned"]
    assert server.noted("code")[0]["signed"] is False


async def test_the_number_on_the_phone_is_asked_for_until_it_is_right(server: IlinkServer, run: Run) -> None:
    phone = Phone("1 2", "34")
    need: dict[str, object] = {"status": "need_verifycode"}
    await run(phone, need, need, {"status": "scaned"}, confirmed(server))
    assert phone.asked == [False, True]
    assert [one.get("verify_code") for one in server.noted("status")] == [None, "1 2", "34", None]


async def test_after_an_expired_and_a_blocked_code_a_third_is_the_last(server: IlinkServer, run: Run) -> None:
    phone = Phone()
    gone: list[dict[str, object]] = [{"status": "expired"}, {"status": "verify_code_blocked"}, {"status": "expired"}]
    with pytest.raises(BadInput, match="3 codes"):
        await run(phone, *gone)
    assert (len(phone.shown), phone.told) == (3, ["expired", "blocked"])


async def test_a_redirect_is_followed_to_the_platform_only(server: IlinkServer, run: Run) -> None:
    phone = Phone()
    there: dict[str, object] = {"status": "scaned_but_redirect", "redirect_host": f"127.0.0.1:{server.port}"}
    assert await run(phone, there, confirmed(server)) is not None
    assert phone.told == ["redirected"]
    with pytest.raises(BadInput, match="not its own"):
        await run(Phone(), {"status": "scaned_but_redirect", "redirect_host": "evil.example"})
    with pytest.raises(BadInput, match="not its own"):
        await run(Phone(), confirmed(server, baseurl="https://evil.example"))


async def test_an_account_that_is_bound_already_gives_nothing_new(server: IlinkServer, run: Run) -> None:
    before = Session(SecretStr("old"), BOT, USER, server.base_url)
    assert await run(Phone(), {"status": "binded_redirect"}, before=before) is None
    assert server.noted("code")[0]["tokens"] == 1


async def test_a_yes_without_a_token_is_refused(server: IlinkServer, run: Run) -> None:
    with pytest.raises(BadInput, match="without a token"):
        await run(Phone(), confirmed(server, bot_token=""))


async def test_no_platform_no_code(server: IlinkServer, run: Run) -> None:
    await server.stop()
    with pytest.raises(ControlUnreachable, match="cannot be reached"):
        await run(Phone())
