"""A program of the owner's own on the other side of the webhook: it sends signed messages and takes signed replies."""

import asyncio
import itertools
import json
import time
import uuid
from collections import deque

import httpx
from aiohttp import web

from bridge.channels.webhook import KEY_NAME, PATH, WebhookChannel
from core.control.signing import ControlKey, sign, verify

from .platform import PlatformServer

SECRET = "canary-webhook-secret-of-32-bytes-or-more"
KEY = ControlKey(KEY_NAME, "bridge", SECRET.encode())


class HookReceiver(PlatformServer):
    """Takes replies. `answers` are statuses and bodies for the next ones; without any it gives each an id."""

    answers: deque[tuple[int, str]]

    def routes(self) -> list[web.RouteDef]:
        self.answers = deque()
        return [web.post("/replies", self._serve)]

    @property
    def url(self) -> str:
        return f"{self.base_url}/replies"

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        verify([KEY], request.headers, "POST", request.path_qs, body, int(time.time()))

        async def take() -> web.Response:
            status, answer = self.answers.popleft() if self.answers else (200, json.dumps({"id": uuid.uuid4().hex}))
            if status < 300:
                self.note("sent", **json.loads(body))
            return web.Response(status=status, text=answer or None)

        return await self.meet("reply", request, take)


class HookProgram:
    """Sends, and repeats what it has not heard to be kept, at every channel it is told to follow."""

    def __init__(self) -> None:
        self._channel: WebhookChannel | None = None
        self._numbers = itertools.count(1)
        self._name = ""
        self._sending: set[asyncio.Task[None]] = set()
        self.statuses: list[int] = []

    def follow(self, channel: WebhookChannel) -> None:
        self._channel = channel

    async def say(self, text: str | None, chat: str, *, again: bool = False) -> None:
        """Goes on in the background until it is kept or refused."""
        if not again:
            self._name = f"hook-{next(self._numbers)}"
        body = json.dumps({"id": self._name, "chat": chat, "sender": chat, "text": text}).encode()
        task = asyncio.create_task(self._until_kept(body))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _until_kept(self, body: bytes) -> None:
        while True:
            status = await self._post(body)
            if status is not None and status != 503:
                self.statuses.append(status)
                return
            await asyncio.sleep(0.02)

    async def _post(self, body: bytes) -> int | None:
        assert self._channel is not None
        if not self._channel.health().receiving:
            return None
        headers = sign(KEY, uuid.uuid4().hex, int(time.time()), "POST", PATH, body)
        try:
            async with httpx.AsyncClient(trust_env=False, timeout=10, verify=False) as http:
                url = f"http://127.0.0.1:{self._channel.port}{PATH}"
                return (await http.post(url, content=body, headers=headers)).status_code
        except httpx.HTTPError:
            return None

    async def stop(self) -> None:
        for task in list(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
