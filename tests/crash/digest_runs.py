"""Crash points of what was said on its way to a page: claim, draft, inbox, approval, journal; the site's own functions.

I11: a slot is claimed once, a source is in one live claim. I12: no text is public without the owner's approval of
exactly that text. The digest worker has no store: after a crash it asks for the same slot again.
"""

import asyncio
import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.control.messages import ClaimRequest, Cost, Draft, DraftFact, SaidRecord, SyncBatch
from core.errors import PenfriendError
from core.ids import ClaimId
from website.inbox import claims, intake, review

from .points import at_each
from .runs import Camera
from .world import Watch, WatchedStore, copied, settings_of

SLOT = "2026-05-29 21:30"
COST = Cost(
    verdict="settle",
    micros=100,
    provider="openai",
    model="scripted",
    outcome="answered",
    input_tokens=9,
    output_tokens=9,
)


class Desk:
    """The site's store, a digest worker and an owner who publishes what waits."""

    def __init__(self, folder: Path, watch: Watch) -> None:
        self.store, self.watch = WatchedStore(folder / "site.db", "site"), watch
        self.terms = claims.digest_rules(settings_of(folder, {}))

    async def live(self) -> None:
        """Everything, from wherever it was left: the bridge tells, the worker digests, the owner decides."""
        await self.store.write(intake.keep, SyncBatch(records=_said()), self.watch.now())
        await self._release_what_is_stuck()
        await self._digest(SLOT)
        await self._digest(None)
        await self._publish()

    async def _release_what_is_stuck(self) -> None:
        for claim in await self.store.read(_live_claims):
            await self.store.write(claims.release_stuck, claim, self.watch.now())

    async def _digest(self, slot: str | None) -> None:
        asked = ClaimRequest(slot=slot, max_cost_micros=1_000, max_tokens=1_000)
        claim = ClaimId(self.watch.mint(self.watch.now()))
        answer = await self.store.write(claims.take, self.terms, asked, claim, self.watch.now())
        if answer.claim is None:
            return
        sources = tuple(source.id for source in answer.claim.sources)
        fact = DraftFact(statement="tea", sources=sources[:1], who="owner")
        draft = Draft(title="A day", body=f"They spoke of {len(sources)} things.", facts=(fact,), cost=COST)
        for _ in range(2):  # told twice, kept once
            await self.store.write(claims.keep_draft, self.terms, answer.claim.id, draft, self.watch.now())

    async def _publish(self) -> None:
        for digest, version in await self.store.read(_waiting_drafts):
            draft = await self.store.write(
                review.save, digest, version, "A reviewed day", "What the owner reviewed.", self.watch.now()
            )
            shown = review.render(review.text_of(draft))
            await self.store.write(review.publish, digest, draft.version, shown, self.watch.now())


def _said() -> tuple[SaidRecord, ...]:
    return tuple(
        SaidRecord(
            key=f"said-{number}",
            turn=f"turn-{number // 2}",
            conversation="1",
            account="fake:bot",
            role="owner",
            speaker="persona" if number % 2 else "person",
            text=f"line {number}",
            said_at_ms=1_779_999_000_000 + number,
        )
        for number in range(6)
    )


def _live_claims(conn: Connection) -> list[str]:
    return [row.id for row in conn.execute(sql("SELECT id FROM claims WHERE state = 'claimed' ORDER BY id"))]


def _waiting_drafts(conn: Connection) -> list[tuple[int, int]]:
    rows = conn.execute(sql("SELECT id, version FROM digests WHERE state = 'waiting' ORDER BY id"))
    return [(row.id, row.version) for row in rows]


def run(template: Path, scratch: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Photographs the desk at every point, opens each image again, and judges both."""
    folder, watch = copied(template, scratch / "desk"), Watch()
    camera = Camera(folder, scratch / "images", watch)
    desk = Desk(folder, watch)
    at_each(camera)
    asyncio.run(desk.live())
    at_each(None)
    desk.store.close()
    for image in camera.images:
        broken = _broken(image.folder)
        again = Desk(image.folder, watch)
        try:
            asyncio.run(again.live())
        except PenfriendError as fault:
            broken += [f"FAULT {fault}"]
        again.store.close()
        broken += _broken(image.folder) + _not_at_rest(image.folder)
        shutil.rmtree(image.folder)
        yield f"[digest] image at {image.point}", tuple(broken)


def _broken(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "site.db")) as conn:
        twice = conn.execute(
            "SELECT s.source_id FROM claim_sources s JOIN claims c ON c.id = s.claim_id WHERE c.state = 'claimed' "
            "GROUP BY s.source_id HAVING count(*) > 1"
        ).fetchall()
        slots = conn.execute("SELECT count(*) FROM claims WHERE slot = ? AND state IN ('claimed', 'drafted')", (SLOT,))
        broken = [f"I11 source {row[0]} is in two live claims" for row in twice]
        broken += ["I11 the slot was claimed twice"] if slots.fetchone()[0] > 1 else []
        drafted = conn.execute("SELECT claim_id FROM digests GROUP BY claim_id HAVING count(*) > 1").fetchall()
        broken += ["I11 a claim has two drafts"] if drafted else []
        approved = {row[0] for row in conn.execute("SELECT text_hash FROM approvals")}
        for language, title, document, kept in conn.execute("SELECT language, title, document, text_hash FROM journal"):
            body = _plain(document)
            true = hashlib.sha256(json.dumps([language, title, body], ensure_ascii=False).encode()).hexdigest()
            if kept not in approved or true != kept:
                broken.append(f"I12 {title!r} is public without an approval of exactly that text")
        return broken


def _plain(document: str) -> str:
    """The body of our one-paragraph drafts."""
    return "".join(run["text"] for block in json.loads(document)["blocks"] for run in block["text"])


def _not_at_rest(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "site.db")) as conn:
        (live,) = conn.execute("SELECT count(*) FROM claims WHERE state = 'claimed'").fetchone()
        (held,) = conn.execute("SELECT COALESCE(sum(held_micros), 0) FROM pool_days WHERE pool = 'digest'").fetchone()
        (public,) = conn.execute("SELECT count(*) FROM journal").fetchone()
        (waiting,) = conn.execute("SELECT count(*) FROM sources WHERE processed_at_ms IS NULL").fetchone()
    broken = [f"I8 {live} claims are still out"] if live else []
    broken += [f"I8 the pool still holds {held}"] if held else []
    return broken + (
        [] if public and not waiting else [f"I11 {waiting} sources were forgotten, {public} entries are public"]
    )
