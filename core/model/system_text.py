"""The one builder of the system text, for the three tasks *reply*, *digest* and *reader*. Pure.

What a task may know is the shape of its brief: a `ReaderBrief` has no room for the private voice or for anything said
in a chat, so neither can reach a reader by mistake. Recalled, claimed and quoted text travels as JSON, in which no text
can close its own quotes, and every task is told that it is data.

What stays the same from call to call comes first and what changes comes last, so that providers can cache the front.
"""

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TypeAlias, assert_never

from .request import Language
from .system_words import DAYS, WORDS, Words


@dataclass(frozen=True)
class PersonaFacts:
    """What anybody may know of the persona. `timezone` is an IANA name."""

    name: str
    language: Language
    timezone: str


@dataclass(frozen=True)
class Passage:
    """A piece of a published article; `number` is what an answer cites."""

    number: int
    title: str
    url: str
    text: str


@dataclass(frozen=True)
class ReplyBrief:
    """`records_json` is an array of what was recalled about the person, as `bridge/memory` packs it; `nothing_found` when
    no earlier words are about the message, whatever else the array holds."""

    persona: PersonaFacts
    now_local: datetime
    voice: str | None
    records_json: str
    nothing_found: bool = False


@dataclass(frozen=True)
class DigestBrief:
    """`sources_json` is an array of the claimed sources with their ids."""

    persona: PersonaFacts
    now_local: datetime
    voice: str | None
    sources_json: str


@dataclass(frozen=True)
class ReaderBrief:
    """`about` is the published text about the persona. There is no voice and no chat, and there must never be."""

    persona: PersonaFacts
    now_local: datetime
    about: str | None
    passages: tuple[Passage, ...]


Brief: TypeAlias = ReplyBrief | DigestBrief | ReaderBrief


@dataclass(frozen=True)
class SystemText:
    """`stable` is the same for every call of a task until the owner changes the persona or its voice."""

    stable: str
    changing: str

    @property
    def whole(self) -> str:
        return f"{self.stable}\n\n{self.changing}"


def build_system_text(brief: Brief) -> SystemText:
    """Raises ValueError for JSON that is no array and for a time without its offset: both are faults of the caller."""
    words = WORDS[brief.persona.language]
    if isinstance(brief, ReplyBrief):
        heading = f"{words.nothing}\n\n{words.records}" if brief.nothing_found else words.records
        return _of_owner(brief.persona, words.reply, brief.voice, heading, brief.records_json, brief.now_local)
    if isinstance(brief, DigestBrief):
        return _of_owner(brief.persona, words.digest, brief.voice, words.sources, brief.sources_json, brief.now_local)
    if isinstance(brief, ReaderBrief):
        return _of_reader(brief, words)
    assert_never(brief)


def _of_owner(
    persona: PersonaFacts, task: str, voice: str | None, heading: str, array: str, now_local: datetime
) -> SystemText:
    words = WORDS[persona.language]
    stable = [task.format(name=persona.name), words.data]
    if voice and voice.strip():
        stable.append(f"{words.voice}\n{voice.strip()}")
    return SystemText("\n\n".join(stable), _changing(persona, now_local, heading, array))


def _of_reader(brief: ReaderBrief, words: Words) -> SystemText:
    if not all(isinstance(passage, Passage) for passage in brief.passages):
        raise TypeError("a reader's brief takes passages of published articles and nothing else")
    stable = [words.reader.format(name=brief.persona.name), words.data]
    if brief.about and brief.about.strip():
        stable.append(f"{words.about}\n{brief.about.strip()}")
    array = json.dumps([asdict(passage) for passage in brief.passages], ensure_ascii=False)
    return SystemText("\n\n".join(stable), _changing(brief.persona, brief.now_local, words.passages, array))


def _changing(persona: PersonaFacts, now_local: datetime, heading: str, array: str) -> str:
    if not array.lstrip().startswith("[") or not isinstance(json.loads(array), list):
        raise ValueError("records, sources and passages travel as one JSON array")
    return f"{say_now(persona, now_local)}\n\n{heading}\n{array}"


def say_now(persona: PersonaFacts, now_local: datetime) -> str:
    """
    >>> shanghai = datetime.fromisoformat("2026-11-02T21:04:00+08:00")
    >>> say_now(PersonaFacts("Ada", "en", "Asia/Shanghai"), shanghai)
    'It is Monday, 2026-11-02, 21:04, in the time zone Asia/Shanghai (UTC+08:00).'
    >>> say_now(PersonaFacts("阿达", "zh", "Asia/Shanghai"), shanghai)
    '现在是 2026-11-02 星期一 21:04，时区 Asia/Shanghai（UTC+08:00）。'
    """
    if now_local.utcoffset() is None:
        raise ValueError(f"{now_local.isoformat()} has no offset: the persona must know which time it is")
    return WORDS[persona.language].now.format(
        weekday=DAYS[persona.language][now_local.weekday()],
        date=now_local.date().isoformat(),
        time=now_local.strftime("%H:%M"),
        zone=persona.timezone,
        offset=now_local.isoformat()[-6:],
    )
