"""Publishes articles at the time their owner chose: looked for every few seconds, and at once when the site starts."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from core.clock import Instant
from core.errors import BadInput, DocumentError, StoreError

from ..content.publish import Rendered, rendered
from ..parts import Parts
from ..store import articles, audit
from ..store.articles import Draft
from . import changes

LOOK_EVERY_S = 15

log = logging.getLogger(__name__)


def moment_of(text: str, zone: ZoneInfo) -> Instant:
    """A local time as forms write it. In the hour that comes twice it is the first one.

    >>> moment_of("2026-03-14T08:30", ZoneInfo("Asia/Shanghai"))
    1773448200000
    """
    try:
        local = datetime.strptime(text, "%Y-%m-%dT%H:%M").replace(tzinfo=zone)
        return Instant(int(local.timestamp() * 1000))
    except (ValueError, OverflowError) as wrong:
        raise BadInput(f"the time is {text[:40]!r}: write it as 2026-03-14T08:30") from wrong


@asynccontextmanager
async def publishing_on_time(parts: Parts) -> AsyncIterator[None]:
    looking = asyncio.create_task(_look_again_and_again(parts))
    try:
        yield
    finally:
        looking.cancel()
        with suppress(asyncio.CancelledError):
            await looking


async def _look_again_and_again(parts: Parts) -> None:
    while True:
        try:
            await publish_due(parts)
        except StoreError as fault:
            log.warning("looking for articles to publish failed: %s", fault)
        await asyncio.sleep(LOOK_EVERY_S)


async def publish_due(parts: Parts) -> int:
    """How many were published. One that cannot be is taken off the schedule, and the audit chain says why."""
    done = 0
    for draft in await parts.store.read(articles.due_drafts, parts.clock()):
        try:
            text = await asyncio.to_thread(rendered, draft.writing.document)
            done += await parts.store.write(_publish, draft, text, parts.clock())
        except (BadInput, DocumentError) as fault:
            await parts.store.write(_give_up, draft, str(fault), parts.clock())
    return done


def _publish(conn: Connection, draft: Draft, text: Rendered, now: Instant) -> int:
    """0 when the owner changed their mind in between."""
    at = articles.publish_at(conn, draft.article.id)
    if at is None or at > now:
        return 0
    changes.publish(conn, draft.article.id, draft.version, text, now)
    deed = audit.Deed("schedule", "", "published_article", f"article {draft.article.id}", f"version {draft.version}")
    audit.write(conn, deed, now)
    return 1


def _give_up(conn: Connection, draft: Draft, why: str, now: Instant) -> None:
    articles.set_publish_at(conn, draft.article.id, None)
    deed = audit.Deed("schedule", "", "could_not_publish", f"article {draft.article.id}", why[:300])
    audit.write(conn, deed, now)
