"""A scripted OpenAI-compatible provider on loopback, over real sockets, so that it can also break the way they do.

In a test:                 async with ModelServer([Step("answer", text="你好")], log=path) as server: … server.base_url
As a process of its own:   python -m tests.fakes.model_server --port 0 --log FILE --script '[{"do":"answer"}]'
                           (or `--script @FILE`); the first line it prints is its port.

Each request takes the next step; after the last one every request is answered with an echo. What a request would be
charged is appended to the log before a byte of the answer leaves, so the log holds the truth even if this process dies.
"""

import argparse
import asyncio
import json
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

REASONS = {200: "OK", 302: "Found", 400: "Bad Request", 429: "Too Many Requests", 500: "Internal Server Error"}


@dataclass(frozen=True)
class Step:
    """What one request meets. `do` is a key of `DOES`; the rest shapes it.

    `usage` is what the answer reports: "right", "missing", or any JSON to be sent as it stands.
    `charged` overrides whether the request costs anything; without it only a `status` below 500 is free.
    """

    do: str = "answer"
    text: str | None = None
    finish: str | None = "stop"
    usage: object = "right"
    refusal: str | None = None
    reasoning: str | None = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: str = ""
    delay_s: float = 0.0
    pieces: int = 3
    charged: bool | None = None

    def __post_init__(self) -> None:
        if self.do not in DOES:
            raise ValueError(f"no step does {self.do!r}: choose one of {', '.join(DOES)}")

    @property
    def costs(self) -> bool:
        return self.charged if self.charged is not None else not (self.do == "status" and self.status < 500)


@dataclass(frozen=True)
class Asked:
    """A request as the provider saw it, and what it charges for it. The key is never written down."""

    number: int
    do: str
    path: str
    key_is_right: bool
    streamed: bool
    body: str
    input_tokens: int
    output_tokens: int


class ModelServer:
    def __init__(self, script: Sequence[Step] = (), *, log: Path, key: str = "", port: int = 0) -> None:
        self._script, self._log, self._key, self._port = list(script), log, key, port
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "ModelServer":
        self._log.touch()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    @property
    def port(self) -> int:
        return self._port

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def asked(self) -> list[Asked]:
        return read_log(self._log)

    async def until_asked(self, count: int = 1) -> None:
        while len(self.asked) < count:
            await asyncio.sleep(0.005)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._answer_one(reader, Wire(writer))
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # The client left, or the server is leaving.
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _answer_one(self, reader: asyncio.StreamReader, wire: "Wire") -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        step = self._script.pop(0) if self._script else Step()
        request = _read_request(body)
        if step.text is None:
            step = Step(**{**vars(step), "text": f"You said: {request.last_words}"})
        self._write_down(step, lines[0].split(" ")[1], headers.get("authorization", ""), body, request)
        await asyncio.sleep(step.delay_s)
        await DOES[step.do](wire, step, request)

    def _write_down(self, step: Step, path: str, authorization: str, body: bytes, request: "Request") -> None:
        self._number += 1
        input_tokens, output_tokens = _right_usage(step, request) if step.costs else (0, 0)
        right = authorization == (f"Bearer {self._key}" if self._key else "")
        asked = Asked(self._number, step.do, path, right, request.streamed, body.decode(), input_tokens, output_tokens)
        with self._log.open("a", encoding="utf-8") as log:
            log.write(json.dumps(vars(asked), ensure_ascii=False) + "\n")
            log.flush()
            os.fsync(log.fileno())


def read_log(path: Path) -> list[Asked]:
    return [Asked(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


@dataclass(frozen=True)
class Request:
    streamed: bool
    last_words: str
    size: int


def _read_request(body: bytes) -> Request:
    payload = json.loads(body)
    words = [message["content"] for message in payload["messages"] if message["role"] == "user"]
    return Request(bool(payload.get("stream")), words[-1] if words else "", len(body))


def _right_usage(step: Step, request: Request) -> tuple[int, int]:
    return request.size // 4, len(step.text or "") + len(step.reasoning or "")


class Wire:
    """The client's connection, with the ways in which it may end."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, data: str | bytes) -> None:
        self._writer.write(data.encode() if isinstance(data, str) else data)
        await self._writer.drain()

    async def send_head(self, status: int, kind: str, headers: dict[str, str], length: int | None = None) -> None:
        lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Odd')}", f"Content-Type: {kind}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [] if length is None else [f"Content-Length: {length}"]
        await self.send("\r\n".join(lines) + "\r\n\r\n")

    async def send_whole(self, status: int, body: str, headers: dict[str, str]) -> None:
        data = body.encode()
        await self.send_head(status, "application/json", headers, len(data))
        await self.send(data)

    async def send_event(self, event: object) -> None:
        await self.send(f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n")

    def reset(self) -> None:
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()


def _usage(step: Step, request: Request) -> dict[str, object]:
    if step.usage == "missing":
        return {}
    if step.usage != "right":
        return {"usage": step.usage}
    used, made = _right_usage(step, request)
    return {"usage": {"prompt_tokens": used, "completion_tokens": made, "total_tokens": used + made}}


def _said(step: Step, text: str | None) -> dict[str, object]:
    extra = {"refusal": step.refusal, "reasoning_content": step.reasoning}
    return {"role": "assistant", "content": text, **{name: value for name, value in extra.items() if value}}


async def _start_stream(wire: Wire, step: Step, count: int | None = None) -> None:
    """Head, role, and `count` of the text's pieces (all of them without it)."""
    await wire.send_head(200, "text/event-stream", step.headers)
    await wire.send_event({"choices": [{"index": 0, "delta": _said(step, ""), "finish_reason": None}]})
    text = step.text or ""
    size = max(1, -(-len(text) // step.pieces))
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    for piece in pieces[:count]:
        await wire.send_event({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": None}]})


async def _answer(wire: Wire, step: Step, request: Request) -> None:
    if not request.streamed:
        choice = {"index": 0, "message": _said(step, step.text), "finish_reason": step.finish}
        body = {"object": "chat.completion", "choices": [choice], **_usage(step, request)}
        await wire.send_whole(200, json.dumps(body), step.headers)
        return
    await _start_stream(wire, step)
    await wire.send_event({"choices": [{"index": 0, "delta": {}, "finish_reason": step.finish}]})
    if usage := _usage(step, request):
        await wire.send_event({"choices": [], **usage})
    await wire.send_event("[DONE]")


async def _status(wire: Wire, step: Step, request: Request) -> None:
    await wire.send_whole(step.status, step.body, step.headers)


async def _hang(wire: Wire, step: Step, request: Request) -> None:
    await asyncio.Event().wait()


async def _reset_at_once(wire: Wire, step: Step, request: Request) -> None:
    wire.reset()


async def _reset_inside(wire: Wire, step: Step, request: Request) -> None:
    if request.streamed:
        await _start_stream(wire, step, count=1)
    else:
        await wire.send_head(200, "application/json", step.headers, 5_000)
        await wire.send('{"choices":[{"message":{"content":"' + (step.text or ""))
    await asyncio.sleep(0.05)  # A reset overtakes what is still on its way.
    wire.reset()


async def _error_inside(wire: Wire, step: Step, request: Request) -> None:
    error = {"error": {"message": "the engine stopped", "code": 502}}
    if not request.streamed:
        await wire.send_whole(200, json.dumps(error), step.headers)
        return
    await _start_stream(wire, step, count=1)
    await wire.send_event(error)
    await wire.send_event("[DONE]")


async def _no_end(wire: Wire, step: Step, request: Request) -> None:
    await _start_stream(wire, step)


async def _stop_inside(wire: Wire, step: Step, request: Request) -> None:
    await _start_stream(wire, step, count=1)
    await asyncio.Event().wait()


async def _keep_alive(wire: Wire, step: Step, request: Request) -> None:
    await wire.send_head(200, "text/event-stream" if request.streamed else "application/json", step.headers)
    while True:
        await wire.send(": keep-alive\n\n" if request.streamed else "\n")
        await asyncio.sleep(0.02)


async def _raw(wire: Wire, step: Step, request: Request) -> None:
    """A body of any content, sent byte for byte after a head with 200."""
    await wire.send_head(200, "text/event-stream" if request.streamed else "application/json", step.headers)
    await wire.send(step.body)


async def _raw_then_hang(wire: Wire, step: Step, request: Request) -> None:
    await _raw(wire, step, request)
    await asyncio.Event().wait()


async def _flood(wire: Wire, step: Step, request: Request) -> None:
    await wire.send_head(200, "text/event-stream" if request.streamed else "application/json", step.headers)
    while True:
        await wire.send(b"x" * 65_536)


async def _drip(wire: Wire, step: Step, request: Request) -> None:
    """Real words, one after the other, for ever."""
    await _start_stream(wire, step, count=1)
    while True:
        await wire.send_event({"choices": [{"index": 0, "delta": {"content": "·"}, "finish_reason": None}]})
        await asyncio.sleep(0.02)


DOES: dict[str, Callable[[Wire, Step, Request], Awaitable[None]]] = {
    "answer": _answer,
    "status": _status,
    "hang": _hang,
    "reset_at_once": _reset_at_once,
    "reset_inside": _reset_inside,
    "error_inside": _error_inside,
    "no_end": _no_end,
    "stop_inside": _stop_inside,
    "keep_alive": _keep_alive,
    "raw": _raw,
    "raw_then_hang": _raw_then_hang,
    "flood": _flood,
    "drip": _drip,
}


def read_script(text: str) -> list[Step]:
    """A JSON list of steps, or `@FILE` with one."""
    source = Path(text[1:]).read_text("utf-8") if text.startswith("@") else text
    return [Step(**step) for step in json.loads(source)]


async def _run(args: argparse.Namespace) -> None:
    async with ModelServer(read_script(args.script), log=Path(args.log), key=args.key, port=args.port) as server:
        print(server.port, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted OpenAI-compatible provider on loopback.")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", required=True)
    parser.add_argument("--script", default="[]")
    parser.add_argument("--key", default="")
    asyncio.run(_run(parser.parse_args()))


if __name__ == "__main__":
    main()
