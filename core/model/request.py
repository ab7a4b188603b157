"""A request to a model: the exact bytes that will be sent, and what the offline provider may quote. Pure.

The bytes are made before money is reserved, so that what was measured is what is sent.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from .config import ModelConfig

JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
Language = Literal["zh", "en"]


class Task(Enum):
    REPLY = "reply"
    DIGEST = "digest"
    READER = "reader"


class Speaker(Enum):
    PERSON = "person"
    PERSONA = "persona"
    OTHER = "other"


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class Quote:
    """Words that may be quoted as they stand: what somebody said, or a passage of an article.

    `said_at` is the local time as ISO 8601, `source` an id that a digest names, `title` and `url` an article's.
    """

    text: str
    speaker: Speaker | None = None
    said_at: str | None = None
    source: str | None = None
    title: str | None = None
    url: str | None = None


@dataclass(frozen=True)
class JsonSchema:
    """The shape an answer must have, for providers that can enforce one."""

    name: str
    schema: Mapping[str, JsonValue]


@dataclass(frozen=True)
class ModelRequest:
    """`body` is all that a provider gets; the rest is for the offline provider and for checking what comes back."""

    body: bytes
    task: Task
    max_output_tokens: int
    streamed: bool = False
    question: str = ""
    language: Language = "en"
    quotes: tuple[Quote, ...] = ()


def build_request(
    config: ModelConfig,
    messages: Sequence[Message],
    *,
    task: Task,
    question: str = "",
    language: Language = "en",
    quotes: tuple[Quote, ...] = (),
    schema: JsonSchema | None = None,
    streamed: bool = False,
) -> ModelRequest:
    body = build_body(config, messages, schema=schema, streamed=streamed)
    return ModelRequest(body, task, config.max_output_tokens, streamed, question, language, quotes)


def build_body(
    config: ModelConfig,
    messages: Sequence[Message],
    *,
    schema: JsonSchema | None = None,
    streamed: bool = False,
) -> bytes:
    """The JSON body of `POST /chat/completions`, in UTF-8 and without escapes for what is not ASCII.

    >>> build_body(ModelConfig(name="m"), [Message("user", "你好")]).decode()
    '{"model":"m","messages":[{"role":"user","content":"你好"}],"max_tokens":1024}'
    """
    payload: dict[str, JsonValue] = {
        "model": config.name,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        _output_limit_key(config): config.max_output_tokens,
    }
    if schema is not None:
        payload["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": schema.name, "strict": True, "schema": schema.schema},
        }
    if streamed:
        payload["stream"] = True
        payload["stream_options"] = {"include_usage": True}
    text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a surrogate pair has no UTF-8 form; one broken character must not cost the person an answer.
    return text.encode("utf-8", "replace")


def _output_limit_key(config: ModelConfig) -> str:
    """OpenAI's own newer models refuse the name that every compatible server understands."""
    return "max_completion_tokens" if urlsplit(config.base_url).hostname == "api.openai.com" else "max_tokens"
