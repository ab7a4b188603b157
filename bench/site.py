"""What a page costs: a kept article page and its 304 beside the same bytes from a bare ASGI application, and a question.

    python -m bench.site [folder of Markdown]     (default: data/sample)

Both applications run on the same kind of server in a process of their own; one keep-alive client each, rounds interleaved,
medians. Read the ratios: absolute figures are those of a busy two-core machine.
"""

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from multiprocessing import get_context
from pathlib import Path

import httpx
import uvicorn
from litestar.types import ASGIApp, Receive, Scope, Send

from core.clock import system_clock
from core.settings import Settings
from website.app import create_app, open_parts
from website.content import import_folder

SITE_PORT, BARE_PORT = 8741, 8742
ROUNDS, SECONDS = 5, 1.0
QUESTIONS = (
    "泡茶的水温多少合适？",
    "how do the spokes pull?",
    "Who won the world cup in 1998?",
    "三个信封是什么意思？",
)


def serve_site(data_dir: str, folder: str) -> None:
    parts = open_parts(Settings(data_dir=Path(data_dir)))
    with parts.store:
        asyncio.run(import_folder(parts.store, Path(data_dir), Path(folder), system_clock))
        uvicorn.run(create_app(parts), port=SITE_PORT, log_level="warning", access_log=False)


def serve_bare(body: bytes) -> None:
    uvicorn.run(bare_page(body), port=BARE_PORT, log_level="warning", access_log=False)


def bare_page(body: bytes) -> ASGIApp:
    async def page(_scope: Scope, _receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"text/html"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": False})

    return page


async def rate(port: int, request: bytes) -> float:
    """Answers a second over one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answers, end = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(length[0].split(b":")[1]) if length else 0)
        answers += 1
    writer.close()
    return answers / SECONDS


def get(path: str, extra: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{extra}\r\n".encode()


async def until_up(port: int) -> None:
    for _ in range(300):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return
        except OSError:
            await asyncio.sleep(0.1)
    raise SystemExit(f"nothing answered on port {port} for 30 seconds")


async def timed(ask: Callable[[], Awaitable[object]]) -> float:
    start = time.perf_counter()
    await ask()
    return (time.perf_counter() - start) * 1000


async def measure(folder: Path) -> None:
    context = get_context("spawn")
    with tempfile.TemporaryDirectory() as data_dir:
        site = context.Process(target=serve_site, args=(data_dir, str(folder)))
        site.start()
        await until_up(SITE_PORT)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{SITE_PORT}") as client:
            path = (await client.get("/feed.json")).json()["items"][0]["url"].split("/", 3)[3]
            page = await client.get(f"/{path}")
            bare = context.Process(target=serve_bare, args=(page.content,))
            bare.start()
            await until_up(BARE_PORT)
            await pages(f"/{path}", page.headers["etag"], len(page.content))
            await questions(client)
        for process in (site, bare):
            process.terminate()
            process.join()


async def pages(path: str, etag: str, size: int) -> None:
    cases = {"bare ASGI": (BARE_PORT, get("/")), "kept page": (SITE_PORT, get(path))}
    cases["304"] = (SITE_PORT, get(path, f"If-None-Match: {etag}\r\n"))
    rounds = [{name: await rate(port, request) for name, (port, request) in cases.items()} for _ in range(ROUNDS)]
    medians = {name: statistics.median(one[name] for one in rounds) for name in cases}
    print(f"article of {size} bytes:")
    for name, value in medians.items():
        print(f"  {name:10} {value:8.0f} a second, {value / medians['bare ASGI']:.2f} of bare ASGI")


async def questions(client: httpx.AsyncClient) -> None:
    """Fewer than the limit of an address, so that every one is answered."""
    times = sorted([await timed(lambda q=q: client.post("/ask", data={"question": q})) for q in QUESTIONS * 4])  # type: ignore[misc]
    print(f"a question without a model: median {statistics.median(times):.1f} ms, slowest {times[-1]:.1f} ms")


if __name__ == "__main__":
    asyncio.run(measure(Path(sys.argv[1] if len(sys.argv) > 1 else "data/sample")))
