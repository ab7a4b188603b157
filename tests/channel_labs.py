"""Each channel beside its platform, in one shape, so that the same tests run over all of them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from pydantic import SecretStr

from bridge.channels.console import CHAT, SENDER, ConsoleChannel, Said, Terminal
from bridge.channels.contract import Channel
from bridge.channels.matrix import MatrixChannel
from bridge.channels.telegram import TelegramChannel
from bridge.channels.webhook import WebhookChannel
from bridge.channels.wechat import WeChatChannel
from bridge.channels.wechat_session import Session, keep_session
from core.clock import system_clock
from core.settings import Matrix, Telegram, Webhook

from .fakes.hook_program import SECRET as HOOK_SECRET
from .fakes.hook_program import HookProgram, HookReceiver
from .fakes.ilink_server import BOT, USER, IlinkServer
from .fakes.ilink_server import TOKEN as WECHAT_TOKEN
from .fakes.matrix_proxy import MatrixProxy
from .fakes.platform import PlatformServer
from .fakes.telegram_server import TOKEN, TelegramServer, refusal
from .synapse import Synapse, User


class Lab(Protocol):
    """`faults` maps what can be made to happen to the next send to the state its part ends in.

    `begins_quiet`: the first poll ever brings history only. `reads_anything`: what cannot be read reaches us. `replays`:
    whether the platform brings again what was polled and not acknowledged.
    """

    chat: str
    sender: str
    replays: bool
    begins_quiet: bool
    reads_anything: bool
    faults: Mapping[str, str]

    def open(self) -> Channel:
        """A fresh client, as after a restart."""
        ...

    async def say(self, text: str | None) -> None:
        """The paired person writes; None is something that is not text."""
        ...

    async def say_as_stranger(self, text: str) -> None: ...

    async def bring_again(self, text: str) -> None:
        """The last message comes once more under its key, with this text."""
        ...

    async def bring_poison(self) -> None: ...

    def break_send(self, fault: str) -> None: ...

    async def go_away(self) -> None:
        """The platform is not there until `come_back`."""
        ...

    async def come_back(self) -> None: ...

    def delivered(self) -> list[str]:
        """What the platform has taken, in its order."""
        ...


class ServerLab:
    """A lab whose platform is one of our fakes."""

    reads_anything = True
    server: PlatformServer

    async def go_away(self) -> None:
        await self.server.stop()

    async def come_back(self) -> None:
        await self.server.start()


class TelegramLab(ServerLab):
    chat = sender = "42"
    replays, begins_quiet = True, False
    faults: Mapping[str, str] = MappingProxyType(
        {
            "busy": "sent",
            "drop_before": "unknown",
            "drop_after": "unknown",
            "lie_500": "unknown",
            "html": "unknown",
            "blocked": "failed",
        }
    )

    server: TelegramServer

    def __init__(self, server: TelegramServer) -> None:
        self.server = server
        self._last: dict[str, object] = {}

    def open(self) -> TelegramChannel:
        return TelegramChannel(Telegram(token=SecretStr(TOKEN), base_url=self.server.base_url, groups=True), hold_s=1)

    async def say(self, text: str | None) -> None:
        more: dict[str, object] = {"sticker": {}} if text is None else {}
        self._last = self.server.say(text, more=more)

    async def say_as_stranger(self, text: str) -> None:
        self.server.say(text, chat=66, sender=66)

    async def bring_again(self, text: str) -> None:
        self.server.bring({"message": {**self._last, "text": text}})

    async def bring_poison(self) -> None:
        self.server.bring({"message": {"message_id": "?", "chat": [], "text": 7, "from": {"id": 42}}})

    def break_send(self, fault: str) -> None:
        if fault == "blocked":
            self.server.refusals["42"] = refusal(403, "Forbidden: bot was blocked by the user")
        else:
            self.server.break_next("sendMessage", fault)

    def delivered(self) -> list[str]:
        return [str(one["text"]) for one in self.server.sent]


class WeChatLab(ServerLab):
    chat = sender = USER
    replays, begins_quiet = False, False
    faults: Mapping[str, str] = MappingProxyType(
        {
            "busy": "sent",
            "drop_before": "unknown",
            "drop_after": "unknown",
            "lie_500": "unknown",
            "html": "unknown",
            "refused": "failed",
            "no_context": "deferred",
            "without_id": "accepted",
        }
    )
    server: IlinkServer

    def __init__(self, server: IlinkServer, folder: Path) -> None:
        self.server, self._folder = server, folder
        self._last: dict[str, object] = {}
        keep_session(folder, Session(SecretStr(WECHAT_TOKEN), BOT, USER, server.base_url))

    def open(self) -> WeChatChannel:
        return WeChatChannel(self._folder, self.server.base_url)

    async def say(self, text: str | None) -> None:
        self._last = self.server.say(text)

    async def say_as_stranger(self, text: str) -> None:
        self.server.say(text, sender="stranger@im.wechat")

    async def bring_again(self, text: str) -> None:
        self.server.bring({**self._last, "item_list": [{"type": 1, "text_item": {"text": text}}]})

    async def bring_poison(self) -> None:
        self.server.bring({"message_id": [], "from_user_id": 7, "item_list": "?"})

    def break_send(self, fault: str) -> None:
        answers: dict[str, dict[str, object]] = {
            "refused": {"ret": -1, "errmsg": "bad"},
            "no_context": {"ret": -2, "errmsg": "prepare failed"},
        }
        if fault in answers:
            self.server.send_answers.append(answers[fault])
        elif fault == "without_id":
            self.server.without_id = True
        else:
            self.server.break_next("sendmessage", fault)

    def delivered(self) -> list[str]:
        return [str(one["text"]) for one in self.server.sent]


class MatrixLab(ServerLab):
    """A real Synapse behind a proxy that breaks things; `friend` and the persona share a room."""

    replays = begins_quiet = True
    faults: Mapping[str, str] = MappingProxyType(
        {
            "busy": "sent",
            "drop_before": "unknown",
            "drop_after": "unknown",
            "lie_500": "unknown",
            "html": "unknown",
        }
    )
    server: MatrixProxy

    def __init__(self, server: MatrixProxy, synapse: Synapse) -> None:
        self.server = server
        self.persona, self.friend, self.other = (synapse.new_user(name) for name in ("persona", "friend", "other"))
        self.sender = self.friend.id
        self.chat = self.room_of(self.friend)
        self._elsewhere = self.room_of(self.other)
        self._last = ""

    def room_of(self, user: User) -> str:
        room = user.make_room(self.persona)
        self.persona.join(room)
        return room

    def settings(self) -> Matrix:
        return Matrix(
            base_url=self.server.base_url,
            user=self.persona.id,
            device=self.persona.device,
            token=SecretStr(self.persona.token),
            invited_by=(self.friend.id,),
        )

    def open(self) -> MatrixChannel:
        return MatrixChannel(self.settings(), hold_s=0.3)

    async def say(self, text: str | None) -> None:
        if text is None:
            picture = {"msgtype": "m.image", "body": "cat.png", "url": "mxc://localhost/x"}
            self._last = await asyncio.to_thread(self.friend.put, self.chat, "m.room.message", picture)
        elif "\ud83d" in text or "\0" in text:  # no server takes these, so they are slipped in behind it
            self._last = f"$slipped-{len(text)}"
            await self.bring_again(text)
        else:
            self._last = await asyncio.to_thread(self.friend.say, self.chat, text)

    async def say_as_stranger(self, text: str) -> None:
        await asyncio.to_thread(self.other.say, self._elsewhere, text)

    async def bring_again(self, text: str) -> None:
        content = {"msgtype": "m.text", "body": text}
        self._slip({"type": "m.room.message", "event_id": self._last, "sender": self.sender, "content": content})

    async def bring_poison(self) -> None:
        self._slip({"type": "m.room.message", "event_id": 7, "sender": [], "content": {"body": {}}})

    def _slip(self, event: dict[str, object]) -> None:
        self.server.slipped.append((self.chat, event))

    def break_send(self, fault: str) -> None:
        self.server.break_next("send", fault)

    def delivered(self) -> list[str]:
        return self.friend.heard(self.chat, self.persona)


class WebhookLab(ServerLab):
    """A program of the owner's: it repeats what it has not heard to be kept."""

    reads_anything = False
    chat = sender = "program"
    replays, begins_quiet = True, False
    faults: Mapping[str, str] = MappingProxyType(
        {
            "busy": "sent",
            "drop_before": "unknown",
            "drop_after": "unknown",
            "lie_500": "unknown",
            "html": "unknown",
            "refused": "failed",
            "without_id": "accepted",
        }
    )
    server: HookReceiver

    def __init__(self, server: HookReceiver) -> None:
        self.server = server
        self._program = HookProgram()

    def open(self) -> WebhookChannel:
        settings = Webhook(secret=SecretStr(HOOK_SECRET), base_url=self.server.url, port=0)
        channel = WebhookChannel(settings, system_clock)
        self._program.follow(channel)
        return channel

    async def say(self, text: str | None) -> None:
        await self._program.say(text, self.chat)

    async def say_as_stranger(self, text: str) -> None:
        await self._program.say(text, "stranger")

    async def bring_again(self, text: str) -> None:
        await self._program.say(text, self.chat, again=True)

    async def bring_poison(self) -> None:
        raise AssertionError("the webhook refuses what it cannot read at once")

    def break_send(self, fault: str) -> None:
        if fault in ("refused", "without_id"):
            self.server.answers.append((422, "{}") if fault == "refused" else (204, ""))
        else:
            self.server.break_next("reply", fault)

    async def go_away(self) -> None:
        await self.server.stop()

    def delivered(self) -> list[str]:
        return [str(one["text"]) for one in self.server.noted("sent")]

    async def stop(self) -> None:
        await self._program.stop()


@dataclass
class ConsoleLab:
    """A terminal that repeats what was not kept, and confirms what it shows."""

    chat: str = CHAT
    sender: str = SENDER
    replays: bool = True
    begins_quiet: bool = False
    reads_anything: bool = False

    def __post_init__(self) -> None:
        self.faults: Mapping[str, str] = {}
        self._shown: list[str] = []
        self._unkept: dict[str, str] = {}
        self._number = 0
        self._repeats: list[asyncio.Future[str | None]] = []
        self._channel: ConsoleChannel | None = None
        self._terminal: Terminal | None = None

    def open(self) -> ConsoleChannel:
        self._channel = ConsoleChannel(system_clock)
        self._terminal = self._channel.open_terminal(self._push)
        for frame in self._unkept.values():
            self._repeats.append(asyncio.ensure_future(self._channel.hear(self._terminal, frame)))
        return self._channel

    async def _push(self, frame: dict[str, object]) -> None:
        assert self._channel is not None and self._terminal is not None
        if "kept" in frame:
            self._unkept.pop(str(frame["kept"]), None)
        if "text" in frame:
            self._shown.append(str(frame["text"]))
            await self._channel.hear(self._terminal, f'{{"shown": "{frame["id"]}"}}')

    async def say(self, text: str | None) -> None:
        self._number += 1
        await self.bring_again(text or "")

    async def bring_again(self, text: str) -> None:
        assert self._channel is not None and self._terminal is not None
        name = f"console-message-{self._number}"
        frame = self._unkept[name] = Said(id=name, text=text).model_dump_json()
        assert await self._channel.hear(self._terminal, frame) is None

    async def say_as_stranger(self, text: str) -> None:
        raise AssertionError("nobody but the owner has the console's token")

    async def bring_poison(self) -> None:
        raise AssertionError("the console refuses what it cannot read at once")

    def break_send(self, fault: str) -> None:
        raise AssertionError(f"the console has no fault {fault!r}")

    async def go_away(self) -> None:
        raise AssertionError("the console is in the same process")

    async def come_back(self) -> None:
        raise AssertionError("the console is in the same process")

    def delivered(self) -> list[str]:
        return self._shown


OpenLab = Callable[[Path, Callable[[], Synapse]], AbstractAsyncContextManager[Lab]]


@asynccontextmanager
async def a_telegram(folder: Path, _synapse: Callable[[], Synapse]) -> AsyncIterator[TelegramLab]:
    async with TelegramServer(folder / "telegram.log") as server:
        yield TelegramLab(server)


@asynccontextmanager
async def a_console(_folder: Path, _synapse: Callable[[], Synapse]) -> AsyncIterator[ConsoleLab]:
    yield ConsoleLab()


@asynccontextmanager
async def a_wechat(folder: Path, _synapse: Callable[[], Synapse]) -> AsyncIterator[WeChatLab]:
    async with IlinkServer(folder / "ilink.log") as server:
        yield WeChatLab(server, folder)


@asynccontextmanager
async def a_webhook(folder: Path, _synapse: Callable[[], Synapse]) -> AsyncIterator[WebhookLab]:
    async with HookReceiver(folder / "hook.log") as server:
        lab = WebhookLab(server)
        yield lab
        await lab.stop()


@asynccontextmanager
async def a_matrix(folder: Path, get_synapse: Callable[[], Synapse]) -> AsyncIterator[MatrixLab]:
    synapse = get_synapse()
    async with MatrixProxy(folder / "matrix.log", synapse.base_url) as server:
        yield MatrixLab(server, synapse)


LABS: dict[str, OpenLab] = {
    "console": a_console,
    "telegram": a_telegram,
    "wechat": a_wechat,
    "webhook": a_webhook,
    "matrix": a_matrix,
}
