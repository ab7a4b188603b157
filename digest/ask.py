"""What the model is asked: the request for a draft and for its one repair, and the most that both can cost. Pure.

The sources travel as JSON under short ids of their own (`s1`, `s2`, …): they cost few tokens, and an id of the record
cannot turn up in a text by way of a model that never saw it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from zoneinfo import ZoneInfo

from core.clock import Instant, local_time
from core.control.messages import Claim
from core.ids import SourceId
from core.model.config import ModelConfig
from core.model.price import reserve_for
from core.model.request import JsonSchema, JsonValue, Message, ModelRequest, Task, build_request
from core.model.system_text import DigestBrief, PersonaFacts, build_system_text

from .check import DigestSource
from .wording import WORDING

MOST_CALLS = 2
"""The first one and one repair. They share one reservation."""
MAX_REQUEST_BYTES = 56_000
MOST_REASONS = 20


@dataclass(frozen=True)
class Terms:
    """Who writes, in which zone days are named, with which model."""

    persona: str
    zone: ZoneInfo
    config: ModelConfig

    def within(self, claim: Claim) -> "Terms":
        """The same with no longer answers than the claim allows."""
        most = min(self.config.max_output_tokens, claim.output_tokens)
        return replace(self, config=replace(self.config, max_output_tokens=most))

    @property
    def limit_bytes(self) -> int:
        """The largest request: a token has one byte or more, so what fits in bytes fits in tokens."""
        return min(MAX_REQUEST_BYTES, self.config.context_tokens - self.config.max_output_tokens)


@dataclass(frozen=True)
class Refused:
    """An output that did not pass, and why."""

    text: str
    reasons: tuple[str, ...]


def most_cost(terms: Terms) -> tuple[int, int]:
    """Micro-units and tokens to reserve before a batch is claimed, which is before anybody knows its size.

    >>> most_cost(Terms("Ada", ZoneInfo("UTC"), ModelConfig()))
    (0, 0)
    """
    if terms.config.provider == "offline":
        return 0, 0
    output = terms.config.max_output_tokens
    micros = reserve_for(terms.config, terms.limit_bytes, output)
    return MOST_CALLS * micros, MOST_CALLS * (terms.limit_bytes + output)


def numbered(claim: Claim) -> tuple[DigestSource, ...]:
    """The batch under the ids that the model is shown."""
    return tuple(
        DigestSource(SourceId(f"s{number}"), source.speaker, source.text, Instant(source.said_at_ms), source.heard)
        for number, source in enumerate(claim.sources, 1)
    )


def own_ids(claim: Claim) -> dict[SourceId, str]:
    """The record's id for each id that the model is shown."""
    return {shown.id: source.id for shown, source in zip(numbered(claim), claim.sources, strict=True)}


def request_for(terms: Terms, claim: Claim, now: Instant, refused: Refused | None = None) -> ModelRequest:
    """The request for a draft, or with `refused` for its repair. It may still be larger than `terms.limit_bytes`.

    A repair repeats the refused output only where that fits.
    """
    messages = _messages(terms, claim, now)
    if refused is None:
        return _built(terms, claim, messages)
    reasons = "\n".join(f"- {reason}" for reason in refused.reasons[:MOST_REASONS])
    repair = Message("user", WORDING[claim.language].repair.format(reasons=reasons))
    whole = _built(terms, claim, [*messages, Message("assistant", refused.text), repair])
    return whole if len(whole.body) <= terms.limit_bytes else _built(terms, claim, [*messages, repair])


def _messages(terms: Terms, claim: Claim, now: Instant) -> list[Message]:
    brief = DigestBrief(
        persona=PersonaFacts(terms.persona, claim.language, terms.zone.key),
        now_local=local_time(now, terms.zone),
        voice=claim.voice.text or None,
        sources_json=json.dumps(
            [_shown(source, terms.zone) for source in numbered(claim) if source.heard], ensure_ascii=False
        ),
    )
    ask = WORDING[claim.language].ask.format(day=claim.day)
    return [Message("system", build_system_text(brief).whole), Message("user", ask)]


def _shown(source: DigestSource, zone: ZoneInfo) -> dict[str, str]:
    said_at = local_time(source.said_at, zone)
    return {"id": source.id, "who": source.speaker, "at": f"{said_at:%Y-%m-%d %H:%M}", "text": source.text}


def _built(terms: Terms, claim: Claim, messages: Sequence[Message]) -> ModelRequest:
    return build_request(terms.config, messages, task=Task.DIGEST, language=claim.language, schema=SCHEMA)


def _object(**properties: JsonValue) -> JsonValue:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT: JsonValue = {"type": "string"}
_IDS: JsonValue = {"type": "array", "items": _TEXT}

# The shape of `check.DigestOutput` without its lengths: servers that turn a schema into a grammar choke on large counts.
SCHEMA = JsonSchema(
    "digest",
    {
        "type": "object",
        "properties": {
            "title": _TEXT,
            "facts": {
                "type": "array",
                "items": _object(
                    statement=_TEXT, source_ids=_IDS, who={"type": "string", "enum": ["owner", "persona"]}
                ),
            },
            "reflections": {"type": "array", "items": _TEXT},
            "open_threads": {"type": "array", "items": _object(statement=_TEXT, source_ids=_IDS)},
        },
        "required": ["title", "facts", "reflections", "open_threads"],
        "additionalProperties": False,
    },
)
