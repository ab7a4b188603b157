"""Keeps what a bridge tells, by key: any number of times, in any order, the newest version stays.

A deletion takes the text away for good. `heard` goes from false to true and never back: a reply that reached somebody
stays a reply that reached somebody.
"""

import json
from dataclasses import replace

from sqlalchemy import Connection

from core.clock import Instant
from core.control.messages import SaidRecord, StateRecord, SyncAnswer, SyncBatch

from ..store import sources, synced
from ..store.sources import Source
from . import review

MAX_TEXT_BYTES = 64 * 1024


def keep(conn: Connection, batch: SyncBatch, now: Instant) -> SyncAnswer:
    kept: list[str] = []
    refused: dict[str, str] = {}
    for record in batch.records:
        reason = _keep_said(conn, record, now) if isinstance(record, SaidRecord) else _keep_state(conn, record)
        if reason:
            refused[record.key] = reason
        else:
            kept.append(record.key)
    return SyncAnswer(kept=tuple(kept), refused=refused)


def _keep_said(conn: Connection, record: SaidRecord, now: Instant) -> str:
    """Why the record is refused, or nothing."""
    if len(record.text.encode("utf-8", "replace")) > MAX_TEXT_BYTES:
        return f"the text is longer than {MAX_TEXT_BYTES} bytes"
    told = _source(record, now)
    before = sources.one(conn, record.key)
    if before is None:
        sources.add(conn, told, now)
        return ""
    if (before.turn, before.speaker, before.account) != (told.turn, told.speaker, told.account):
        return "the key belongs to something else that was said"
    after = _newer(before, told)
    if after != before:
        sources.change(conn, after)
    if after.forgotten_at is not None and before.forgotten_at is None:
        review.forget_source(conn, record.key, now)
    return ""


def _source(record: SaidRecord, now: Instant) -> Source:
    return Source(
        record.key,
        record.turn,
        record.conversation,
        record.account,
        record.role,
        record.speaker,
        "" if record.deleted else record.text,
        Instant(record.said_at_ms),
        record.heard,
        record.version,
        now if record.deleted else None,
    )


def _newer(before: Source, told: Source) -> Source:
    heard = before.heard or told.heard
    forgotten = before.forgotten_at or told.forgotten_at
    if forgotten is not None:
        version = max(before.version, told.version)
        return replace(before, text="", version=version, heard=heard, forgotten_at=forgotten)
    if told.version <= before.version:
        return replace(before, heard=heard)
    return replace(before, text=told.text, version=told.version, heard=heard)


def _keep_state(conn: Connection, record: StateRecord) -> str:
    try:
        if not isinstance(json.loads(record.body), dict):
            return "the body is not a JSON object"
    except (ValueError, RecursionError):
        return "the body is not JSON"
    synced.keep(conn, synced.Synced(record.kind, record.key, record.body, Instant(record.at_ms)))
    return ""
