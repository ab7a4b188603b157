"""The webhook's own rules: signatures, replays, `kept` after the commit, and the example in the docs."""

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from pydantic import SecretStr

from bridge.channels.contract import ChannelStopped, Outgoing, Sent
from bridge.channels.webhook import MAX_BODY, PATH, WebhookChannel
from core.clock import system_clock
from core.control.signing import ControlKey, sign
from core.errors import SettingsError
from core.ids import ChatId
from core.settings import Webhook

from .channel_world import World, a_world
from .fakes.hook_program import KEY, SECRET, HookReceiver

DOCS = Path(__file__).parents[1] / "docs" / "channels.md"


@pytest.fixture
async def receiver(tmp_path: Path) -> AsyncIterator[HookReceiver]:
    async with HookReceiver(tmp_path / "hook.log") as receiver:
        yield receiver


def a_channel(receiver: HookReceiver, port: int = 0) -> WebhookChannel:
    return WebhookChannel(Webhook(secret=SecretStr(SECRET), base_url=receiver.url, port=port), system_clock)


@pytest.fixture
async def world(receiver: HookReceiver, tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path, a_channel(receiver)) as world:
        await world.pair("program", "program")
        yield world


async def listening(world: World) -> "asyncio.Task[None]":
    """Polls and answers for ever, like the bridge."""

    async def run() -> None:
        while True:
            await world.round()

    task = asyncio.create_task(run())
    while not world.channel.health().receiving:
        await asyncio.sleep(0.01)
    return task


def a_message(name: str = "m-1", text: str = "hello") -> bytes:
    return json.dumps({"id": name, "chat": "program", "sender": "program", "text": text}).encode()


async def post(
    world: World, body: bytes, key: ControlKey = KEY, *, ahead_s: int = 0, signed: bytes | None = None
) -> httpx.Response:
    assert isinstance(world.channel, WebhookChannel)
    headers = sign(key, "request-1", int(time.time()) + ahead_s, "POST", PATH, body if signed is None else signed)
    async with httpx.AsyncClient(trust_env=False, verify=False) as http:
        return await http.post(f"http://127.0.0.1:{world.channel.port}{PATH}", content=body, headers=headers)


async def test_a_message_is_kept_and_answered_and_a_replay_changes_nothing(
    receiver: HookReceiver, world: World
) -> None:
    running = await listening(world)
    first = await post(world, a_message())
    replayed = await post(world, a_message())
    running.cancel()
    assert (first.json(), replayed.json()) == ({"kept": "m-1"}, {"kept": "m-1"})
    assert world.counted == {"accepted": 1, "duplicate": 1}
    assert [(one["text"], one["answers"]) for one in receiver.noted("sent")] == [("You said: hello", "m-1")]


@pytest.mark.parametrize(
    ("body", "key", "ahead_s", "signed", "status"),
    [
        (a_message(), ControlKey("webhook", "bridge", b"x" * 32), 0, None, 401),
        (a_message(), ControlKey("another", "bridge", KEY.secret), 0, None, 401),
        (a_message(), KEY, -301, None, 401),
        (a_message(), KEY, 301, None, 401),
        (a_message(text="pay 1000"), KEY, 0, a_message(text="pay 10"), 401),
        (b"{", KEY, 0, None, 400),
        (b"\xff\xfe", KEY, 0, None, 400),
        (b'{"id":"m"}', KEY, 0, None, 400),
        (a_message()[:-1] + b',"role":"owner"}', KEY, 0, None, 400),
        (a_message(name=""), KEY, 0, None, 400),
        (b"x" * (MAX_BODY + 1), KEY, 0, None, 413),
    ],
)
async def test_what_is_not_signed_or_not_understood_is_refused_and_nothing_is_kept(
    world: World, body: bytes, key: ControlKey, ahead_s: int, signed: bytes | None, status: int
) -> None:
    running = await listening(world)
    answer = await post(world, body, key, ahead_s=ahead_s, signed=signed)
    running.cancel()
    assert answer.status_code == status
    assert "canary" not in answer.text
    assert await world.outcomes() == []


async def test_kept_is_said_after_the_commit_only(world: World) -> None:
    # given a bridge that takes but cannot keep
    taking = asyncio.create_task(world.take())
    while not world.channel.health().receiving:
        await asyncio.sleep(0.01)
    sending = asyncio.create_task(post(world, a_message()))
    batch = await taking
    assert len(batch.updates) == 1
    await asyncio.sleep(0.05)
    assert not sending.done()

    # when it polls again without having kept, then the same comes again
    again = await world.take()
    assert [update.event_key for update in again.updates] == ["m-1"]
    await world.keep(again)
    polling = asyncio.create_task(world.take())

    assert (await sending).json() == {"kept": "m-1"}
    polling.cancel()


async def test_a_stop_tells_the_sender_to_send_again(world: World) -> None:
    taking = asyncio.create_task(world.take())
    while not world.channel.health().receiving:
        await asyncio.sleep(0.01)
    sending = asyncio.create_task(post(world, a_message()))
    await taking
    await world.channel.close()
    assert (await sending).status_code == 503


async def test_a_taken_port_is_one_sentence(receiver: HookReceiver) -> None:
    channel = a_channel(receiver, port=receiver.port)
    with pytest.raises(ChannelStopped, match=f"port {receiver.port}.*set channels.webhook.port"):
        await channel.poll(None)
    assert not channel.health().receiving
    await channel.close()


async def test_a_receiver_that_gives_no_id_has_accepted(receiver: HookReceiver) -> None:
    channel = a_channel(receiver)
    receiver.answers.extend([(204, ""), (200, '{"id": ""}'), (200, "ok"), (302, "")])
    kinds = [(await channel.send(Outgoing(ChatId("program"), "x", f"t{number}"))).kind for number in range(4)]
    await channel.close()
    assert kinds == [Sent.ACCEPTED, Sent.ACCEPTED, Sent.UNKNOWN, Sent.REFUSED]


def test_a_short_secret_or_no_receiver_is_refused(receiver: HookReceiver) -> None:
    with pytest.raises(SettingsError, match="has 5 bytes"):
        WebhookChannel(Webhook(secret=SecretStr("short"), base_url="http://127.0.0.1:1"), system_clock)
    with pytest.raises(SettingsError, match="base_url is missing"):
        WebhookChannel(Webhook(secret=SecretStr(SECRET)), system_clock)


async def test_the_client_in_the_docs_works_as_printed(tmp_path: Path) -> None:
    # given the example, with this machine's ports and secret put in
    found = re.search(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    assert found is not None
    assert len(found[1].splitlines()) <= 20, "docs/channels.md promises a client of 20 lines"
    settings = Webhook(secret=SecretStr(SECRET), base_url="http://127.0.0.1:1/replies", port=0)
    async with a_world(tmp_path, WebhookChannel(settings, system_clock)) as world:
        await world.pair("desk", "desk")
        running = await listening(world)
        assert isinstance(world.channel, WebhookChannel)
        port = world.channel.port
        running.cancel()
        script = (
            found[1].replace("your secret of 32 bytes or more", SECRET).replace("127.0.0.1:8422", f"127.0.0.1:{port}")
        )
        script = script.replace('("127.0.0.1", 8500)', '("127.0.0.1", 0)').replace(
            "replies.handle_request()", "print(replies.server_port, flush=True)\nreplies.handle_request()"
        )

        # when it runs
        taking = asyncio.create_task(world.poll())
        client = await asyncio.create_subprocess_exec(
            sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        assert client.stdout is not None
        await taking
        telling = asyncio.create_task(world.take())
        assert b"kept" in await asyncio.wait_for(client.stdout.readline(), 10)
        telling.cancel()

        # then it prints the answer that is posted to it
        its_port = int(await asyncio.wait_for(client.stdout.readline(), 10))
        sender = WebhookChannel(
            settings.model_copy(update={"base_url": f"http://127.0.0.1:{its_port}/replies"}), system_clock
        )
        outcome = await sender.send(Outgoing(ChatId("desk"), "你好", "pf-1"))
        await sender.close()
        assert outcome.kind is Sent.SENT
        assert "你好" in (await asyncio.wait_for(client.stdout.readline(), 10)).decode()
        await client.wait()
