"""The bytes of a request, what they may cost, and which configurations are refused."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from core.errors import SettingsError
from core.model.config import ModelConfig, check_base_url, is_private_address
from core.model.price import price, reserve_for
from core.model.request import JsonSchema, Message, Task, build_body, build_request

PRICED = ModelConfig(price_input_per_mtok=Decimal("0.27"), price_output_per_mtok=Decimal("1.1"))
ONLINE = ModelConfig(provider="openai", base_url="https://api.example.com/v1", api_key=SecretStr("k"), name="m")


@given(st.lists(st.text(), max_size=5))
def test_a_body_is_json_that_holds_the_messages_as_they_were_said(texts: list[str]) -> None:
    body = build_body(PRICED, [Message("user", text) for text in texts])

    assert [message["content"] for message in json.loads(body)["messages"]] == texts
    assert len(body) >= sum(len(text.encode()) for text in texts)


def test_a_body_spends_no_bytes_on_escapes_for_chinese() -> None:
    body = build_body(PRICED, [Message("user", "你好，😀")])

    assert "你好，😀".encode() in body


def test_half_a_character_becomes_a_question_mark_instead_of_an_error() -> None:
    body = build_body(PRICED, [Message("user", "a\ud83db")])

    assert json.loads(body)["messages"][0]["content"] == "a?b"


def test_a_streamed_body_asks_for_the_usage_and_a_schema_is_passed_on() -> None:
    schema = JsonSchema("digest", {"type": "object"})

    payload = json.loads(build_body(ONLINE, [], schema=schema, streamed=True))

    assert payload["stream"] is True
    assert payload["stream_options"] == {"include_usage": True}
    assert payload["response_format"]["json_schema"] == {"name": "digest", "strict": True, "schema": {"type": "object"}}


def test_the_output_limit_has_the_name_that_the_address_understands() -> None:
    openai = replace(ONLINE, base_url="https://api.openai.com/v1")

    assert json.loads(build_body(ONLINE, []))["max_tokens"] == 1024
    assert json.loads(build_body(openai, []))["max_completion_tokens"] == 1024
    assert "max_tokens" not in json.loads(build_body(openai, []))


def test_a_request_remembers_the_limit_it_was_built_with() -> None:
    request = build_request(ONLINE, [Message("user", "hi")], task=Task.READER, question="hi", streamed=True)

    assert (request.max_output_tokens, request.streamed, request.task) == (1024, True, Task.READER)
    assert json.loads(request.body)["stream"] is True


tokens = st.integers(0, 10**9)
prices = st.decimals(0, 10_000, places=6)


@given(tokens, tokens, prices, prices)
def test_a_price_is_whole_and_never_rounded_down(used: int, made: int, into: Decimal, out: Decimal) -> None:
    config = ModelConfig(price_input_per_mtok=into, price_output_per_mtok=out)

    micros = price(config, used, made)

    exact = used * into + made * out
    assert exact <= micros < exact + 1


@given(tokens, tokens, st.integers(0, 10**6), st.integers(0, 10**6))
def test_what_stays_within_the_bounds_costs_at_most_the_reserve(used: int, made: int, more: int, longer: int) -> None:
    assert price(PRICED, used, made) <= reserve_for(PRICED, used + more, made + longer)


def test_negative_tokens_have_no_price() -> None:
    with pytest.raises(ValueError, match="negative"):
        price(PRICED, -1, 0)


def test_the_default_is_offline_and_free() -> None:
    config = ModelConfig()

    assert config.provider == "offline"
    assert reserve_for(config, 56_000, config.max_output_tokens) == 0


@pytest.mark.parametrize(
    "address",
    [
        "https://api.example.com/v1",
        "https://8.8.8.8/v1",
        "http://127.0.0.1:8080/v1",
        "http://[::1]:8080/v1",
        "http://192.168.1.9/v1",
        "http://172.20.0.3:11434/v1",
        "http://[fd00::9]/v1",
        "http://localhost:11434/v1",
        "http://ollama:11434/v1",
    ],
)
def test_an_address_is_taken_if_it_is_private_or_encrypted(address: str) -> None:
    check_base_url(address)


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("", "https://"),
        ("api.example.com/v1", "https://"),
        ("ftp://127.0.0.1/", "https://"),
        ("file:///etc/passwd", "https://"),
        ("http:///v1", "name a host"),
        (" https://api.example.com", "https://"),
        ("https://[::1/v1", "not an address"),
        ("https://api.example.com:99999/v1", "not an address"),
        ("https://user:secret@api.example.com/v1", "api_key"),
        ("https://api.example.com/v1?key=secret", "api_key"),
        ("https://api.example.com/v1#secret", "api_key"),
        ("http://8.8.8.8/v1", "private"),
        ("http://169.254.169.254/latest", "private"),
        ("http://[::ffff:8.8.8.8]/v1", "private"),
        ("http://[fe80::1%25eth0]/v1", "private"),
        ("http://0.0.0.0:8080/v1", "private"),
        ("http://100.64.0.1/v1", "private"),
        ("http://172.32.0.1/v1", "private"),
    ],
)
def test_an_address_that_would_carry_secrets_in_the_clear_is_refused(address: str, why: str) -> None:
    with pytest.raises(SettingsError, match=why) as refused:
        check_base_url(address)

    assert "secret" not in str(refused.value)


def test_an_ipv4_address_in_ipv6_form_is_judged_as_what_it_is() -> None:
    assert is_private_address("::ffff:10.0.0.1")
    assert not is_private_address("::ffff:1.1.1.1")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"provider": "banana"}, "banana"),
        ({"name": "  "}, "name"),
        ({"base_url": ""}, "base_url"),
        ({"api_key": SecretStr("sk-secret\n")}, "api_key"),
        ({"api_key": SecretStr("钥匙")}, "api_key"),
        ({"context_tokens": 0}, "context_tokens is 0"),
        ({"max_output_tokens": -1}, "max_output_tokens is -1"),
        ({"max_output_tokens": 32_768}, "no room"),
        ({"idle_timeout_s": 0.0}, "idle_timeout_s"),
        ({"total_timeout_s": float("nan")}, "total_timeout_s"),
        ({"price_input_per_mtok": Decimal(-1)}, "price_input_per_mtok"),
        ({"price_output_per_mtok": Decimal("NaN")}, "price_output_per_mtok"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_by_the_name_of_its_key(
    changes: dict[str, object], why: str
) -> None:
    with pytest.raises(SettingsError, match=why) as refused:
        replace(ONLINE, **changes)  # type: ignore[arg-type]

    assert "sk-secret" not in str(refused.value)


def test_a_key_is_not_shown_by_anything_that_prints_a_configuration() -> None:
    config = replace(ONLINE, api_key=SecretStr("sk-canary"))

    assert "sk-canary" not in f"{config} {config!r} {config.api_key}"
