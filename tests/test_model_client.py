"""The client around an answer: cancellation, streaming, time, secrets, and the fake as a process of its own."""

import asyncio
import logging
import subprocess
import sys
from contextlib import aclosing
from decimal import Decimal
from pathlib import Path

import pytest
from pydantic import SecretStr

from core.model.client import HttpModelClient
from core.model.config import ModelConfig
from core.model.contract import Attempt, Finished, TextPiece
from core.model.offline import OfflineModel
from core.model.outcomes import Signal, Verdict
from core.model.price import cost_of, reserve_for
from core.model.provider import open_model
from core.model.request import Message, ModelRequest, Task, build_request

from .fakes.model_server import ModelServer, Step, read_log

KEY = "sk-canary-77aa"
WORDS = "canary words 茶"


def a_config(base_url: str, idle_timeout_s: float = 2.0, total_timeout_s: float = 10.0) -> ModelConfig:
    return ModelConfig(
        provider="openai",
        base_url=base_url,
        api_key=SecretStr(KEY),
        name="test-model",
        max_output_tokens=200,
        price_input_per_mtok=Decimal("0.5"),
        price_output_per_mtok=Decimal("2"),
        connect_timeout_s=5.0,
        idle_timeout_s=idle_timeout_s,
        total_timeout_s=total_timeout_s,
    )


def a_request(config: ModelConfig, streamed: bool = False) -> ModelRequest:
    return build_request(config, [Message("user", WORDS)], task=Task.REPLY, streamed=streamed)


async def test_the_bytes_that_were_measured_are_the_bytes_that_arrive(tmp_path: Path) -> None:
    async with ModelServer(log=tmp_path / "log", key=KEY) as server:
        config = a_config(server.base_url + "/")
        client, request = HttpModelClient(config), a_request(config)

        await client.answer(request)

        await client.aclose()
        assert server.asked[0].body.encode() == request.body
        assert server.asked[0].path == "/v1/chat/completions"


async def test_a_call_cancelled_before_anything_left_can_be_released(tmp_path: Path) -> None:
    async with ModelServer(log=tmp_path / "log") as server:
        # given a handshake that hangs, because the server waits for plain HTTP
        config = a_config(server.base_url.replace("http:", "https:"))
        client, attempt = HttpModelClient(config), Attempt()
        task = asyncio.create_task(client.answer(a_request(config), attempt))
        await asyncio.sleep(0.1)

        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        await client.aclose()
        assert attempt.verdict_if_stopped is Verdict.RELEASE
        assert server.asked == []


async def test_a_call_cancelled_after_it_left_may_have_been_charged(tmp_path: Path) -> None:
    async with ModelServer([Step("hang")], log=tmp_path / "log") as server:
        config = a_config(server.base_url)
        client, attempt = HttpModelClient(config), Attempt()
        task = asyncio.create_task(client.answer(a_request(config), attempt))
        await server.until_asked()

        task.cancel()

        with pytest.raises(asyncio.CancelledError):
            await task
        await client.aclose()
        assert attempt.verdict_if_stopped is Verdict.UNKNOWN
        assert server.asked[0].output_tokens > 0


async def test_a_client_serves_the_next_call_after_a_cancelled_one(tmp_path: Path) -> None:
    async with ModelServer([Step("hang"), Step(text="next")], log=tmp_path / "log") as server:
        config = a_config(server.base_url)
        client = HttpModelClient(config, max_connections=1)
        task = asyncio.create_task(client.answer(a_request(config)))
        await server.until_asked()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        result = await client.answer(a_request(config))

        await client.aclose()
        assert result.text == "next"


async def test_a_stream_gives_its_pieces_and_then_the_same_result(tmp_path: Path) -> None:
    async with ModelServer([Step(text="你好，世界😀", pieces=3)] * 2, log=tmp_path / "log") as server:
        config = a_config(server.base_url)
        client = HttpModelClient(config)

        events = [event async for event in client.stream(a_request(config, streamed=True))]
        whole = await client.answer(a_request(config, streamed=True))

        await client.aclose()
        *pieces, last = events
        assert [type(piece) for piece in pieces] == [TextPiece] * 3
        assert "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)) == "你好，世界😀"
        assert last == Finished(whole)


async def test_a_reader_who_stops_a_stream_closes_it_and_may_have_been_charged(tmp_path: Path) -> None:
    async with ModelServer([Step("drip", text="first")], log=tmp_path / "log") as server:
        config, attempt = a_config(server.base_url), Attempt()
        client = HttpModelClient(config, max_connections=1)

        async with aclosing(client.stream(a_request(config, streamed=True), attempt)) as events:
            await anext(events)

        after = await client.answer(a_request(config))  # the only connection is free again
        await client.aclose()
        assert attempt.verdict_if_stopped is Verdict.UNKNOWN
        assert after.outcome.signal is Signal.ANSWERED


async def test_a_slow_reader_is_neither_silence_nor_interrupted(tmp_path: Path) -> None:
    async with ModelServer([Step(text="abc", pieces=3)], log=tmp_path / "log") as server:
        config = a_config(server.base_url, idle_timeout_s=0.1)
        client, seen = HttpModelClient(config), ""

        async for event in client.stream(a_request(config, streamed=True)):
            await asyncio.sleep(0.15)
            seen += event.text if isinstance(event, TextPiece) else ""

        await client.aclose()
        assert seen == "abc"
        assert event.result.outcome.signal is Signal.ANSWERED  # type: ignore[union-attr]


async def test_silence_before_the_first_word_is_bounded_by_the_idle_limit_not_the_total(tmp_path: Path) -> None:
    async with ModelServer([Step("keep_alive")], log=tmp_path / "log") as server:
        config = a_config(server.base_url, idle_timeout_s=0.2, total_timeout_s=60.0)
        client = HttpModelClient(config)

        async with asyncio.timeout(2):
            result = await client.answer(a_request(config, streamed=True))

        await client.aclose()
        assert result.outcome.signal is Signal.ONLY_KEEP_ALIVE


async def test_settling_never_charges_less_than_the_provider_and_unknown_keeps_the_reserve(tmp_path: Path) -> None:
    script = [
        Step(text="answer"),
        Step(text="answer", usage="missing"),
        Step(text="answer", usage={"prompt_tokens": 1, "completion_tokens": 5_000}),
        Step(text="answer", usage={"prompt_tokens": 1, "completion_tokens": -5}),
        Step(text="answer", usage={"prompt_tokens": 400, "completion_tokens": 0}),
        Step("reset_inside", text="answer"),
        Step("status", status=429),
    ]
    async with ModelServer(script, log=tmp_path / "log") as server:
        config = a_config(server.base_url)
        client, request = HttpModelClient(config), a_request(config)

        costs = [cost_of(config, request, await client.answer(request)) for _ in script]

        await client.aclose()
        reserve = reserve_for(config, len(request.body), 200)
        used = server.asked[0]
        assert costs[0] == -(-(used.input_tokens * 5 + used.output_tokens * 20) // 10)
        assert costs[1:] == [reserve, 10_001, reserve, reserve, reserve, 0]


async def test_neither_the_key_nor_anybodys_words_reach_a_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = f'{{"error":{{"code":"{KEY}","message":"key {KEY} for {WORDS}"}}}}'
    script = [Step(text=WORDS), Step("status", status=401, body=echo), Step("reset_at_once")]
    async with ModelServer(script, log=tmp_path / "log", key=KEY) as server:
        config = a_config(server.base_url)
        client = HttpModelClient(config)

        results = [await client.answer(a_request(config)) for _ in script]

        await client.aclose()
    said = repr(results[1:]) + "".join(result.detail for result in results) + repr(config) + caplog.text
    assert KEY not in said
    assert "canary words" not in said
    assert KEY not in (tmp_path / "log").read_text()


async def test_no_proxy_and_no_netrc_of_the_machine_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    async with ModelServer(log=tmp_path / "log") as server:
        config = a_config(server.base_url)
        client = HttpModelClient(config)

        result = await client.answer(a_request(config))

        await client.aclose()
    assert result.outcome.signal is Signal.ANSWERED


async def test_a_configuration_opens_the_client_it_means(tmp_path: Path) -> None:
    offline, online = open_model(ModelConfig()), open_model(a_config("https://models.example/v1"))

    assert isinstance(offline, OfflineModel)
    assert isinstance(online, HttpModelClient)
    await offline.aclose()
    await online.aclose()


async def test_the_scripted_provider_runs_as_a_process_and_its_log_outlives_it(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('[{"do": "answer", "text": "from afar"}, {"do": "hang"}]')
    command = [
        sys.executable,
        "-m",
        "tests.fakes.model_server",
        "--log",
        str(tmp_path / "log"),
        "--script",
        f"@{script}",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        config = a_config(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
        client = HttpModelClient(config)

        first = await client.answer(a_request(config))
        second = asyncio.create_task(client.answer(a_request(config)))
        while len(read_log(tmp_path / "log")) < 2:
            await asyncio.sleep(0.01)
        process.kill()

        lost = await second
        await client.aclose()
    assert first.text == "from afar"
    assert lost.outcome.signal is Signal.NO_ANSWER
    assert [asked.do for asked in read_log(tmp_path / "log")] == ["answer", "hang"]
