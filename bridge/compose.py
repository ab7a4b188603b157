"""Composes the request of a turn from what is remembered, and the record that says why it holds what it holds."""

import json
from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Instant
from core.ids import TurnId
from core.model.config import ModelConfig
from core.model.request import ModelRequest
from core.model.system_text import PersonaFacts
from core.settings import Settings
from core.store import Store

from .memory.index import MemoryIndex
from .memory.pack import DoesNotFit, Material, Packed, Record, Setting, pack, quote_of, with_quotes
from .memory.recent import READ_AT_MOST, exchanges_of
from .notices import language_of
from .store.conversations import Conversation, get_conversation
from .store.grants import find_grant
from .store.messages import Message, messages_before, messages_of_turn
from .store.turns import Turn, get_turn

RELATED = 12


@dataclass(frozen=True)
class Situation:
    """What the store knows when a turn is taken up."""

    turn: Turn
    conversation: Conversation
    current: tuple[Message, ...]
    before: tuple[Message, ...]
    voice: str | None


@dataclass(frozen=True)
class Composed:
    situation: Situation
    request: ModelRequest
    record: str


def read_situation(conn: Connection, turn: TurnId) -> Situation:
    found = get_turn(conn, turn)
    current = tuple(messages_of_turn(conn, turn))
    latest = max((message.said_at for message in current), default=Instant(0))
    before = messages_before(conn, found.conversation, turn, latest, READ_AT_MOST)
    grant = find_grant(conn)
    voice = grant.voice.text if grant is not None else None
    return Situation(found, get_conversation(conn, found.conversation), current, tuple(before), voice)


async def compose(
    store: Store, memory: MemoryIndex, settings: Settings, model: ModelConfig, turn: TurnId, now: Instant
) -> Composed | DoesNotFit:
    """The request for a turn, or DoesNotFit when the person's words alone are too many."""
    situation = await store.read(read_situation, turn)
    material = await _material(situation, memory, settings)
    setting = _setting(settings, model, situation, now)
    packed = pack(setting, material)
    if isinstance(packed, DoesNotFit):
        return packed
    # Without a model the persona only quotes, and it does not quote its own quoting.
    quotes = [quote_of(record, setting.zone) for record in material.related if record.who != "persona"]
    return Composed(situation, with_quotes(packed.request, quotes), context_record(packed, material, setting))


async def _material(situation: Situation, memory: MemoryIndex, settings: Settings) -> Material:
    words = "\n".join(message.text for message in situation.current)
    first = situation.current[0]
    previous = [message.text for message in situation.before if message.speaker == "person"][:2]
    related = await memory.related(
        situation.conversation.id, words, previous, situation.current[-1].said_at, first.id, RELATED
    )
    return Material(
        current=situation.current,
        exchanges=exchanges_of(situation.before, settings.bridge.recent_turns),
        related=tuple(related),
    )


def _setting(settings: Settings, model: ModelConfig, situation: Situation, now: Instant) -> Setting:
    persona = settings.persona
    words = " ".join(message.text for message in situation.current)
    return Setting(
        persona=PersonaFacts(persona.name, persona.language, persona.timezone),
        voice=situation.voice,
        model=model,
        limit_bytes=settings.bridge.context_bytes,
        now=now,
        language=language_of(words, persona.language),
    )


def context_record(packed: Packed, material: Material, setting: Setting) -> str:
    """Why the persona said it, as JSON: keys and scores, never texts."""
    kept = packed.material
    told = {record.key for record in (*kept.related, *kept.preferences, *kept.excerpts)}
    record = {
        "bytes": len(packed.request.body),
        "limit": setting.limit_bytes,
        "exchanges": [exchange.messages[0].trace for exchange in kept.exchanges],
        "records": [_explained(one, told) for one in (*material.preferences, *material.related, *material.excerpts)],
        "left_out": list(packed.left_out),
        "nothing_found": not material.related,
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _explained(record: Record, told: set[str]) -> dict[str, object]:
    return {
        "key": record.key,
        "kind": record.kind,
        "who": record.who,
        "said_at_ms": record.said_at,
        "told": record.key in told,
        "why": {name: round(value, 3) for name, value in record.why.items()},
    }
