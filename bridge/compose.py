"""Composes the request of a turn from what is remembered, and the record that says why it holds what it holds."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Instant
from core.ids import ConversationId, MessageId, Trace, TurnId
from core.model.config import ModelConfig
from core.model.request import ModelRequest
from core.model.system_text import PersonaFacts
from core.settings import Settings
from core.store import Store
from core.text.tokens import UNIGRAM_MARK, index_tokens, query_tokens

from .memory.excerpts import excerpts_of
from .memory.index import MemoryIndex
from .memory.pack import DoesNotFit, Material, Packed, Record, Setting, pack, quote_of, with_quotes
from .memory.preferences import preference_records, superseded_messages
from .memory.reading import Reads, Recalls
from .memory.recall import Recalled, RecallQuery
from .memory.recent import READ_AT_MOST, Exchange, exchanges_of
from .memory.related import CHANGED_SINCE, records_of_hits
from .memory.scopes import remembered_in
from .notices import language_of
from .store.conversations import Conversation, get_conversation
from .store.grants import find_grant
from .store.messages import Message, messages_before, messages_of_turn
from .store.turns import Turn, get_turn
from .turn import TurnPhase

RELATED = 12
NEWEST = TurnId(2**62)


@dataclass(frozen=True)
class Situation:
    """What the store knows when a turn is taken up. `scopes` are the conversations whose words may be recalled."""

    turn: Turn
    conversation: Conversation
    current: tuple[Message, ...]
    before: tuple[Message, ...]
    voice: str | None
    scopes: tuple[ConversationId, ...]

    @property
    def words(self) -> str:
        return "\n".join(message.text for message in self.current)

    @property
    def at(self) -> Instant:
        return max((message.said_at for message in self.current), default=Instant(0))


@dataclass(frozen=True)
class Composed:
    """`record` is JSON without texts; `packed` and `material` are what it is made from."""

    situation: Situation
    request: ModelRequest
    record: str
    packed: Packed
    material: Material


def read_situation(conn: Connection, turn: TurnId) -> Situation:
    found = get_turn(conn, turn)
    conversation = get_conversation(conn, found.conversation)
    return _situation(conn, found, conversation, tuple(messages_of_turn(conn, turn)))


def imagine_situation(conn: Connection, conversation: ConversationId, text: str, now: Instant) -> Situation:
    """As if the person said this now; nothing is kept of it."""
    turn = Turn(NEWEST, Trace("dry-run"), conversation, TurnPhase.READY, None, now, now, 0)
    said = Message(
        id=MessageId(2**62),
        trace=Trace("dry-run"),
        conversation=conversation,
        speaker="person",
        name=None,
        text=text,
        said_at=now,
        turn=NEWEST,
        receipt=None,
        private=False,
        version=1,
        session=0,
        change=0,
        deleted=False,
        imported=False,
    )
    return _situation(conn, turn, get_conversation(conn, conversation), (said,))


def _situation(conn: Connection, turn: Turn, conversation: Conversation, current: tuple[Message, ...]) -> Situation:
    latest = max((message.said_at for message in current), default=Instant(0))
    before = messages_before(conn, conversation.id, turn.id, latest, READ_AT_MOST)
    grant = find_grant(conn)
    voice = grant.voice.text if grant is not None else None
    return Situation(turn, conversation, current, tuple(before), voice, remembered_in(conn, conversation))


async def compose(
    store: Store, memory: MemoryIndex, settings: Settings, model: ModelConfig, turn: TurnId, now: Instant
) -> Composed | DoesNotFit:
    """The request for a turn, or DoesNotFit when the person's words alone are too many."""
    return await compose_for(store, memory, settings, model, await store.read(read_situation, turn), now)


async def compose_for(
    store: Reads, memory: Recalls, settings: Settings, model: ModelConfig, situation: Situation, now: Instant
) -> Composed | DoesNotFit:
    exchanges = exchanges_of(situation.before, settings.bridge.recent_turns)
    setting = _setting(settings, model, situation, now)
    recalled = await memory.recall(_query(situation, exchanges, setting))
    material = await store.read(_material, situation, exchanges, recalled)
    packed = pack(setting, material)
    if isinstance(packed, DoesNotFit):
        return packed
    quotes = [quote_of(record, setting.zone) for record in worth_quoting(situation.words, material)]
    request = with_quotes(packed.request, quotes)
    return Composed(situation, request, context_record(packed, material, setting), packed, material)


def _query(situation: Situation, exchanges: Sequence[Exchange], setting: Setting) -> RecallQuery:
    own, *also = (str(scope) for scope in situation.scopes)
    return RecallQuery(
        text=situation.words,
        scope=own,
        at=situation.at,
        zone=setting.zone,
        previous=tuple(message.text for message in situation.before if message.speaker == "person")[:2],
        # What is among the recent exchanges is found too: without a model it is what there is to quote.
        limit=RELATED + sum(len(exchange.messages) for exchange in exchanges),
        before_id=min(message.id for message in situation.current),
        also=tuple(also),
    )


def _material(conn: Connection, situation: Situation, exchanges: tuple[Exchange, ...], recalled: Recalled) -> Material:
    recent = {message.id for exchange in exchanges for message in exchange.messages}
    beyond = [hit.id for hit in recalled.hits if hit.id not in recent][:RELATED]
    hits = [hit for hit in recalled.hits if hit.id in recent or hit.id in beyond]
    superseded = superseded_messages(conn, situation.scopes, [hit.id for hit in hits], situation.at)
    related = tuple(records_of_hits(conn, hits, superseded))
    return Material(
        current=situation.current,
        exchanges=exchanges,
        related=related,
        preferences=preference_records(conn, situation.scopes, situation.at),
        excerpts=excerpts_of([message for message in situation.before if message.id not in recent]),
        nothing_found=recalled.nothing_found,
    )


def worth_quoting(words: str, material: Material) -> list[Record]:
    """For the provider that can only quote: what the person states about the matter, then what they said of it.

    It quotes neither the persona's own quoting nor what the person has changed since.
    """
    asked = {token for token in query_tokens(words) if not token.startswith(UNIGRAM_MARK)}
    stated = [record for record in material.preferences if asked.intersection(index_tokens(record.text))]
    known = {record.origin for record in stated}
    said = [
        record
        for record in material.related
        if record.who != "persona" and CHANGED_SINCE not in record.kind and record.origin not in known
    ]
    return [*reversed(stated), *said]


def _setting(settings: Settings, model: ModelConfig, situation: Situation, now: Instant) -> Setting:
    persona = settings.persona
    return Setting(
        persona=PersonaFacts(persona.name, persona.language, persona.timezone),
        voice=situation.voice,
        model=model,
        limit_bytes=settings.bridge.context_bytes,
        now=now,
        language=language_of(situation.words, persona.language),
    )


def context_record(packed: Packed, material: Material, setting: Setting) -> str:
    """Why the persona said it, as JSON: keys, scores and bytes, never texts."""
    record = {
        "bytes": len(packed.request.body),
        "limit": setting.limit_bytes,
        "exchanges": [exchange.messages[0].trace for exchange in packed.material.exchanges],
        "records": explained(packed, material),
        "left_out": list(packed.left_out),
        "nothing_found": material.nothing_found,
    }
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def explained(packed: Packed, material: Material) -> list[dict[str, object]]:
    """Each record that could have gone in: whether it did, and if not, why not."""
    kept = packed.material
    told = {record.key for record in (*kept.related, *kept.preferences, *kept.excerpts)}
    return [
        _explained(record, told, packed.left_out)
        for record in (*material.preferences, *material.related, *material.excerpts)
    ]


def _explained(record: Record, told: set[str], left_out: Sequence[str]) -> dict[str, object]:
    no_room = f"{record.kind}:{record.key}" in left_out
    return {
        "key": record.key,
        "kind": record.kind,
        "who": record.who,
        "said_at_ms": record.said_at,
        "told": record.key in told,
        "because": "told" if record.key in told else "no room" if no_room else "told elsewhere in the request",
        "bytes": len(record.text.encode("utf-8", "replace")),
        "why": {name: round(value, 3) for name, value in record.why.items()},
    }
