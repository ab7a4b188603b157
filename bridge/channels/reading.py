"""Reading what platforms send: JSON that may hold anything. A fact that is not as it must be makes the update poison."""

import hashlib
import json

from core.clock import Instant
from core.ids import EventKey

from .contract import Poison

Json = dict[str, object]

LATEST_MS = 253_402_300_799_999
"""The end of the year 9999: a time beyond it is a fault, and no calendar takes it."""


class Unreadable(ValueError):
    """What is wrong with an update, for the owner: names the field, never its text."""


def raw_body(raw: object) -> str:
    """The JSON text that is kept; half a surrogate pair stays an escape, because no store takes it.

    >>> raw_body({"a": "好" + chr(0xD83D)})
    '{"a": "好\\\\ud83d"}'
    """
    return json.dumps(raw, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()


def text_in(raw: Json, name: str) -> str | None:
    """A text that can be stored and shown, or None when there is none. A NUL becomes the replacement character.

    >>> text_in({"a": "x"}, "a"), text_in({}, "a")
    ('x', None)
    """
    value = raw.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise Unreadable(f"{name} is {type(value).__name__}, not text")
    if any("\ud800" <= letter <= "\udfff" for letter in value):
        raise Unreadable(f"{name} holds half a character")
    return value.replace("\0", "\ufffd")


def needed_text(raw: Json, name: str) -> str:
    found = text_in(raw, name)
    if not found:
        raise Unreadable(f"{name} is missing")
    return found


def number_in(raw: Json, name: str) -> int | None:
    """A whole number as an int or as decimal text (uint64 ids come in both ways)."""
    value = raw.get(name)
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdecimal() and len(value) <= 20:
        return int(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise Unreadable(f"{name} is no whole number")


def needed_number(raw: Json, name: str) -> int:
    found = number_in(raw, name)
    if found is None:
        raise Unreadable(f"{name} is missing")
    return found


def instant_in(raw: Json, name: str, *, unit_ms: int) -> Instant | None:
    """A time counted in units of so many milliseconds; None when it is missing or cannot be one."""
    found = number_in(raw, name)
    return Instant(found * unit_ms) if found is not None and 0 < found * unit_ms <= LATEST_MS else None


def object_in(raw: Json, name: str) -> Json | None:
    value = raw.get(name)
    if value is None or isinstance(value, dict):
        return value
    raise Unreadable(f"{name} is {type(value).__name__}, not an object")


def needed_object(raw: Json, name: str) -> Json:
    found = object_in(raw, name)
    if found is None:
        raise Unreadable(f"{name} is missing")
    return found


def objects_in(raw: Json, name: str) -> list[Json]:
    """The objects of a list; what else stands in it is passed over."""
    value = raw.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def poison(raw: object, why: Exception) -> Poison:
    """Set aside under a key made of its content, so that its repetition is the same."""
    body = raw_body(raw)
    digest = hashlib.sha256(body.encode()).hexdigest()[:32]
    return Poison(EventKey(f"unreadable/{digest}"), body, str(why))
