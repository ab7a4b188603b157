"""What the fake platforms share: a server on loopback, an append-only log on disk, and faults that wait for a call.

A fault is armed for the next call of a method: `break_next("sendMessage", "drop_after")`. What each fault does:

    drop_before  the connection is cut before anything is done      lie_500    done, and answered with 500
    drop_after   done, and the connection is cut                     html       done, and answered with a page
    hang         done, and never answered                            busy       429, not done
"""

import asyncio
import json
import os
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from aiohttp import web

Facts = dict[str, object]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

FAULTS = frozenset({"drop_before", "drop_after", "hang", "lie_500", "html", "busy"})


class PlatformServer:
    """A subclass gives the routes; `log` is the platform's truth, whatever was answered."""

    def __init__(self, log: Path, port: int = 0) -> None:
        self._log, self.port = log, port
        self._faults: dict[str, deque[str]] = defaultdict(deque)
        self._runner: web.AppRunner | None = None
        self.leaving = asyncio.Event()

    def routes(self) -> list[web.RouteDef]:
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        self._log.touch()
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """On the same port again after a `stop`."""
        self.leaving.clear()
        app = web.Application(client_max_size=4 * 1024 * 1024)
        app.add_routes(self.routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self.port).start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        self.leaving.set()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def break_next(self, method: str, fault: str, times: int = 1) -> None:
        self._faults[method].extend([fault] * times)

    def note(self, what: str, **facts: object) -> None:
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps({"what": what, **facts}, ensure_ascii=False) + "\n")
            log.flush()
            os.fsync(log.fileno())

    def noted(self, what: str) -> list[Facts]:
        lines = [json.loads(line) for line in self._log.read_text("utf-8").splitlines()]
        return [line for line in lines if line["what"] == what]

    async def meet(self, method: str, request: web.Request, do: Callable[[], Awaitable[web.Response]]) -> web.Response:
        """Does what the call asks, unless the fault that waits for it says otherwise."""
        waiting = self._faults[method]
        fault = waiting.popleft() if waiting else ""
        if fault == "busy":
            return self.busy()
        if fault == "drop_before":
            return self._cut(request)
        answer = await do()
        if fault == "drop_after":
            return self._cut(request)
        if fault == "hang":
            await self.leaving.wait()
        if fault == "lie_500":
            return web.json_response({"ok": False, "description": "internal error"}, status=500)
        if fault == "html":
            return web.Response(text="<html>bad gateway</html>", content_type="text/html")
        return answer

    def busy(self) -> web.Response:
        return web.json_response({"error": "slow down"}, status=429, headers={"Retry-After": "1"})

    def _cut(self, request: web.Request) -> web.Response:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()
