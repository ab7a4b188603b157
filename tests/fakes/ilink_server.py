"""An iLink bot server on loopback, as far as the platform is known (docs/channels.md), with its traps.

It advances when it hands a message over, whatever cursor comes; it answers a request with missing headers as a dead
session; a send needs a known context token and is counted for each inbound message; `ret` is left out on success. It is
itself checked by driving the official client against it (tests/test_channel_wechat_oracle.py).
"""

import asyncio
import base64
import itertools
import json
from collections import deque
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from aiohttp import web

from .platform import Facts, PlatformServer

TOKEN = "canary-wechat-token"
BOT, USER = "b0t@im.bot", "u5er@im.wechat"
SENDS_PER_INBOUND = 10
TEXT_LIMIT = 2_000

Do = Callable[[Facts], Coroutine[Any, Any, web.Response]]  # the last two of a coroutine's types are never used


class IlinkServer(PlatformServer):
    def __init__(self, log: Path, *, token: str = TOKEN, hold_s: float = 1.0, port: int = 0) -> None:
        super().__init__(log, port)
        self.token, self.hold_s = token, hold_s
        self.waiting: deque[Facts] = deque()
        self.contexts: dict[str, int] = {}
        self.send_answers: deque[Facts] = deque()
        self.statuses: deque[Facts] = deque()
        self.without_id = False
        self._numbers = itertools.count(2**63 + 11)
        self._places = itertools.count(1)
        self._codes = itertools.count(1)
        self._news = asyncio.Event()

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/ilink/bot/get_bot_qrcode", self._give_code),
            web.get("/ilink/bot/get_qrcode_status", self._give_status),
            web.post("/ilink/bot/{method:.+}", self._serve),
        ]

    # --- what happens on the platform ----------------------------------------------------------------------------

    def say(self, text: str | None, *, sender: str = USER, more: Facts | None = None) -> Facts:
        number = next(self._numbers)
        item: Facts = {"type": 1, "text_item": {"text": text}} if text is not None else {"type": 2, "image_item": {}}
        message: Facts = {
            "message_id": number,
            "from_user_id": sender,
            "to_user_id": BOT,
            "create_time_ms": 1_790_000_000_000 + number % 100_000,
            "message_type": 1,
            "message_state": 2,
            "item_list": [item],
            "context_token": f"context-{number}",
            **(more or {}),
        }
        self.contexts[str(message["context_token"])] = SENDS_PER_INBOUND
        self.bring(message)
        return message

    def bring(self, message: Facts) -> None:
        self.waiting.append(message)
        self._news.set()

    @property
    def sent(self) -> list[Facts]:
        return self.noted("sent")

    # --- the bot API ---------------------------------------------------------------------------------------------

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        method, body = request.match_info["method"], json.loads(await request.read())
        wrong = self._wrong_headers(request) or ("" if "base_info" in body else "base_info")
        self.note("called", method=method, wrong=wrong)
        if wrong:
            return web.json_response({"errcode": -14, "errmsg": "session timeout"})
        does: dict[str, Do] = {
            "getupdates": self._get_updates,
            "sendmessage": self._send_message,
            "getconfig": self._get_config,
            "sendtyping": self._send_typing,
            "msg/notifystart": self._notify,
            "msg/notifystop": self._notify,
        }
        if method not in does:
            return web.json_response({"ret": -1, "errmsg": "no such method"}, status=404)
        return await self.meet(method, request, lambda: does[method](body))

    def _wrong_headers(self, request: web.Request) -> str:
        headers = request.headers
        checks = {
            "Authorization": headers.get("Authorization") == f"Bearer {self.token}",
            "AuthorizationType": headers.get("AuthorizationType") == "ilink_bot_token",
            "iLink-App-Id": headers.get("iLink-App-Id") == "bot",
            "iLink-App-ClientVersion": headers.get("iLink-App-ClientVersion", "").isdecimal(),
            "X-WECHAT-UIN": _is_uin(headers.get("X-WECHAT-UIN", "")),
            "Content-Type": headers.get("Content-Type") == "application/json",
        }
        return ", ".join(name for name, right in checks.items() if not right)

    async def _get_updates(self, body: Facts) -> web.Response:
        self.note("polled", place=body["get_updates_buf"])
        if not self.waiting:
            self._news.clear()
            waits = [asyncio.ensure_future(self._news.wait()), asyncio.ensure_future(self.leaving.wait())]
            await asyncio.wait(waits, timeout=self.hold_s, return_when=asyncio.FIRST_COMPLETED)
            for one in waits:
                one.cancel()
        messages, self.waiting = list(self.waiting), deque()
        place = f"place-{next(self._places)}" if messages else ""
        hold_ms = int(self.hold_s * 1000)
        return web.json_response({"msgs": messages, "get_updates_buf": place, "longpolling_timeout_ms": hold_ms})

    async def _send_message(self, body: Facts) -> web.Response:
        message = body["msg"]
        assert isinstance(message, dict)
        if self.send_answers:
            return web.json_response(self.send_answers.popleft())
        context = message.get("context_token", "")
        if self.contexts.get(context, 0) <= 0:
            return web.json_response({"ret": -2, "errmsg": "prepare failed"})
        self.contexts[context] -= 1
        text = message["item_list"][0]["text_item"]["text"][:TEXT_LIMIT]
        number = next(self._numbers)
        self.note("sent", text=text, to=message["to_user_id"], client_id=message["client_id"], context=context)
        return web.json_response({"ret": 0} if self.without_id else {"ret": 0, "message_id": number})

    async def _get_config(self, body: Facts) -> web.Response:
        if body.get("context_token") not in self.contexts:
            return web.json_response({"ret": -4, "errmsg": "GetTypingTicket rpc failed"})
        return web.json_response({"ret": 0, "typing_ticket": "ticket"})

    async def _send_typing(self, body: Facts) -> web.Response:
        self.note("typing", user=body["ilink_user_id"], ticket=body["typing_ticket"], status=body["status"])
        return web.json_response({"ret": 0})

    async def _notify(self, _body: Facts) -> web.Response:
        return web.json_response({"ret": 0})

    # --- signing in ----------------------------------------------------------------------------------------------

    async def _give_code(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        code = f"code-{next(self._codes)}"
        self.note("code", code=code, tokens=len(body["local_token_list"]), signed="Authorization" in request.headers)
        return web.json_response({"qrcode": code, "qrcode_img_content": f"https://liteapp.weixin.qq.com/q/{code}"})

    async def _give_status(self, request: web.Request) -> web.StreamResponse:
        query = {name: values[0] for name, values in parse_qs(request.query_string).items()}
        self.note("status", **query)
        assert request.headers.get("iLink-App-Id") == "bot"
        status = self.statuses.popleft() if self.statuses else {"status": "wait"}
        if status.get("status") == "cut":
            assert request.transport is not None
            request.transport.abort()
        return web.json_response(status)


def _is_uin(text: str) -> bool:
    try:
        return base64.b64decode(text, validate=True).isdigit()
    except ValueError:
        return False
