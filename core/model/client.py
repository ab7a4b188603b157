"""The model over HTTP, at any OpenAI-compatible address.

One call sends one request, once. Nothing is followed, repeated or kept alive: a stale connection would make
"did it leave?" unanswerable. httpx's trace says when the first byte leaves; from then on a fault is "maybe charged".
Time is bounded three ways: connecting; silence, in which comments and blank lines count as silence; and everything
together.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing

import httpx

from ..clock import Clock, system_clock
from ..departure import Departure, PlainToTheWorld
from .config import ModelConfig, is_private_address
from .contract import Attempt, Finish, Finished, ModelEvent, ModelResult, TextPiece
from .outcomes import Outcome, Signal, outcome_of, signal_of_status
from .refusal import read_refusal, read_retry_after
from .reply import Reply, Unreadable, signal_of_answer
from .request import ModelRequest

MAX_CONNECTIONS = 16
REFUSAL_BYTES = 64 * 1024
ANSWER_BYTES = 1024 * 1024
ANSWER_BYTES_PER_TOKEN = 1024
"""An event around one token takes 200 to 500 bytes with the providers we know."""


_NO_CONNECTION = (httpx.ConnectError, httpx.TimeoutException, httpx.NetworkError, TimeoutError)
_FAULTS = (httpx.HTTPError, httpx.InvalidURL, TimeoutError, UnicodeError, Unreadable, PlainToTheWorld)


class HttpModelClient:
    """`ModelClient` over HTTP. `may_be_plain` judges the address a request without TLS has connected to."""

    def __init__(
        self,
        config: ModelConfig,
        *,
        clock: Clock = system_clock,
        max_connections: int = MAX_CONNECTIONS,
        may_be_plain: Callable[[str], bool] = is_private_address,
    ) -> None:
        self._config, self._clock, self._may_be_plain = config, clock, may_be_plain
        self._http = httpx.AsyncClient(
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(
                connect=config.connect_timeout_s, pool=config.connect_timeout_s, write=config.idle_timeout_s, read=None
            ),
            limits=httpx.Limits(max_connections=max_connections, max_keepalive_connections=0),
        )

    async def aclose(self) -> None:
        await self._http.aclose()

    async def answer(self, request: ModelRequest, attempt: Attempt | None = None) -> ModelResult:
        async with aclosing(self.stream(request, attempt)) as events:
            async for event in events:
                if isinstance(event, Finished):
                    return event.result
        raise AssertionError("a stream of model events ends with Finished")

    async def stream(self, request: ModelRequest, attempt: Attempt | None = None) -> AsyncGenerator[ModelEvent, None]:
        exchange = _Exchange(self._config, request, attempt or Attempt(), self._clock, self._may_be_plain)
        async with aclosing(exchange.pieces(self._http)) as pieces:
            async for piece in pieces:
                yield TextPiece(piece)
        yield Finished(exchange.result())


class _Exchange:
    """One request and what came of it. `signal` stays None while all that counts is the reply itself."""

    def __init__(
        self,
        config: ModelConfig,
        request: ModelRequest,
        attempt: Attempt,
        clock: Clock,
        may_be_plain: Callable[[str], bool],
    ) -> None:
        self._config, self._request, self._attempt = config, request, attempt
        self._clock = clock
        self._departure = Departure(may_be_plain if config.speaks_plainly else None)
        self._reply = Reply(event_stream=request.streamed)
        self._signal: Signal | None = None
        self._status: int | None = None
        self._retry_after_s: float | None = None
        self._only_keep_alive = False
        self._total_at = self._deadline = asyncio.get_running_loop().time() + config.total_timeout_s
        self._timer: asyncio.Timeout | None = None

    async def pieces(self, http: httpx.AsyncClient) -> AsyncGenerator[str, None]:
        """Text as it comes. Every fault ends the pieces quietly and is left in `result`."""
        try:
            response = await self._send(http)
            self._status = response.status_code
            async with aclosing(response):
                if response.is_success:
                    async with aclosing(self._read(response)) as pieces:
                        async for piece in pieces:
                            yield piece
                else:
                    await self._read_refusal(response)
        except _FAULTS as fault:
            self._signal = self._signal or self._signal_of(fault)

    def result(self) -> ModelResult:
        if self._signal is not None:
            return self._without_answer(self._signal)
        if self._reply.error_inside:
            return self._without_answer(Signal.ERROR_INSIDE)
        if not self._reply.whole:
            return self._without_answer(Signal.ENDED_EARLY)
        return self._with_answer()

    async def _send(self, http: httpx.AsyncClient) -> httpx.Response:
        key = self._config.api_key.get_secret_value()
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        request = http.build_request(
            "POST",
            self._config.completions_url,
            content=self._request.body,
            headers=headers,
            extensions={"trace": self._watch},
        )
        try:
            async with asyncio.timeout_at(self._deadline) as self._timer:
                return await http.send(request, stream=True)
        except BaseException:
            await self._departure.close_connection()
            raise

    async def _watch(self, event: str, info: Mapping[str, object]) -> None:
        await self._departure.watch(event, info)
        self._attempt.sent = self._attempt.sent or self._departure.left
        if event.endswith("send_request_body.complete"):
            self._expect_more()
            if self._timer is not None:
                self._timer.reschedule(self._deadline)

    def _expect_more(self) -> None:
        """Something real came or went: silence is counted from now on, within the total time."""
        now = asyncio.get_running_loop().time()
        self._deadline = min(self._total_at, now + self._config.idle_timeout_s)

    async def _read(self, response: httpx.Response) -> AsyncGenerator[str, None]:
        kind = response.headers.get("Content-Type", "text/event-stream" if self._request.streamed else "")
        self._reply = Reply(event_stream="text/event-stream" in kind.lower())
        limit = ANSWER_BYTES + ANSWER_BYTES_PER_TOKEN * self._request.max_output_tokens
        async with aclosing(self._chunks(response, limit)) as chunks:
            async for chunk in chunks:
                for piece in self._reply.feed(chunk):
                    yield piece
                self._only_keep_alive = not self._reply.progressed
                if self._reply.progressed:
                    self._expect_more()
                if self._reply.done:
                    return
        for piece in self._reply.close():
            yield piece

    async def _chunks(self, response: httpx.Response, limit: int) -> AsyncGenerator[bytes, None]:
        """The body within its time and size. Each wait has its own timer: none may run while a reader is at work."""
        received = 0
        chunks: AsyncIterator[bytes] = response.aiter_bytes()
        while True:
            async with asyncio.timeout_at(self._deadline):
                chunk = await anext(chunks, None)
            if chunk is None:
                return
            received += len(chunk)
            if received > limit:
                raise Unreadable(f"more than {limit} bytes")
            yield chunk

    async def _read_refusal(self, response: httpx.Response) -> None:
        """The status decides; a body that breaks, stalls or never ends only loses its codes."""
        self._signal = signal_of_status(response.status_code)
        self._retry_after_s = read_retry_after(response.headers.get("Retry-After"), self._clock())
        body = b""
        async with aclosing(self._chunks(response, REFUSAL_BYTES)) as chunks:
            async for chunk in chunks:
                body += chunk
        refusal = read_refusal(body)
        self._signal = signal_of_status(response.status_code, refusal.codes, refusal.says_too_long)

    def _signal_of(self, fault: Exception) -> Signal | None:
        if not self._attempt.sent:
            if isinstance(fault, httpx.PoolTimeout):
                return Signal.NO_FREE_CONNECTION
            return Signal.NOT_CONNECTED if isinstance(fault, _NO_CONNECTION) else Signal.NOT_SENDABLE
        if self._reply.whole:
            return None  # Everything but the end mark or the usage had come: the answer stands.
        if isinstance(fault, Unreadable | httpx.DecodingError):
            return Signal.UNREADABLE
        if isinstance(fault, TimeoutError) and self._only_keep_alive:
            return Signal.ONLY_KEEP_ALIVE
        if isinstance(fault, TimeoutError | httpx.TimeoutException) or self._status is None:
            return Signal.NO_ANSWER
        return Signal.CUT_OFF

    def _with_answer(self) -> ModelResult:
        reply = self._reply
        finish = reply.finish
        usage, fault = reply.usage_within(len(self._request.body), self._request.max_output_tokens)
        outcome = self._outcome(signal_of_answer(finish, fault))
        if finish in (Finish.REFUSED, Finish.EMPTY):
            return ModelResult(outcome, self._detail(outcome), "", finish, usage, evidence=reply.evidence)
        return ModelResult(outcome, self._detail(outcome), reply.text, finish, usage)

    def _without_answer(self, signal: Signal) -> ModelResult:
        outcome = self._outcome(signal)
        return ModelResult(
            outcome, self._detail(outcome), evidence=self._reply.evidence, retry_after_s=self._retry_after_s
        )

    def _outcome(self, signal: Signal) -> Outcome:
        return outcome_of(signal, self._config.policy)

    def _detail(self, outcome: Outcome) -> str:
        status = "" if self._status is None or self._status == 200 else f" (status {self._status})"
        return f"model {self._config.name!r}{status}: {outcome.says}"
