"""Who is let in. The site decides; here a stranger's tries are bounded before anything is asked there.

A code is looked for in plain text and in `/pair CODE` alike. Five wrong tries lock a sender out for an hour, and the
lock is looked at before the site is asked, so that a right code does not open it either.
"""

import re
from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Instant
from core.ids import Account

from .channels.contract import Update
from .store.strangers import note_notice, note_try, see_stranger

MAX_TRIES = 5
LOCK_MS = 3_600_000

_CODE = re.compile(r"(?:/(?:pair|start)\s+)?([A-Za-z0-9]{4}-?[A-Za-z0-9]{4})")


@dataclass(frozen=True)
class Knock:
    """What a stranger's message comes to: ask the site about `code`, or say `notice` (a line of notices), or nothing."""

    code: str | None = None
    notice: str | None = None


def code_in(text: str | None) -> str | None:
    """
    >>> code_in("/pair ab12-cd34"), code_in(" AB12CD34 "), code_in("hello there")
    ('AB12CD34', 'AB12CD34', None)
    """
    found = _CODE.fullmatch((text or "").strip())
    return found[1].replace("-", "").upper() if found else None


def knock(conn: Connection, account: Account, update: Update, now: Instant) -> Knock:
    """Counts the try in the caller's transaction, before the site is asked: a crash gives no free ones."""
    stranger = see_stranger(conn, account, update.sender, now)
    code = code_in(update.text)
    if code is None:
        return _first_notice(conn, account, update, now, noticed=stranger.noticed)
    if stranger.locked_until is not None and now < stranger.locked_until:
        return Knock()
    attempts = stranger.attempts + 1 if stranger.locked_until is None else 1
    locked = Instant(now + LOCK_MS) if attempts >= MAX_TRIES else None
    note_try(conn, account, update.sender, attempts, locked)
    return Knock(code=code)


def _first_notice(conn: Connection, account: Account, update: Update, now: Instant, *, noticed: bool) -> Knock:
    if noticed or update.group or update.from_bot:
        return Knock()
    note_notice(conn, account, update.sender, now)
    return Knock(notice="stranger")
