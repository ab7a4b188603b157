"""One platform's HTTP: sends a request once, and says of every fault whether the request left.

What a platform's own codes mean is in its file. What is the same for all is here: the line (no redirects, nothing kept
alive, no proxy from the environment, bounded time and size), and what a fault or a status makes of a send.
"""

import asyncio
import json
import ssl
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlsplit

import httpx

from core.departure import Departure, PlainToTheWorld
from core.model.config import check_base_url, is_private_address

from .contract import ChannelTrouble, SendOutcome, Sent

CONNECT_S = 10.0
MAX_ANSWER_BYTES = 8 * 1024 * 1024
"""A full poll answer: 100 updates with quotes and entities stay far below it."""

Json = dict[str, object]

_FAULTS = (httpx.HTTPError, httpx.InvalidURL, TimeoutError, UnicodeError, OSError, PlainToTheWorld)


class NoAnswer(ChannelTrouble):
    """No answer came. `left` says whether the platform may have acted; `timed_out` that time ran out after it left."""

    def __init__(self, reason: str, *, left: bool, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.left, self.timed_out = reason, left, timed_out


@dataclass(frozen=True)
class Answer:
    """`json` is None when the body is no JSON object."""

    status: int
    body: str
    json: Json | None
    retry_after_ms: int | None = None

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class Line:
    """HTTP to one platform. `name` is what faults call it: an address may hold a token, so none is ever shown."""

    def __init__(self, name: str, base_url: str) -> None:
        check_base_url(base_url)
        self._name, self._base = name, base_url.rstrip("/")
        self._plain = urlsplit(base_url).scheme == "http"
        self._http = httpx.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            verify=_tls(),
            limits=httpx.Limits(max_keepalive_connections=0),
            headers={"Accept-Encoding": "identity"},
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float,
    ) -> Answer:
        """One request, once, with `body` as JSON or `content` as it stands. Raises NoAnswer for every fault."""
        departure = Departure(is_private_address if self._plain else None)
        try:
            request = self._request(method, path, body, content, headers or {}, departure, timeout_s)
            async with asyncio.timeout(timeout_s):
                return await self._exchange(request)
        except _FAULTS as fault:
            timed_out = departure.left and isinstance(fault, TimeoutError | httpx.ReadTimeout)
            # `from None`: the fault's own text may show the address.
            raise NoAnswer(self._reason(fault, departure.left), left=departure.left, timed_out=timed_out) from None
        finally:
            await departure.close_connection()

    def _request(
        self,
        method: str,
        path: str,
        body: object,
        content: bytes | None,
        headers: Mapping[str, str],
        departure: Departure,
        timeout_s: float,
    ) -> httpx.Request:
        if body is not None:
            content = json.dumps(body, ensure_ascii=False).encode()
            headers = {"Content-Type": "application/json", **headers}
        return self._http.build_request(
            method,
            self._base + path,
            content=content,
            headers=dict(headers),
            timeout=httpx.Timeout(timeout_s, connect=min(CONNECT_S, timeout_s)),
            extensions={"trace": departure.watch},
        )

    async def _exchange(self, request: httpx.Request) -> Answer:
        response = await self._http.send(request, stream=True)
        body = b""
        async with aclosing(response):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MAX_ANSWER_BYTES:
                    raise httpx.DecodingError(f"more than {MAX_ANSWER_BYTES} bytes")
        text = body.decode("utf-8", "replace")
        return Answer(response.status_code, text, read_object(text), _retry_after(response.headers.get("Retry-After")))

    def _reason(self, fault: Exception, left: bool) -> str:
        if isinstance(fault, PlainToTheWorld):
            return f"{self._name}: http:// leads to {fault}, which is not a private address: use https://"
        if not left:
            return f"{self._name} cannot be reached ({type(fault).__name__}): check the network and base_url"
        return f"{self._name} gave no answer ({type(fault).__name__})"


@cache
def _tls() -> ssl.SSLContext:
    """Read from disk once for all lines: it takes a tenth of a second."""
    return httpx.create_ssl_context(trust_env=False)


def read_object(text: str) -> Json | None:
    """
    >>> read_object('{"ok": true}'), read_object("[1]"), read_object("<html>")
    ({'ok': True}, None, None)
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _retry_after(header: str | None) -> int | None:
    """Seconds only: no platform of ours sends a date."""
    return int(header) * 1000 if header is not None and header.isdecimal() and len(header) < 7 else None


def outcome_of_fault(fault: NoAnswer) -> SendOutcome:
    return SendOutcome(Sent.UNKNOWN if fault.left else Sent.NOT_SENT, reason=fault.reason)


def outcome_of_status(name: str, answer: Answer, says: str = "") -> SendOutcome:
    """What a status means for a send where the platform's own codes did not decide. `says` is its own sentence.

    >>> outcome_of_status("telegram", Answer(502, "", None)).kind, outcome_of_status("telegram", Answer(403, "", None)).kind
    (<Sent.UNKNOWN: 'unknown'>, <Sent.REFUSED: 'refused'>)
    """
    reason = f"{name} answered {answer.status}" + (f": {says[:200]}" if says else "")
    if answer.status == 429:
        return SendOutcome(Sent.NOT_SENT, retry_after_ms=answer.retry_after_ms, reason=reason)
    if answer.ok or answer.status >= 500 or answer.status == 408:
        return SendOutcome(Sent.UNKNOWN, reason=reason + ("" if says else ", which does not say what it did"))
    return SendOutcome(Sent.REFUSED, reason=reason)
