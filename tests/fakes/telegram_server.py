"""A Bot API server on loopback that keeps Telegram's rules for polling, acknowledging and sending.

The rules are those of tdlib/telegram-bot-api: an update is there until a later call has a higher offset; an offset far
beyond the queue falls back to its head and confirms nothing; of two pollers the one that waits already gets 409; with a
webhook set polling is 409; a text is 1 to 4,096 UTF-16 units. More than the real one, it can be told to fail.
"""

import asyncio
import itertools
import json
from pathlib import Path

from aiohttp import web

from .platform import Facts, PlatformServer

TOKEN = "7301:canary-token-AAFakeFakeFakeFake"
LONGEST_HOLD_S = 50


def refusal(status: int, description: str, **parameters: object) -> web.Response:
    body: Facts = {"ok": False, "error_code": status, "description": description}
    if parameters:
        body["parameters"] = parameters
    return web.json_response(body, status=status)


def good(result: object) -> web.Response:
    return web.json_response({"ok": True, "result": result})


class TelegramServer(PlatformServer):
    def __init__(self, log: Path, *, token: str = TOKEN, port: int = 0) -> None:
        super().__init__(log, port)
        self.token = token
        self.queue: list[Facts] = []
        self.next_update, self.numbers = 1000, itertools.count(500)
        self.webhook = ""
        self.refusals: dict[str, web.Response] = {}
        self._news = asyncio.Event()
        self._waiting: asyncio.Future[None] | None = None

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/bot{token}/{method}", self._serve)]

    # --- what happens on the platform ----------------------------------------------------------------------------

    def say(self, text: str | None, *, chat: int = 42, sender: int = 42, more: Facts | None = None) -> Facts:
        """A person writes in a private chat; `more` goes into the message."""
        person = {"id": sender, "is_bot": False, "first_name": "Anna"}
        message: Facts = {
            "message_id": next(self.numbers),
            "date": 1_790_000_000,
            "chat": {"id": chat, "type": "private" if chat > 0 else "supergroup"},
            "from": person,
            **({} if text is None else {"text": text}),
            **(more or {}),
        }
        self.bring({"message": message})
        return message

    def edit(self, message: Facts, text: str) -> None:
        self.bring({"edited_message": {**message, "text": text, "edit_date": 1_790_000_100}})

    def bring(self, update: Facts) -> None:
        """Puts an update into the queue under the next number."""
        self.queue.append({"update_id": self.next_update, **update})
        self.next_update += 1
        self._news.set()

    @property
    def sent(self) -> list[Facts]:
        return self.noted("sent")

    # --- the Bot API ---------------------------------------------------------------------------------------------

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return refusal(401, "Unauthorized")
        method, body = request.match_info["method"], json.loads(await request.read() or b"{}")
        does = {
            "getMe": self._get_me,
            "getUpdates": self._get_updates,
            "sendMessage": self._send_message,
            "sendChatAction": self._send_chat_action,
            "deleteWebhook": self._delete_webhook,
        }
        if method not in does:
            return refusal(404, "Not Found: method not found")
        return await self.meet(method, request, lambda: does[method](body))

    def busy(self) -> web.Response:
        return refusal(429, "Too Many Requests: retry after 1", retry_after=1)

    async def _get_me(self, _body: Facts) -> web.Response:
        return good({"id": int(self.token.split(":")[0]), "is_bot": True, "first_name": "P", "username": "Pen_bot"})

    async def _delete_webhook(self, body: Facts) -> web.Response:
        self.webhook = ""
        self.note("webhook deleted", dropped=body.get("drop_pending_updates", False))
        return good(True)

    async def _send_chat_action(self, body: Facts) -> web.Response:
        self.note("action", chat=body["chat_id"], action=body["action"])
        return good(True)

    async def _get_updates(self, body: Facts) -> web.Response:
        if self.webhook:
            return refusal(409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook")
        offset, hold_s = body.get("offset"), body.get("timeout", 0)
        assert isinstance(hold_s, int | float)
        self.note("polled", offset=offset, allowed=body.get("allowed_updates"))
        if isinstance(offset, int):
            self._confirm(offset)
        if not self.queue and not await self._wait(min(hold_s, LONGEST_HOLD_S)):
            return refusal(409, "Conflict: terminated by other getUpdates request")
        limit = body.get("limit", 100)
        assert isinstance(limit, int)
        return good(self.queue[:limit])

    def _confirm(self, offset: int) -> None:
        """Drops what lies before the offset; one far beyond the end confirms nothing."""
        assert offset >= 0, "a negative offset drops updates"
        if offset <= self.next_update + 10:
            self.queue = [update for update in self.queue if _number(update) >= offset]

    async def _wait(self, hold_s: float) -> bool:
        """Until there is news or time is up; False when another poller took our place."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
        mine = self._waiting = asyncio.get_running_loop().create_future()
        self._news.clear()
        waits = {asyncio.ensure_future(self._news.wait()), asyncio.ensure_future(self.leaving.wait()), mine}
        await asyncio.wait(waits, timeout=hold_s, return_when=asyncio.FIRST_COMPLETED)
        taken = mine.done()
        for one in waits:
            one.cancel()
        return not taken

    async def _send_message(self, body: Facts) -> web.Response:
        chat, text = str(body["chat_id"]), str(body["text"])
        if chat in self.refusals:
            return self.refusals.pop(chat)
        if not text.strip():
            return refusal(400, "Bad Request: message text is empty")
        units = len(text.encode("utf-16-le")) // 2
        if units > 4096:
            return refusal(400, "Bad Request: message is too long")
        entities = body.get("entities", [])
        assert isinstance(entities, list)
        if any(entity["offset"] + entity["length"] > units for entity in entities):
            return refusal(400, "Bad Request: can't parse entities: entity is out of range")
        number = next(self.numbers)
        self.note(
            "sent", chat=chat, text=text, message_id=number, entities=entities, replies_to=body.get("reply_parameters")
        )
        return good({"message_id": number, "chat": {"id": body["chat_id"]}, "text": text})


def _number(update: Facts) -> int:
    number = update["update_id"]
    assert isinstance(number, int)
    return number
