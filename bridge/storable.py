"""Makes what a platform sent fit for a store: text that has a UTF-8 form, and times that can be. Pure.

Half a surrogate pair passes through JSON but into no database, and a NUL into not every one: each becomes U+FFFD, as
in a browser. Everything else stays as it came.
"""

import re
from dataclasses import fields, replace
from typing import Any

from core.clock import Instant
from core.ids import EventKey

from .channels.contract import Poison, Update

FUTURE_MS = 24 * 3_600_000
"""A platform's clock may be ahead of ours; a day is more than any honest one is."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def clean(text: str) -> str:
    """
    >>> clean("a\\ud800b\\x00 好") == "a\\ufffdb\\ufffd 好"
    True
    """
    return _UNSTORABLE.sub("\ufffd", text)


def storable(update: Update, now: Instant) -> Update:
    """The update with every text clean; a time that cannot be is dropped, so that ours is taken."""
    texts: dict[str, Any] = {  # each of the type of its field: all of them are text
        field.name: clean(value)
        for field in fields(update)
        if isinstance(value := getattr(update, field.name), str) and _UNSTORABLE.search(value)
    }
    if update.said_at is not None and not 0 <= update.said_at <= now + FUTURE_MS:
        update = replace(update, said_at=None)
    return replace(update, **texts) if texts else update


def storable_poison(poison: Poison) -> Poison:
    return Poison(EventKey(clean(poison.event_key)), clean(poison.body), clean(poison.reason))
