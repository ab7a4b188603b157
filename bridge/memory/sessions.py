"""What recall must know of a message beside its words: its session, its day, who spoke, whether it asks. Pure."""

from datetime import datetime
from zoneinfo import ZoneInfo

from core.clock import Instant, local_time
from core.lexical.entry import Entry
from core.text.tokens import index_tokens

SILENCE_MS = 3 * 60 * 60 * 1000
"""A session ends after three hours of silence."""

QUESTION = 1
PERSON = 2
"""Bits of an entry's flags: the message asks something; the person said it, not the persona or a third party."""


def starts_session(previous_at: Instant | None, at: Instant) -> bool:
    """Whether a message opens a session; `previous_at` is the time of the message before it in its conversation."""
    return previous_at is None or at - previous_at >= SILENCE_MS


def day_number(at: Instant, zone: ZoneInfo) -> int:
    """The owner's calendar day as a proleptic ordinal, which is how the index keeps days."""
    moment: datetime = local_time(at, zone)
    return moment.toordinal()


def is_question(text: str) -> bool:
    """
    >>> [is_question(text) for text in ("真的吗？", "Really?! ", "What? Never.", "你说呢")]
    [True, True, False, True]
    """
    end = text.rstrip(" \t\r\n!！\"'”’)）~～。.…")
    return end.endswith(("?", "？", "吗", "呢", "么"))


def message_entry(
    *,
    seq: int,
    message_id: int,
    scope: str,
    name: str,
    text: str,
    at: Instant,
    zone: ZoneInfo,
    session: int,
    person: bool,
) -> Entry:
    """The index entry of one message. Its words are `name: text`, so that a question naming a speaker finds them.

    `session` is the id of the message that opened the session.
    """
    flags = QUESTION * is_question(text) | PERSON * person
    tokens = index_tokens(f"{name}: {text}")
    return Entry(seq, message_id, scope, tokens, session, day_number(at, zone), flags)
