"""Stands between the persona and a real Synapse: lets everything through, breaks sends when told, and can slip events
into an answer to sync that no real server would send twice or so badly."""

import json
from pathlib import Path

import httpx
from aiohttp import web

from .platform import Facts, PlatformServer


class MatrixProxy(PlatformServer):
    def __init__(self, log: Path, upstream: str) -> None:
        super().__init__(log)
        self.slipped: list[tuple[str, Facts]] = []
        self._upstream = upstream

    def routes(self) -> list[web.RouteDef]:
        return [web.route("*", "/{path:.*}", self._serve)]

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        kind = next((kind for kind in ("send", "sync", "join") if f"/{kind}" in request.path), "other")

        async def forward() -> web.Response:
            return await self._forward(request, body, kind)

        return await self.meet(kind, request, forward)

    async def _forward(self, request: web.Request, body: bytes, kind: str) -> web.Response:
        headers = {name: request.headers[name] for name in ("Authorization", "Content-Type") if name in request.headers}
        async with httpx.AsyncClient(trust_env=False, timeout=60, verify=False) as http:
            answer = await http.request(
                request.method, f"{self._upstream}{request.raw_path}", content=body, headers=headers
            )
        if kind == "send" and answer.is_success:
            self.note("put", path=request.path, event=answer.json()["event_id"])
        content = self._slip(answer.content) if kind == "sync" and answer.is_success else answer.content
        return web.Response(status=answer.status_code, body=content, content_type="application/json")

    def _slip(self, content: bytes) -> bytes:
        found = json.loads(content)
        for room, event in self.slipped:
            joined = found.setdefault("rooms", {}).setdefault("join", {}).setdefault(room, {})
            joined.setdefault("timeline", {}).setdefault("events", []).append(event)
        self.slipped = []
        return json.dumps(found).encode()
