"""The line to a platform: whether a request left, what is bounded, and what is never shown."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from bridge.channels.contract import Sent
from bridge.channels.transport import MAX_ANSWER_BYTES, Answer, Line, NoAnswer, outcome_of_fault, outcome_of_status
from core.errors import SettingsError

SECRET_PATH = "/bot-canary-token/send"

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def a_server(serve: Serve) -> AsyncIterator[int]:
    """A raw server, so that it may break as it likes."""

    async def one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(one, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def answers(head: str, body: bytes = b"") -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()

    return serve


async def silence(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def ask(url: str, timeout_s: float = 5.0) -> Answer:
    line = Line("platform", url)
    try:
        return await line.ask("POST", SECRET_PATH, {"text": "好"}, timeout_s=timeout_s)
    finally:
        await line.close()


async def fault_of(url: str, timeout_s: float = 5.0) -> NoAnswer:
    with pytest.raises(NoAnswer) as fault:
        await ask(url, timeout_s)
    assert "canary" not in f"{fault.value}{fault.value.__cause__!r}"
    return fault.value


async def test_nobody_there_is_not_sent() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        fault = await fault_of(f"http://127.0.0.1:{closed.getsockname()[1]}")
    assert outcome_of_fault(fault).kind is Sent.NOT_SENT


async def test_a_deadline_inside_the_handshake_is_not_sent_and_leaves_no_socket() -> None:
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()  # the hello of TLS, and then the end of the connection
        left.set()

    async with a_server(serve) as port:
        fault = await fault_of(f"https://127.0.0.1:{port}", timeout_s=0.3)
        await asyncio.wait_for(left.wait(), 5)
    assert outcome_of_fault(fault).kind is Sent.NOT_SENT


async def test_a_cancelled_handshake_leaves_no_socket() -> None:
    left = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()
        left.set()

    async with a_server(serve) as port:
        asking = asyncio.create_task(ask(f"https://127.0.0.1:{port}"))
        await asyncio.sleep(0.2)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(left.wait(), 5)


async def test_no_answer_in_time_is_unknown() -> None:
    async with a_server(silence) as port:
        fault = await fault_of(f"http://127.0.0.1:{port}", timeout_s=0.3)
    assert (fault.left, fault.timed_out) == (True, True)
    assert outcome_of_fault(fault).kind is Sent.UNKNOWN


@pytest.mark.parametrize(
    "serve",
    [
        answers("banana", b"{}"),
        answers("200 OK\r\nContent-Encoding: gzip", b"no gzip"),
        answers("200 OK", b"x" * (MAX_ANSWER_BYTES + 1)),
    ],
)
async def test_an_answer_that_cannot_be_read_is_unknown(serve: Serve) -> None:
    async with a_server(serve) as port:
        fault = await fault_of(f"http://127.0.0.1:{port}")
    assert outcome_of_fault(fault).kind is Sent.UNKNOWN


async def test_a_redirect_is_not_followed_and_a_refusal() -> None:
    async with a_server(answers("302 Found\r\nLocation: http://127.0.0.1:1/")) as port:
        answer = await ask(f"http://127.0.0.1:{port}")
    assert outcome_of_status("platform", answer).kind is Sent.REFUSED


async def test_a_body_that_is_no_object_is_kept_as_text_only() -> None:
    async with a_server(answers("200 OK", b"[" * 100_000)) as port:
        answer = await ask(f"http://127.0.0.1:{port}")
    assert answer.json is None
    assert outcome_of_status("platform", answer).kind is Sent.UNKNOWN


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (429, Sent.NOT_SENT),
        (400, Sent.REFUSED),
        (403, Sent.REFUSED),
        (408, Sent.UNKNOWN),
        (500, Sent.UNKNOWN),
        (524, Sent.UNKNOWN),
        (204, Sent.UNKNOWN),
    ],
)
def test_what_a_status_makes_of_a_send(status: int, kind: Sent) -> None:
    assert outcome_of_status("platform", Answer(status, "", None, 2000)).kind is kind


@pytest.mark.parametrize("wait", ["3", "99999999", "-1", "soon"])
async def test_retry_after_is_seconds_within_reason(wait: str) -> None:
    async with a_server(answers(f"429 Busy\r\nRetry-After: {wait}")) as port:
        answer = await ask(f"http://127.0.0.1:{port}")
    assert answer.retry_after_ms == (3000 if wait == "3" else None)


@pytest.mark.parametrize("url", ["", "ftp://x", "http://8.8.8.8", "https://u:p@x.example", "https://x.example/?q=1"])
def test_an_address_that_cannot_carry_a_secret_is_refused(url: str) -> None:
    with pytest.raises(SettingsError):
        Line("platform", url)
