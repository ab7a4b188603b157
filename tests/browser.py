"""A real browser before a real server: Debian's Chromium, uvicorn on loopback, axe-core. What is missing fails, never skips."""

import asyncio
import json
import socket
import subprocess
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import uvicorn
from litestar.types import ASGIApp
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from tests.chromium import ARGUMENTS, chromium_path

ROOT = Path(__file__).parent.parent
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@cache
def axe_source() -> str:
    """axe-core as package.json pins it, installed on first use."""
    if not AXE.exists():
        subprocess.run(
            ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"], cwd=ROOT, check=True
        )
    return AXE.read_text("utf-8")


@asynccontextmanager
async def serve(app: ASGIApp) -> AsyncIterator[str]:
    """The application on a free loopback port, with its lifespan."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=2)
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve(sockets=[listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await running
        listening.close()


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=chromium_path(), args=ARGUMENTS)
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class Visit:
    """A page and everything it asked for and complained of."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    async def faults(self, scope: str = "document") -> list[str]:
        """What axe finds, as `rule: element`."""
        await self.page.evaluate(axe_source())
        found = await self.page.evaluate(f"axe.run({scope}, {{runOnly: {json.dumps(RULES)}}})")
        return [f"{one['id']}: {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]]


async def visit(context: BrowserContext, path: str) -> Visit:
    seen = Visit(await context.new_page())
    seen.page.on("request", lambda request: seen.requests.append(f"{request.method} {request.url}"))
    seen.page.on("pageerror", lambda error: seen.complaints.append(str(error)))
    seen.page.on("console", lambda said: seen.complaints.append(said.text) if said.type == "error" else None)
    await seen.page.goto(path)
    return seen


def paths_asked(requests: Sequence[str], base: str) -> list[str]:
    return [one.replace(base, "") for one in requests]
