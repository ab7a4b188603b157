"""The development sets as chats with probes: files as their authors publish them, in whatever folder they lie.

Articles become chats too, one paragraph a day, so that one path measures all. No data is here.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from bridge.memory.import_formats import ImportedLine, read_jsonl
from bridge.memory.recall import MessageFact
from bridge.memory.sessions import is_question, message_entry, starts_session
from core.clock import Instant, instant_of
from core.lexical.entry import Entry

UTC = ZoneInfo("UTC")
SHANGHAI = ZoneInfo("Asia/Shanghai")
DAY_MS = 86_400_000
SAMPLE = Path(__file__).parents[1] / "data" / "sample" / "recall"


@dataclass(frozen=True, slots=True)
class Probe:
    text: str
    gold: frozenset[int]
    previous: tuple[str, ...] = ()


@dataclass(slots=True)
class Chat:
    scope: str
    zone: ZoneInfo
    entries: list[Entry] = field(default_factory=list)
    facts: dict[int, MessageFact] = field(default_factory=dict)
    texts: dict[int, str] = field(default_factory=dict)
    units: dict[int, int] = field(default_factory=dict)
    """Message id -> what probes name: the message itself, or the exchange it belongs to."""
    probes: list[Probe] = field(default_factory=list)
    first_id: int = 1
    asked_after_ms: int = DAY_MS
    nothing: list[str] = field(default_factory=list)
    """Questions that nothing in it answers."""

    @property
    def asked_at(self) -> Instant:
        return Instant(self.facts[self.entries[-1].id].at + self.asked_after_ms)

    def say(self, name: str, text: str, at: int, *, person: bool, unit: int | None = None) -> int:
        last = self.facts[self.entries[-1].id] if self.entries else None
        new_id, moment = self.first_id + len(self.entries), Instant(at)
        session = new_id if last is None or starts_session(last.at, moment) else last.session
        if last is not None:
            self.facts[last.id] = MessageFact(
                last.id, last.previous, new_id, last.session, last.at, last.question, last.person
            )
        before = last.id if last else None
        self.facts[new_id] = MessageFact(new_id, before, None, session, moment, is_question(text), person)
        self.texts[new_id] = f"{name}: {text}" if name else text
        self.units[new_id] = new_id if unit is None else unit
        self.entries.append(
            message_entry(
                seq=new_id, message_id=new_id, scope=self.scope, name=name, text=text, at=moment, zone=self.zone,
                session=session, person=person,
            )
        )  # fmt: skip
        return new_id


def every_set(folder: Path) -> dict[str, list[Chat]]:
    """The sets whose files are in the folder, by name."""
    known: dict[str, tuple[str, Callable[[Any], list[Chat]]]] = {
        "sample chat": ("sample_chat.json", lambda data: [sample_chat(data, folder)]),
        "LoCoMo": ("locomo_dev.json", locomo),
        "MemoryBank zh": ("memorybank_zh_dev.json", memorybank),
        "CMRC": ("cmrc2018_trial.json", articles),
        "CMRC follow-ups": ("cmrc2018_trial.json", follow_ups),
        "CMRC new subjects": ("cmrc2018_trial.json", new_subjects),
        "CMRC full width and traditional": ("cmrc2018_trial.json", other_spelling),
        "XQuAD zh": ("xquad.zh.json", articles),
        "XQuAD en": ("xquad.en.json", articles),
    }
    return {
        name: make(json.loads((folder / file).read_text("utf-8")))
        for name, (file, make) in known.items()
        if (folder / file).is_file()
    }


def unanswerable(folder: Path, language: str) -> list[str]:
    """Our own questions that nothing in any of the sets answers; those of the shipped sample where the folder has none."""
    own = folder / "nothing.json"
    file = own if own.is_file() else SAMPLE / "nothing.json"
    questions: list[str] = json.loads(file.read_text("utf-8"))[language]
    return questions


def sample_chat(data: Any, folder: Path) -> Chat:
    """The chat that comes with Penfriend, read as `penfriend memory import` reads it."""
    chat, numbers = Chat("sample", SHANGHAI), {}
    for one in read_jsonl((folder / data["chat"]).read_text("utf-8").splitlines()):
        if isinstance(one, ImportedLine):
            numbers[one.key] = chat.say(one.name or "", one.text, one.said_at, person=one.who == "person")
    chat.probes = [
        Probe(probe["question"], frozenset(numbers[key] for key in probe["evidence"])) for probe in data["probes"]
    ]
    chat.nothing = data["nothing"]
    return chat


def locomo(data: Any) -> list[Chat]:
    return [_locomo_chat(talk, 1 + 100_000 * number) for number, talk in enumerate(data)]


def _locomo_chat(talk: Any, first_id: int) -> Chat:
    """Turns of `speaker: text photo caption`, a minute apart."""
    chat, said = Chat(talk["sample_id"], UTC, first_id=first_id), talk["conversation"]
    names: dict[str, int] = {}
    for number in range(1, 100):
        if f"session_{number}" not in said:
            continue
        opened = datetime.strptime(said[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for minute, turn in enumerate(said[f"session_{number}"]):
            text = f"{turn['text']} {turn.get('blip_caption', '')}".strip()
            at, person = instant_of(opened + timedelta(minutes=minute)), turn["speaker"] == said["speaker_a"]
            names[turn["dia_id"]] = chat.say(turn["speaker"], text, at, person=person)
    for asked in talk["qa"]:
        evidence = (name for names_ in asked["evidence"] for name in names_.replace(";", " ").split())
        if gold := frozenset(names[name] for name in evidence if name in names):
            chat.probes.append(Probe(asked["question"], gold))
    return chat


def memorybank(data: Any) -> list[Chat]:
    return [_memorybank_chat(person, 1 + 100_000 * number) for number, person in enumerate(data)]


def _memorybank_chat(person: Any, first_id: int) -> Chat:
    """An exchange is two messages and one unit."""
    chat = Chat(person["user"], SHANGHAI, first_id=first_id)
    for exchange in person["exchanges"]:
        noon = datetime.fromisoformat(exchange["date"]).replace(hour=12, tzinfo=SHANGHAI)
        at, unit = instant_of(noon + timedelta(minutes=exchange["n"])), exchange["n"]
        chat.say("", exchange["user"], at, person=True, unit=unit)
        chat.say("", exchange["assistant"], at + 20_000, person=False, unit=unit)
    chat.probes = [Probe(probe["question"], frozenset(probe["evidence"])) for probe in person["probes"]]
    return chat


def articles(data: Any) -> list[Chat]:
    return [_article_chat(data)[0]]


def _article_chat(data: Any) -> tuple[Chat, list[tuple[int, list[str]]]]:
    """Paragraphs as messages, a day apart, and for each the questions that it answers."""
    # Asked decades later, so that a day in a question does not mean the made-up day of a paragraph.
    chat, asked = Chat("articles", SHANGHAI, asked_after_ms=20_000 * DAY_MS), []
    for article in data["data"]:
        for paragraph in article["paragraphs"]:
            at = chat.say("", paragraph["context"], DAY_MS * (1 + len(chat.entries)), person=True)
            questions = [question["question"] for question in paragraph["qas"] if question["question"]]
            asked.append((at, questions))
            chat.probes.extend(Probe(question, frozenset({at})) for question in questions)
    return chat, asked


def _pairs(asked: list[tuple[int, list[str]]]) -> list[tuple[int, str, str, str]]:
    """Two questions to one paragraph that share words: paragraph, first, second without what they share, second."""
    pairs = []
    for at, questions in asked:
        for first, second in pairwise(questions):
            shared = SequenceMatcher(None, first, second, autojunk=False).find_longest_match()
            short = second[: shared.b] + second[shared.b + shared.size :]
            if shared.size >= 2 and len(short) >= 3:
                pairs.append((at, first, short, second))
    return pairs


def follow_ups(data: Any) -> list[Chat]:
    chat, asked = _article_chat(data)
    chat.probes = [Probe(short, frozenset({at}), (first,)) for at, first, short, _ in _pairs(asked)]
    return [chat]


def new_subjects(data: Any) -> list[Chat]:
    """The whole second question after a question about something else: the control of the follow-ups."""
    chat, asked = _article_chat(data)
    pairs = _pairs(asked)
    others = [first for _, first, _, _ in pairs[len(pairs) // 2 :] + pairs[: len(pairs) // 2]]
    chat.probes = [
        Probe(whole, frozenset({at}), (other,)) for (at, _, _, whole), other in zip(pairs, others, strict=True)
    ]
    return [chat]


def other_spelling(data: Any) -> list[Chat]:
    """Questions in traditional characters and full-width letters and digits, about texts in simplified ones."""
    from opencc import OpenCC

    wide, traditional = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}, OpenCC("s2t")
    chat, _ = _article_chat(data)
    chat.probes = [Probe(traditional.convert(probe.text).translate(wide), probe.gold) for probe in chat.probes]
    return [chat]
