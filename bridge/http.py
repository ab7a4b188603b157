"""The bridge's own HTTP, on loopback: health for anybody here, everything else for whoever can read the token file."""

import hmac
from collections.abc import Awaitable, Callable

from aiohttp import WSMsgType, web

from core.errors import BadInput, PenfriendError
from core.ids import PartId

from .channels.console import ConsoleChannel
from .gateway import Gateway
from .http_memory import MemoryRoutes
from .outbox import list_outbox, resolution, resolve_part
from .status import breaker_row, part_row, status_of
from .store.breakers import clear_breaker, stopped_breakers
from .store.conversations import list_conversations, set_paused
from .trace import trace_of

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MAX_BODY = 256 * 1024
OPEN_PATHS = frozenset({"/healthz", "/readyz"})


def create_http(gateway: Gateway, token: str) -> web.Application:
    @web.middleware
    async def only_ours(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if request.path not in OPEN_PATHS and not hmac.compare_digest(given.encode(), token.encode()):
            return web.json_response({"detail": "the token of data/secrets/bridge.token is needed"}, status=401)
        try:
            return await handler(request)
        except BadInput as problem:
            return web.json_response({"detail": str(problem)}, status=400)
        except PenfriendError as problem:
            return web.json_response({"detail": str(problem)}, status=503)

    app = web.Application(middlewares=[only_ours], client_max_size=MAX_BODY)
    routes = _Routes(gateway)
    app.add_routes(
        [
            web.get("/healthz", routes.healthz),
            web.get("/readyz", routes.readyz),
            web.get("/status", routes.status),
            web.get("/trace/{id}", routes.trace),
            web.get("/outbox", routes.outbox),
            web.post("/outbox/{part}", routes.resolve),
            web.get("/breakers", routes.breakers),
            web.post("/breakers/clear", routes.clear),
            web.post("/pause", routes.pause),
            web.post("/resume", routes.resume),
            web.get("/console", routes.console),
            *MemoryRoutes(gateway).routes(),
        ]
    )
    return app


class _Routes:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def healthz(self, _request: web.Request) -> web.Response:
        return web.json_response({"status": "alive"})

    async def readyz(self, _request: web.Request) -> web.Response:
        broken = self._gateway.store.broken
        if broken:
            return web.json_response({"status": "not ready", "reason": str(broken)}, status=503)
        return web.json_response({"status": "ready"})

    async def status(self, _request: web.Request) -> web.Response:
        return web.json_response(await status_of(self._gateway))

    async def trace(self, request: web.Request) -> web.Response:
        return web.json_response(await self._gateway.store.read(trace_of, request.match_info["id"]))

    async def outbox(self, _request: web.Request) -> web.Response:
        parts = await self._gateway.store.read(list_outbox)
        return web.json_response({"parts": [part_row(part) for part in parts]})

    async def resolve(self, request: web.Request) -> web.Response:
        body = await _json(request)
        gateway, how = self._gateway, resolution(str(body.get("how")))
        part = PartId(_number(request.match_info["part"]))
        state = await gateway.store.write(resolve_part, gateway.delivering, part, how, gateway.clock())
        for bell in gateway.deliver_bells.values():
            bell.ring()
        return web.json_response({"part": part, "state": state})

    async def breakers(self, _request: web.Request) -> web.Response:
        stopped = await self._gateway.store.read(stopped_breakers)
        return web.json_response({"breakers": [breaker_row(subject, one) for subject, one in stopped.items()]})

    async def clear(self, request: web.Request) -> web.Response:
        subject = str((await _json(request)).get("subject"))
        if not await self._gateway.store.write(clear_breaker, subject):
            raise BadInput(f"{subject!r} was not stopped: see `penfriend breaker list`")
        return web.json_response({"cleared": subject})

    async def pause(self, _request: web.Request) -> web.Response:
        return await self._switch(paused=True)

    async def resume(self, _request: web.Request) -> web.Response:
        return await self._switch(paused=False)

    async def _switch(self, *, paused: bool) -> web.Response:
        conversations = await self._gateway.store.read(list_conversations)
        for conversation in conversations:
            await self._gateway.store.write(set_paused, conversation.id, paused)
        self._gateway.answer_bell.ring()
        return web.json_response({"paused": paused, "conversations": len(conversations)})

    async def console(self, request: web.Request) -> web.StreamResponse:
        channel = next((one for one in self._gateway.channels if isinstance(one, ConsoleChannel)), None)
        if channel is None:
            raise BadInput("the console is switched off: set channels.console.enabled = true")
        socket = web.WebSocketResponse(heartbeat=20, max_msg_size=MAX_BODY)
        await socket.prepare(request)
        terminal = channel.open_terminal(socket.send_json)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT and (wrong := await channel.hear(terminal, message.data)):
                    await socket.send_json({"wrong": wrong})
        finally:
            channel.close_terminal(terminal)
        return socket


async def _json(request: web.Request) -> dict[str, object]:
    try:
        body = await request.json()
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"the body is not JSON: {problem}") from problem
    if not isinstance(body, dict):
        raise BadInput("the body must be a JSON object")
    return body


def _number(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise BadInput(f"{text!r} is no part number: see `penfriend outbox list`")
    return int(text)
