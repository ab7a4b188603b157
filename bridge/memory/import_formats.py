"""Reads chats that other programs exported, one line at a time: generic JSONL, Telegram's JSON, WhatsApp's text. Pure.

Who is who: the generic form says it (`person`, `persona`, `other`). A messenger's export only has names, so `me` is the
owner's name there and everybody else is a third party. A line that cannot be read is reported, never guessed.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from core.clock import Instant, instant_of
from core.errors import BadInput

Who = Literal["person", "persona", "other"]
Format = Literal["jsonl", "telegram", "whatsapp"]

LONGEST_TEXT = 50_000
"""Characters of one message: with its JSON it must fit into one request to the bridge."""


@dataclass(frozen=True)
class ImportedLine:
    """`key` is unique in its chat and the same every time the file is read."""

    chat: str
    key: str
    who: Who
    name: str | None
    text: str
    said_at: Instant


@dataclass(frozen=True)
class Unreadable:
    line: int
    reason: str


@dataclass(frozen=True)
class ExportFacts:
    """What a messenger's export does not say itself: the chat's name, the owner's name in it, the zone of its times."""

    chat: str
    me: str | None
    zone: ZoneInfo


Read = ImportedLine | Unreadable


class GenericLine(BaseModel):
    """One line of the generic form."""

    model_config = ConfigDict(extra="ignore")
    chat: Annotated[str, Field(min_length=1, max_length=200)]
    id: Annotated[str, Field(min_length=1, max_length=200)]
    who: Who
    name: str | None = Field(None, max_length=200)
    at: AwareDatetime
    text: str = Field(max_length=LONGEST_TEXT)


def format_of(beginning: str) -> Format:
    """From the first few kilobytes. Raises BadInput when it is none of the three.

    >>> format_of('{"chat": "a", "id": "1"}'), format_of('[02.03.24, 09:10:11] Ann: hi')
    ('jsonl', 'whatsapp')
    """
    start = beginning.lstrip("\ufeff\u200e \r\n")
    if start.startswith("{"):
        first = start.partition("\n")[0]
        return "telegram" if '"messages"' in start and '"who"' not in first else "jsonl"
    if any(_WHATSAPP.match(line) for line in start.splitlines()):
        return "whatsapp"
    raise BadInput("the file is neither generic JSONL nor a Telegram JSON export nor a WhatsApp text export")


def read_lines(form: Format, lines: Iterable[str], facts: ExportFacts) -> Iterator[Read]:
    if form == "jsonl":
        return read_jsonl(lines)
    return read_telegram("".join(lines), facts) if form == "telegram" else read_whatsapp(lines, facts)


# --- generic JSONL ---------------------------------------------------------------------------------------------------


def read_jsonl(lines: Iterable[str]) -> Iterator[Read]:
    """
    >>> line = '{"chat":"a","id":"1","who":"person","at":"2024-05-01T09:00:00+08:00","text":"早"}'
    >>> [type(one).__name__ for one in read_jsonl([line, "", "{", line.replace("+08:00", "")])]
    ['ImportedLine', 'Unreadable', 'Unreadable']
    """
    for number, line in enumerate(lines, 1):
        if line.strip("\ufeff \r\n\t"):
            yield _generic(number, line.strip("\ufeff \r\n\t"))


def _generic(number: int, line: str) -> Read:
    try:
        one = GenericLine.model_validate_json(line)
    except ValidationError as wrong:
        problem = wrong.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        return Unreadable(number, f"{where}: {problem['msg']}" if where else str(problem["msg"]))
    return line_of(one)


def line_of(one: GenericLine) -> ImportedLine:
    return ImportedLine(one.chat, one.id, one.who, one.name, one.text, instant_of(one.at))


# --- Telegram --------------------------------------------------------------------------------------------------------


def read_telegram(whole: str, facts: ExportFacts) -> Iterator[Read]:
    """`result.json` of Telegram Desktop: one chat, or all of them under `chats.list`."""
    try:
        data = json.loads(whole)
    except (ValueError, RecursionError) as wrong:
        raise BadInput(f"the Telegram export is not JSON: {wrong}") from wrong
    if not isinstance(data, dict):
        raise BadInput("the Telegram export must be a JSON object: export the chat as machine-readable JSON")
    chats = data["chats"].get("list", []) if isinstance(data.get("chats"), dict) else [data]
    for chat in chats:
        name = f"telegram:{chat.get('id', facts.chat)}"
        for number, message in enumerate(chat.get("messages", ()), 1):
            if isinstance(message, dict) and message.get("type") == "message":
                yield _telegram_message(number, name, message, facts)


def _telegram_message(number: int, chat: str, message: dict[str, Any], facts: ExportFacts) -> Read:
    try:
        at = _telegram_time(message, facts.zone)
        text = "".join(_telegram_piece(piece) for piece in _pieces(message.get("text", "")))
        name = str(message["from"]) if message.get("from") else None
        return ImportedLine(chat, str(message["id"]), _who(name, facts), name, text[:LONGEST_TEXT], at)
    except (KeyError, TypeError, ValueError) as wrong:
        return Unreadable(number, f"a message without {wrong}" if isinstance(wrong, KeyError) else str(wrong))


def _telegram_time(message: dict[str, Any], zone: ZoneInfo) -> Instant:
    if "date_unixtime" in message:
        return Instant(int(message["date_unixtime"]) * 1000)
    return instant_of(datetime.fromisoformat(message["date"]).replace(tzinfo=zone))


def _pieces(text: object) -> list[object]:
    return list(text) if isinstance(text, list) else [text]


def _telegram_piece(piece: object) -> str:
    return str(piece.get("text", "")) if isinstance(piece, dict) else str(piece)


# --- WhatsApp --------------------------------------------------------------------------------------------------------


def read_whatsapp(lines: Iterable[str], facts: ExportFacts) -> Iterator[Read]:
    """`_chat.txt`, from iOS (`[2024/5/1 09:00:11] Name: text`) or Android (`01/05/2024, 09:00 - Name: text`), zh or en.

    A message goes on over the lines without a date. Day and month are told apart by the whole file: a number above 12
    says which is which. Lines of the service itself have no name and are left out.
    """
    held = list(lines)
    day_first = _day_comes_first(held)
    open_: list[str] | None = None
    head: re.Match[str] | None = None
    seen: dict[str, int] = {}
    for line in held:
        clean = line.strip("\r\n").lstrip("\ufeff\u200e\u200f")
        if match := _WHATSAPP.match(clean):
            if head is not None and open_ is not None:
                yield _whatsapp_message(head, "\n".join(open_), facts, day_first, seen)
            head, open_ = match, [match["text"]] if match["name"] else None
        elif open_ is not None:
            open_.append(clean)
    if head is not None and open_ is not None:
        yield _whatsapp_message(head, "\n".join(open_), facts, day_first, seen)


def _whatsapp_message(
    head: re.Match[str], text: str, facts: ExportFacts, day_first: bool, seen: dict[str, int]
) -> Read:
    """Its key is what it says and when; the second of two equal ones has a number."""
    name = head["name"].strip("\u200e\u202a\u202c ~")
    print_ = sha256(f"{head['date']} {head['time']}\0{name}\0{text}".encode("utf-8", "replace")).hexdigest()[:24]
    seen[print_] = seen.get(print_, 0) + 1
    key = print_ if seen[print_] == 1 else f"{print_}-{seen[print_]}"
    try:
        at = instant_of(_whatsapp_time(head, day_first).replace(tzinfo=facts.zone))
    except ValueError as wrong:
        return Unreadable(0, f"{head['date']} {head['time']}: {wrong}")
    return ImportedLine(facts.chat, key, _who(name, facts), name, text.strip()[:LONGEST_TEXT], at)


def _whatsapp_time(head: re.Match[str], day_first: bool) -> datetime:
    """
    >>> _whatsapp_time(_WHATSAPP.match("[2024/5/1 下午9:00:11] 林: 早"), True).isoformat()
    '2024-05-01T21:00:11'
    >>> _whatsapp_time(_WHATSAPP.match("5/1/24, 12:05 AM - Ann: hi"), False).isoformat()
    '2024-05-01T00:05:00'
    """
    first, second, third = (int(number) for number in re.findall(r"\d+", head["date"]))
    if first > 31:
        year, month, day = first, second, third
    else:
        day, month = (first, second) if day_first else (second, first)
        year = third + 2000 if third < 100 else third
    hour, minute, *rest = (int(number) for number in re.findall(r"\d+", head["time"]))
    half = f"{head['half'] or ''}{head['half2'] or ''}".lower().replace(".", "").replace("\u202f", "").strip()
    if half in ("pm", "下午", "晚上", "中午"):
        hour = hour % 12 + 12
    elif half in ("am", "上午", "凌晨", "早上"):
        hour %= 12
    return datetime(year, month, day, hour, minute, rest[0] if rest else 0)


def _day_comes_first(lines: Iterable[str]) -> bool:
    for line in lines:
        if match := _WHATSAPP.match(line.lstrip("\ufeff\u200e\u200f")):
            first, second, _ = (int(number) for number in re.findall(r"\d+", match["date"]))
            if 12 < first <= 31 or first > 31:
                return True
            if second > 12:
                return False
    return True


def _who(name: str | None, facts: ExportFacts) -> Who:
    return "person" if name is not None and name == facts.me else "other"


_HALF = r"(?:[ap]\.?m\.?|上午|下午|凌晨|早上|晚上|中午)"
_WHATSAPP = re.compile(
    rf"\[?(?P<date>\d{{1,4}}[/.\-]\d{{1,2}}[/.\-]\d{{1,4}}),?[ \u202f](?P<half>{_HALF})?[ \u202f]?(?P<time>\d{{1,2}}:\d\d(?::\d\d)?)"
    rf"[ \u202f]?(?P<half2>{_HALF})?(?:\]| -) ?\u200e?(?:(?P<name>[^:\n]{{1,80}}): ?(?P<text>.*)|.*)$",
    re.IGNORECASE | re.DOTALL,
)
