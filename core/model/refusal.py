"""What a provider says when it refuses: the codes in the body, and when to come back. Pure.

Only words from a closed list are taken from a refusal. Its free text may echo the key or the person's words.
"""

import json
import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from ..clock import Instant, instant_of

RETRY_AFTER_CAP_S = 3600.0
"""A provider may ask for more; after an hour one more question does no harm, and a wrong clock heals."""

_CODE = re.compile(r"[A-Za-z0-9_.\-]{1,64}")
_TOO_LONG = re.compile(r"(?i)context (length|window|size)|maximum context|too many tokens|prompt is too long")


@dataclass(frozen=True)
class Refusal:
    codes: frozenset[str] = frozenset()
    says_too_long: bool = False


def read_refusal(body: bytes) -> Refusal:
    """
    >>> sorted(read_refusal(b'{"error":{"code":"insufficient_quota","type":"x","message":"..."}}').codes)
    ['insufficient_quota', 'x']
    >>> read_refusal(b"<html>")
    Refusal(codes=frozenset(), says_too_long=False)
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return Refusal()
    error = answer.get("error", answer) if isinstance(answer, dict) else None
    if isinstance(error, str):
        return Refusal(says_too_long=_TOO_LONG.search(error) is not None)
    if not isinstance(error, dict):
        return Refusal()
    codes = (error.get(key) for key in ("code", "type"))
    message = error.get("message")
    return Refusal(
        frozenset(code for code in codes if isinstance(code, str) and _CODE.fullmatch(code)),
        isinstance(message, str) and _TOO_LONG.search(message) is not None,
    )


def read_retry_after(header: str | None, now: Instant) -> float | None:
    """Seconds to wait, at most the cap; the header holds seconds or a date (RFC 9110, 10.2.3). None if unreadable.

    >>> read_retry_after("7", Instant(0)), read_retry_after("Thu, 01 Jan 1970 00:00:09 GMT", Instant(2_000))
    (7.0, 7.0)
    >>> read_retry_after("soon", Instant(0))
    """
    if header is None:
        return None
    text = header.strip()
    if re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,9})?", text):
        return min(float(text), RETRY_AFTER_CAP_S)
    try:
        seconds = (instant_of(parsedate_to_datetime(text)) - now) / 1000
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), RETRY_AFTER_CAP_S)
