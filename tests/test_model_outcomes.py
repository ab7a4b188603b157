"""Every row of the outcome table, met over a real connection."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.clock import Instant
from core.model.client import HttpModelClient
from core.model.config import ModelConfig
from core.model.contract import Attempt, Finish, ModelResult
from core.model.outcomes import TABLE, Kind, ProviderPolicy, Retry, Signal, Verdict, outcome_of
from core.model.request import Message, ModelRequest, Task, build_request

from .fakes.model_server import ModelServer, Step

KEY = "sk-canary-4d1f"
WORDS = "canary words of the person"
NOON = Instant(1_700_000_000_000)


def a_config(base_url: str, **changes: object) -> ModelConfig:
    quick = ModelConfig(
        provider="openai",
        base_url=base_url,
        api_key=SecretStr(KEY),
        name="test-model",
        max_output_tokens=200,
        connect_timeout_s=2.0,
        idle_timeout_s=0.3,
        total_timeout_s=3.0,
    )
    return replace(quick, **changes)  # type: ignore[arg-type]


def a_request(config: ModelConfig, streamed: bool = False) -> ModelRequest:
    return build_request(config, [Message("user", WORDS)], task=Task.REPLY, streamed=streamed)


@asynccontextmanager
async def a_client(config: ModelConfig, max_connections: int = 4) -> AsyncIterator[HttpModelClient]:
    client = HttpModelClient(config, clock=lambda: NOON, max_connections=max_connections)
    try:
        yield client
    finally:
        await client.aclose()


@dataclass(frozen=True)
class Case:
    row: int
    sentence: str
    step: Step
    signal: Signal
    verdict: Verdict
    retry: Retry = Retry.NEVER
    streamed: bool | None = None
    """None: both ways."""
    check: Callable[[ModelResult], bool] = lambda result: True
    config: dict[str, object] = field(default_factory=dict)


def status(code: int, body: str = "", **headers: str) -> Step:
    return Step("status", status=code, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()})


RELEASE, UNKNOWN, SETTLE = Verdict.RELEASE, Verdict.UNKNOWN, Verdict.SETTLE
NEVER, LATER, ONCE, REPACK = Retry.NEVER, Retry.LATER, Retry.ONCE, Retry.REPACK_ONCE
TOO_LONG = '{"error":{"code":"context_length_exceeded","message":"m"}}'
TOO_LONG_IN_WORDS = '{"error":{"message":"This model\'s maximum context length is 4096 tokens"}}'
USED_UP = '{"error":{"code":"insufficient_quota"}}'
POLICY_500: dict[str, object] = {"policy": ProviderPolicy(unbilled_500=True)}
POLICY_503: dict[str, object] = {"policy": ProviderPolicy(retry_503=True)}


def usage(used: object, made: object) -> dict[str, object]:
    return {"prompt_tokens": used, "completion_tokens": made}


def kept_as_evidence(result: ModelResult) -> bool:
    return result.text == "" and "He" in result.evidence and result.finish is Finish.NONE


CASES = [
    Case(0, "a plain answer is settled", Step(text="你好"), Signal.ANSWERED, SETTLE, check=lambda r: r.text == "你好"),
    Case(
        3,
        "a context that is too long is packed smaller",
        status(400, TOO_LONG),
        Signal.CONTEXT_TOO_LONG,
        RELEASE,
        REPACK,
    ),
    Case(
        3,
        "too long said in words is the same",
        status(400, TOO_LONG_IN_WORDS),
        Signal.CONTEXT_TOO_LONG,
        RELEASE,
        REPACK,
    ),
    Case(3, "a bad request is never sent again", status(400, "{}"), Signal.BAD_REQUEST, RELEASE),
    Case(
        4,
        "a refused key pauses the provider",
        status(401),
        Signal.KEY_REFUSED,
        RELEASE,
        check=lambda r: r.outcome.pauses_provider,
    ),
    Case(
        4,
        "a forbidden key pauses the provider",
        status(403),
        Signal.KEY_REFUSED,
        RELEASE,
        check=lambda r: r.outcome.alerts_owner,
    ),
    Case(
        5,
        "no balance pauses the provider",
        status(402),
        Signal.NO_BALANCE,
        RELEASE,
        check=lambda r: r.outcome.pauses_provider,
    ),
    Case(6, "an unknown model is refused", status(404), Signal.NO_SUCH_MODEL, RELEASE),
    Case(7, "a 408 may have been charged", status(408), Signal.SERVER_TIMED_OUT, UNKNOWN),
    Case(8, "a 409 may be tried once more", status(409), Signal.CONFLICT, RELEASE, ONCE),
    Case(9, "a 413 is refused", status(413), Signal.BAD_PARAMETERS, RELEASE),
    Case(9, "a 422 is refused", status(422), Signal.BAD_PARAMETERS, RELEASE),
    Case(
        10,
        "a 429 names its seconds",
        status(429, Retry_After="7"),
        Signal.RATE_LIMITED,
        RELEASE,
        LATER,
        check=lambda r: r.retry_after_s == 7,
    ),
    Case(
        10,
        "a 429 names a date",
        status(429, Retry_After="Tue, 14 Nov 2023 22:13:50 GMT"),
        Signal.RATE_LIMITED,
        RELEASE,
        LATER,
        check=lambda r: r.retry_after_s == 30,
    ),
    Case(
        10,
        "a 429 asks for more than a day",
        status(429, Retry_After="90000"),
        Signal.RATE_LIMITED,
        RELEASE,
        LATER,
        check=lambda r: r.retry_after_s == 3600,
    ),
    Case(
        10,
        "a 429 names nothing",
        status(429),
        Signal.RATE_LIMITED,
        RELEASE,
        LATER,
        check=lambda r: r.retry_after_s is None,
    ),
    Case(11, "a used up quota is no rate limit", status(429, USED_UP), Signal.QUOTA_EXHAUSTED, RELEASE),
    Case(12, "a 500 may have been charged", status(500), Signal.SERVER_ERROR, UNKNOWN),
    Case(
        12,
        "a 500 is free where the provider says so",
        status(500),
        Signal.SERVER_ERROR,
        RELEASE,
        ONCE,
        config=POLICY_500,
    ),
    Case(13, "a 502 may have been charged", status(502), Signal.GATEWAY_ERROR, UNKNOWN),
    Case(13, "a 504 may have been charged", status(504), Signal.GATEWAY_ERROR, UNKNOWN),
    Case(14, "a 503 may have been charged", status(503), Signal.OVERLOADED, UNKNOWN),
    Case(
        14,
        "a 503 is free where the provider says so",
        status(503),
        Signal.OVERLOADED,
        RELEASE,
        LATER,
        config=POLICY_503,
    ),
    Case(15, "silence after sending may have been charged", Step("hang"), Signal.NO_ANSWER, UNKNOWN),
    Case(15, "a reset before the answer may have been charged", Step("reset_at_once"), Signal.NO_ANSWER, UNKNOWN),
    Case(
        15,
        "silence inside an answer keeps the words as evidence",
        Step("stop_inside", text="Hello"),
        Signal.NO_ANSWER,
        UNKNOWN,
        streamed=True,
        check=kept_as_evidence,
    ),
    Case(
        15,
        "words that never end meet the total limit",
        Step("drip", text="Hello"),
        Signal.NO_ANSWER,
        UNKNOWN,
        streamed=True,
        config={"total_timeout_s": 0.5},
        check=kept_as_evidence,
    ),
    Case(
        16,
        "a reset inside an answer keeps the words as evidence",
        Step("reset_inside", text="Hello", pieces=1),
        Signal.CUT_OFF,
        UNKNOWN,
        check=kept_as_evidence,
    ),
    Case(
        17,
        "an error inside a stream keeps the words as evidence",
        Step("error_inside", text="Hello", pieces=1),
        Signal.ERROR_INSIDE,
        UNKNOWN,
        streamed=True,
        check=kept_as_evidence,
    ),
    Case(
        17, "an error under status 200 is no answer", Step("error_inside"), Signal.ERROR_INSIDE, UNKNOWN, streamed=False
    ),
    Case(
        17,
        "a finish reason of error is an error",
        Step(text="Hello", finish="error"),
        Signal.ERROR_INSIDE,
        UNKNOWN,
        check=kept_as_evidence,
    ),
    Case(
        18,
        "a stream without its end is incomplete",
        Step("no_end", text="Hello"),
        Signal.ENDED_EARLY,
        UNKNOWN,
        streamed=True,
        check=kept_as_evidence,
    ),
    Case(
        19,
        "missing usage charges all that was held",
        Step(text="ok", usage="missing"),
        Signal.USAGE_MISSING,
        SETTLE,
        check=lambda r: r.text == "ok" and r.usage is None,
    ),
    Case(
        19,
        "empty usage counts as missing",
        Step(text="ok", usage={}),
        Signal.USAGE_MISSING,
        SETTLE,
        check=lambda r: r.usage is None,
    ),
    Case(
        20,
        "negative usage is wrong",
        Step(text="ok", usage=usage(5, -1)),
        Signal.USAGE_WRONG,
        SETTLE,
        check=lambda r: r.usage is None,
    ),
    Case(
        20,
        "usage that is no whole number is wrong",
        Step(text="ok", usage=usage(5.5, 1)),
        Signal.USAGE_WRONG,
        SETTLE,
        check=lambda r: r.usage is None,
    ),
    Case(
        20,
        "usage in words is wrong",
        Step(text="ok", usage=usage("5", 1)),
        Signal.USAGE_WRONG,
        SETTLE,
        check=lambda r: r.text == "ok",
    ),
    Case(20, "usage of yes is wrong", Step(text="ok", usage=usage(5, True)), Signal.USAGE_WRONG, SETTLE),
    Case(
        20,
        "usage beyond belief is wrong",
        Step(text="ok", usage=usage(5, 10**40)),
        Signal.USAGE_WRONG,
        SETTLE,
        check=lambda r: r.usage is None,
    ),
    Case(
        20,
        "usage above the reserve is kept and flagged",
        Step(text="ok", usage=usage(5, 201)),
        Signal.USAGE_WRONG,
        SETTLE,
        check=lambda r: r.usage is not None and r.usage.output_tokens == 201,
    ),
    Case(
        21,
        "a cut answer is settled and marked",
        Step(text="Hel", finish="length"),
        Signal.LENGTH,
        SETTLE,
        check=lambda r: (r.text, r.finish) == ("Hel", Finish.LENGTH),
    ),
    Case(
        19,
        "a cut answer without usage is still marked",
        Step(text="Hel", finish="length", usage="missing"),
        Signal.USAGE_MISSING,
        SETTLE,
        check=lambda r: r.finish is Finish.LENGTH,
    ),
    Case(
        22,
        "a filtered answer gives no words to send",
        Step(text="Hel", finish="content_filter"),
        Signal.FILTERED,
        SETTLE,
        check=lambda r: (r.text, r.evidence, r.finish) == ("", "Hel", Finish.REFUSED),
    ),
    Case(
        22,
        "a refusal gives no words to send",
        Step(text="", refusal="Hel no"),
        Signal.FILTERED,
        SETTLE,
        check=lambda r: (r.text, r.finish) == ("", Finish.REFUSED),
    ),
    Case(
        23, "an empty answer is settled", Step(text=""), Signal.EMPTY, SETTLE, check=lambda r: r.finish is Finish.EMPTY
    ),
    Case(
        23,
        "thoughts without words are settled",
        Step(text="", reasoning="hmm"),
        Signal.EMPTY,
        SETTLE,
        check=lambda r: r.text == "" and r.usage is not None and r.usage.output_tokens == 3,
    ),
    Case(24, "keep-alive does not count as an answer", Step("keep_alive"), Signal.ONLY_KEEP_ALIVE, UNKNOWN),
    Case(25, "a body that is no JSON is unreadable", Step("raw", body="data: <html>\n\n"), Signal.UNREADABLE, UNKNOWN),
    Case(
        25,
        "JSON of another shape is unreadable",
        Step("raw", body='{"hello": 1}'),
        Signal.UNREADABLE,
        UNKNOWN,
        streamed=False,
    ),
    Case(
        25, "JSON too deep is unreadable", Step("raw", body="[" * 100_000), Signal.UNREADABLE, UNKNOWN, streamed=False
    ),
    Case(25, "an answer without end meets the size limit", Step("flood"), Signal.UNREADABLE, UNKNOWN),
    Case(26, "a redirect is not followed", status(302, Location="http://127.0.0.1:9/"), Signal.REDIRECTED, RELEASE),
    Case(27, "an odd status may have been charged", status(499), Signal.ODD_STATUS, UNKNOWN),
]

BOTH_WAYS = [
    pytest.param(case, streamed, id=f"row {case.row}: {case.sentence}, {'streamed' if streamed else 'in one piece'}")
    for case in CASES
    for streamed in (False, True)
    if case.streamed in (None, streamed)
]


@pytest.mark.parametrize(("case", "streamed"), BOTH_WAYS)
async def test_a_row_of_the_table_over_a_real_connection(case: Case, streamed: bool, tmp_path: Path) -> None:
    async with ModelServer([case.step], log=tmp_path / "log", key=KEY) as server:
        config = a_config(server.base_url, **case.config)

        async with a_client(config) as client:
            attempt = Attempt()
            result = await client.answer(a_request(config, streamed), attempt)

        outcome = result.outcome
        assert attempt.sent
        assert (outcome.signal, outcome.row) == (case.signal, case.row)
        assert (outcome.verdict, outcome.retry) == (case.verdict, case.retry)
        assert case.check(result), result
        assert [asked.key_is_right for asked in server.asked] == [True], "exactly one request left"
        assert KEY not in repr((result, config, client))
        assert KEY not in result.detail and WORDS not in result.detail


def test_every_numbered_row_is_met_by_a_test() -> None:
    met_elsewhere = {1, 2, 28}

    assert {case.row for case in CASES} | met_elsewhere == {outcome.row for outcome in TABLE.values()}
    assert {outcome.row for outcome in TABLE.values()} == set(range(29))
    assert TABLE.keys() == set(Signal)


async def test_row_1_a_refused_connection_is_released(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: nobody else gets the port, and nobody answers
        config = a_config(f"http://127.0.0.1:{taken.getsockname()[1]}/v1")

        async with a_client(config) as client:
            result = await client.answer(a_request(config))

    assert result.outcome.signal is Signal.NOT_CONNECTED
    assert (result.outcome.verdict, result.outcome.retry) == (RELEASE, LATER)


async def test_row_1_a_failed_handshake_is_released(tmp_path: Path) -> None:
    async with ModelServer(log=tmp_path / "log") as server:
        config = a_config(server.base_url.replace("http:", "https:"), connect_timeout_s=0.2)

        async with a_client(config) as client:
            result = await client.answer(a_request(config))

        assert result.outcome.signal is Signal.NOT_CONNECTED
        assert server.asked == []


async def test_row_2_a_full_pool_is_released(tmp_path: Path) -> None:
    async with ModelServer([Step("hang")], log=tmp_path / "log") as server:
        config = a_config(server.base_url, connect_timeout_s=0.2, idle_timeout_s=5.0)
        async with a_client(config, max_connections=1) as client:
            first = asyncio.create_task(client.answer(a_request(config)))
            await server.until_asked(1)

            second = await client.answer(a_request(config))

            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
        assert second.outcome.signal is Signal.NO_FREE_CONNECTION
        assert (second.outcome.verdict, second.outcome.retry) == (RELEASE, LATER)
        assert len(server.asked) == 1


async def test_a_name_that_no_resolver_takes_is_our_fault_and_released() -> None:
    config = a_config("https://" + "a" * 64 + ".localhost/v1")

    async with a_client(config) as client:
        result = await client.answer(a_request(config))

    assert result.outcome.verdict is RELEASE


async def test_row_28_plain_http_to_the_world_is_stopped_before_a_byte_leaves(tmp_path: Path) -> None:
    async with ModelServer(log=tmp_path / "log") as server:
        config = a_config(server.base_url.replace("127.0.0.1", "localhost"))
        client = HttpModelClient(config, may_be_plain=lambda address: False)

        result = await client.answer(a_request(config))

        await client.aclose()
        assert result.outcome.signal is Signal.NOT_SENDABLE
        assert result.outcome.verdict is RELEASE
        assert server.asked == []


async def test_an_answer_that_lacks_only_its_end_mark_when_time_is_up_still_stands(tmp_path: Path) -> None:
    event = 'data: {"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}\n\n'
    async with ModelServer([Step("raw_then_hang", body=event)], log=tmp_path / "log") as server:
        config = a_config(server.base_url)

        async with a_client(config) as client:
            result = await client.answer(a_request(config, streamed=True))

    assert result.text == "ok"
    assert result.outcome.signal is Signal.USAGE_MISSING


def test_only_answers_are_settled_and_only_the_free_is_released() -> None:
    for outcome in TABLE.values():
        by_kind = {Kind.ANSWERED: SETTLE, Kind.NOT_SENT: RELEASE, Kind.REJECTED: RELEASE}
        assert outcome.verdict is by_kind.get(outcome.kind, UNKNOWN)


def test_what_may_have_been_charged_is_never_tried_again_under_any_policy() -> None:
    for policy in (ProviderPolicy(), ProviderPolicy(True, True), ProviderPolicy(True, False)):
        for signal in Signal:
            outcome = outcome_of(signal, policy)
            assert outcome.retry is NEVER or outcome.verdict is RELEASE
