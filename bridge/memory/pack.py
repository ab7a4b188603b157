"""Packs what the model is told into one request, measured as the exact bytes that are sent.

Laws (each is a property test): the body is at most the limit; the current message is in it, and the newest exchange leaves last;
a record is in whole or not at all; nothing is in twice; nothing later than the message answered; the body is JSON
whatever the texts are. What does not fit leaves oldest first: excerpts, then preferences, then related records, then
older exchanges.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from zoneinfo import ZoneInfo

from core.clock import Instant, local_time
from core.model.config import ModelConfig
from core.model.request import Language, Message, ModelRequest, Quote, Speaker, Task, build_request
from core.model.system_text import PersonaFacts, ReplyBrief, build_system_text

from ..store import messages as said
from .recent import Exchange


@dataclass(frozen=True)
class Record:
    """One remembered thing as the model reads it. `why` is for the owner: where it came from and its score parts."""

    key: str
    kind: str
    who: str
    said_at: Instant
    text: str
    why: Mapping[str, float]

    @property
    def origin(self) -> str:
        """The message it comes from; a message may hold several statements, each with a key of its own."""
        return self.key.partition("#")[0]


@dataclass(frozen=True)
class Material:
    """All that could go into a request; each list oldest first."""

    current: tuple[said.Message, ...]
    exchanges: tuple[Exchange, ...] = ()
    related: tuple[Record, ...] = ()
    preferences: tuple[Record, ...] = ()
    excerpts: tuple[Record, ...] = ()
    nothing_found: bool = False
    """No earlier words are about the current ones."""


@dataclass(frozen=True)
class Setting:
    """Where and when it is answered: persona, voice, the model and its limits."""

    persona: PersonaFacts
    voice: str | None
    model: ModelConfig
    limit_bytes: int
    now: Instant
    language: Language

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.persona.timezone)


@dataclass(frozen=True)
class Packed:
    request: ModelRequest
    material: Material
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class DoesNotFit:
    bytes: int
    limit: int


def pack(setting: Setting, material: Material) -> Packed | DoesNotFit:
    """The request with as much of the material as fits, or DoesNotFit when the words to be answered do not."""
    limit = byte_limit(setting)
    kept = _once(material)
    left_out: list[str] = []
    while True:
        request = _request(setting, kept)
        if len(request.body) <= limit:
            return Packed(request, kept, tuple(left_out))
        smaller = _without_oldest(kept)
        if smaller is None:
            return DoesNotFit(len(request.body), limit)
        kept, key = smaller
        left_out.append(key)


def byte_limit(setting: Setting) -> int:
    """No tokenizer makes more tokens than a text has bytes, so a byte for each token the model has room for is safe."""
    return min(setting.limit_bytes, setting.model.context_tokens - setting.model.max_output_tokens)


def _once(material: Material) -> Material:
    """A record that the recent exchanges hold anyway is not told twice, nor are words that another record tells."""
    here = {message.trace for exchange in material.exchanges for message in exchange.messages}
    here |= {message.trace for message in material.current}
    preferences, related = _fresh(material.preferences, here), _fresh(material.related, here)
    # Of a statement and the message that it stands in, the one that holds the other's words is told.
    related = tuple(one for one in related if not _within(one, preferences))
    preferences = tuple(one for one in preferences if not _within(one, related))
    told = here | {record.origin for record in (*preferences, *related)}
    return replace(material, preferences=preferences, related=related, excerpts=_fresh(material.excerpts, told))


def _fresh(records: Sequence[Record], told: Collection[str]) -> tuple[Record, ...]:
    once = {record.key: record for record in records}
    return tuple(record for record in once.values() if record.origin not in told)


def _within(one: Record, others: Sequence[Record]) -> bool:
    return any(one.origin == other.origin and one.text in other.text for other in others)


def _without_oldest(material: Material) -> tuple[Material, str] | None:
    for name in ("excerpts", "preferences", "related"):
        records: tuple[Record, ...] = getattr(material, name)
        if records:
            oldest = min(records, key=lambda record: record.said_at)
            rest = tuple(record for record in records if record is not oldest)
            return _replaced(material, name, rest), f"{oldest.kind}:{oldest.key}"
    if material.exchanges:  # the newest last of all: without it the words to be answered may fit
        first = material.exchanges[0].messages[0]
        return replace(material, exchanges=material.exchanges[1:]), f"exchange:{first.trace}"
    return None


def _replaced(material: Material, name: str, records: tuple[Record, ...]) -> Material:
    if name == "related":
        return replace(material, related=records)
    if name == "preferences":
        return replace(material, preferences=records)
    return replace(material, excerpts=records)


def _request(setting: Setting, material: Material) -> ModelRequest:
    records = [_told(record, setting.zone) for record in (*material.preferences, *material.related, *material.excerpts)]
    system = build_system_text(
        ReplyBrief(
            persona=setting.persona,
            now_local=local_time(setting.now, setting.zone),
            voice=setting.voice,
            records_json=_json(records),
            nothing_found=material.nothing_found,
        )
    )
    turns = [message for exchange in material.exchanges for message in _as_turns(exchange, setting.zone)]
    spoken = [_spoken(message, setting.zone) for message in material.current]
    # The stable text first and what changes last, so that a provider can cache the front.
    messages = [
        Message("system", system.stable),
        *turns,
        Message("user", f"{system.changing}\n\n{_json(spoken)}"),
    ]
    question = "\n".join(message.text for message in material.current)
    return build_request(setting.model, messages, task=Task.REPLY, question=question, language=setting.language)


def with_quotes(request: ModelRequest, quotes: Sequence[Quote]) -> ModelRequest:
    """The same bytes; the quotes are for the offline provider only."""
    return replace(request, quotes=tuple(quotes))


def quote_of(record: Record, zone: ZoneInfo) -> Quote:
    return Quote(record.text, Speaker(record.who), local_iso(record.said_at, zone))


def _as_turns(exchange: Exchange, zone: ZoneInfo) -> list[Message]:
    """An exchange in the roles of the protocol. Words travel as JSON with their time; the persona's stand as they were."""
    person = [message for message in exchange.messages if message.speaker != "persona"]
    persona = [message for message in exchange.messages if message.speaker == "persona"]
    turns = [Message("user", _json([_spoken(message, zone) for message in person]))] if person else []
    for message in persona:
        unconfirmed = " [receipt unconfirmed]" if message.receipt == "accepted" else ""
        turns.append(Message("assistant", message.text + unconfirmed))
    return turns


def _spoken(message: said.Message, zone: ZoneInfo) -> dict[str, str]:
    """The person's words; those of anybody else in an imported chat say whose they are."""
    spoken = {"said_at": local_iso(message.said_at, zone), "text": message.text}
    return spoken if message.speaker == "person" else {"who": message.name or "other", **spoken}


def _told(record: Record, zone: ZoneInfo) -> dict[str, str]:
    return {"kind": record.kind, "who": record.who, "said_at": local_iso(record.said_at, zone), "text": record.text}


def local_iso(at: Instant, zone: ZoneInfo) -> str:
    """To the minute, with the offset: `2026-11-30T21:04+08:00`."""
    moment: datetime = local_time(at, zone)
    return moment.isoformat(timespec="minutes")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
