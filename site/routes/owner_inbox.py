"""The review queue: drafts beside what they were made from, and the owner's decisions on them."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant
from core.control.messages import DraftFact

from ..inbox import claims as batches
from ..inbox import review
from ..inbox.leaks import Leak, leaks
from ..owner.door import AnyRequest, fields_of, number_in
from ..owner.line_diff import compare
from ..owner.pages import DeskPages
from ..parts import Parts
from ..store import audit, claims, digests, journal, sources
from ..store.claims import Claimed, SlotRow
from ..store.digests import DigestDraft, Wording
from ..store.journal import Written
from ..store.sessions import Session
from ..store.sources import Source

INBOX = "/owner/inbox"


@dataclass(frozen=True)
class Fact:
    """A statement of the draft with the sources it rests on."""

    statement: str
    who: str
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Review:
    draft: DigestDraft
    sources: tuple[Source, ...]
    facts: tuple[Fact, ...]
    wordings: tuple[Wording, ...]
    entry: Written | None


def look(conn: Connection, digest: int) -> Review | None:
    draft = digests.one(conn, digest)
    if draft is None:
        return None
    talk = sources.of_claim(conn, draft.claim)
    by_id = {source.id: source for source in talk}
    told = [DraftFact.model_validate(fact) for fact in json.loads(draft.facts)]
    facts = tuple(
        Fact(fact.statement, fact.who, tuple(by_id[name] for name in fact.sources if name in by_id)) for fact in told
    )
    return Review(draft, talk, facts, digests.wordings(conn, digest), journal.of_digest(conn, digest))


@dataclass(frozen=True)
class Inbox:
    waiting: tuple[DigestDraft, ...]
    decided: tuple[DigestDraft, ...]
    next: batches.Waiting
    claims: tuple[Claimed, ...]
    slots: tuple[SlotRow, ...]


def _inbox(conn: Connection, terms: batches.DigestRules) -> Inbox:
    decided = digests.in_states(conn, ("rewriting", "published", "unpublished", "discarded"), 50)
    return Inbox(
        digests.in_states(conn, ("waiting",)),
        decided,
        batches.waiting(conn, terms),
        claims.newest(conn, 20),
        claims.newest_slots(conn, 10),
    )


@get("/inbox")
async def inbox_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], session: NamedDependency[Session]
) -> Response[str]:
    seen = await parts.store.read(_inbox, batches.digest_rules(parts.settings))
    return desk.page("inbox.html", session, inbox=seen)


@get("/inbox/{digest:int}")
async def review_page(
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    digest: FromPath[int],
) -> Response[str]:
    return await _review(parts, desk, session, digest)


async def _review(
    parts: Parts, desk: DeskPages, session: Session, digest: int, *, error: str = "", status: int = 200
) -> Response[str]:
    seen = await parts.store.read(look, digest)
    if seen is None:
        raise NotFoundException
    text = review.text_of(seen.draft)
    shown, warnings = await asyncio.to_thread(_looked_at, text, [source.text for source in seen.sources])
    return desk.page(
        "review.html",
        session,
        status=status,
        review=seen,
        draft=seen.draft,
        shown=shown,
        text_hash=text.hash,
        error=error,
        warnings=warnings,
    )


def _looked_at(text: review.Text, talk: list[str]) -> tuple[str, tuple[Leak, ...]]:
    """What readers would see, and what in it the owner should look at first."""
    return review.render(text).html, leaks(f"{text.title}\n{text.body}", talk)


@post("/inbox/{digest:int}/edit", status_code=200)
async def edit(
    request: AnyRequest,
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    digest: FromPath[int],
) -> Response[Any]:
    """Saves a new wording; a stale one is shown beside the present one (409), so that neither is lost."""
    fields = await fields_of(request)
    title, body, based_on = fields.get("title", ""), fields.get("body", ""), number_in(fields, "version")
    try:
        await parts.store.write(_edit, session, digest, based_on, title, body, parts.clock())
    except review.EditConflict as conflict:
        now = conflict.current
        return desk.page(
            "conflict.html",
            session,
            status=409,
            current=now,
            differs=await asyncio.to_thread(compare, f"{now.title}\n\n{now.body}", f"{title}\n\n{body}"),
            mine_title=title,
            mine_body=body,
            based_on=based_on,
            action=f"{INBOX}/{digest}/edit",
            back=f"{INBOX}/{digest}",
        )
    return Redirect(f"{INBOX}/{digest}", status_code=303)


def _edit(
    conn: Connection, session: Session, digest: int, based_on: int, title: str, body: str, now: Instant
) -> DigestDraft:
    after = review.save(conn, digest, based_on, title, body, now)
    audit.write(conn, _deed(session, "edited_draft", digest, f"version {based_on} to {after.version}"), now)
    return after


@post("/inbox/{digest:int}/publish", status_code=200)
async def publish(
    request: AnyRequest,
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
    digest: FromPath[int],
) -> Response[Any]:
    """The form names the version and the hash of the text the owner saw: anything else is not what was approved."""
    fields = await fields_of(request)
    seen = await parts.store.read(digests.one, digest)
    if seen is None:
        raise NotFoundException
    text = review.text_of(seen)
    if text.hash != fields.get("hash", ""):
        return await _review(parts, desk, session, digest, error="changed", status=409)
    shown = await asyncio.to_thread(review.render, text)
    try:
        await parts.store.write(_publish, session, digest, number_in(fields, "version"), shown, parts.clock())
    except review.EditConflict:
        return await _review(parts, desk, session, digest, error="changed", status=409)
    return Redirect(f"{INBOX}/{digest}", status_code=303)


def _publish(
    conn: Connection, session: Session, digest: int, based_on: int, shown: review.Rendered, now: Instant
) -> None:
    slug = review.publish(conn, digest, based_on, shown, now)
    audit.write(conn, _deed(session, "published_digest", digest, f"{slug} {shown.text.hash}"), now)


@post("/inbox/{digest:int}/unpublish", status_code=200)
async def unpublish(
    parts: NamedDependency[Parts], session: NamedDependency[Session], digest: FromPath[int]
) -> Redirect:
    await parts.store.write(_unpublish, session, digest, parts.clock())
    return Redirect(f"{INBOX}/{digest}", status_code=303)


def _unpublish(conn: Connection, session: Session, digest: int, now: Instant) -> None:
    review.unpublish(conn, digest, now)
    audit.write(conn, _deed(session, "unpublished_digest", digest), now)


@post("/inbox/{digest:int}/discard", status_code=200)
async def discard(
    request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session], digest: FromPath[int]
) -> Redirect:
    reason = (await fields_of(request)).get("reason", "")
    await parts.store.write(_discard, session, digest, reason, parts.clock())
    return Redirect(f"{INBOX}/{digest}", status_code=303)


def _discard(conn: Connection, session: Session, digest: int, reason: str, now: Instant) -> None:
    review.discard(conn, digest, reason, now)
    audit.write(conn, _deed(session, "discarded_digest", digest), now)


@post("/inbox/{digest:int}/take-back", status_code=200)
async def take_back(
    parts: NamedDependency[Parts], session: NamedDependency[Session], digest: FromPath[int]
) -> Redirect:
    await parts.store.write(_take_back, session, digest, parts.clock())
    return Redirect(f"{INBOX}/{digest}", status_code=303)


def _take_back(conn: Connection, session: Session, digest: int, now: Instant) -> None:
    review.take_back(conn, digest, now)
    audit.write(conn, _deed(session, "took_back_digest", digest), now)


@post("/claims/{claim:str}/release", status_code=200)
async def release_claim(
    parts: NamedDependency[Parts], session: NamedDependency[Session], claim: FromPath[str]
) -> Redirect:
    await parts.store.write(_release_claim, session, claim, parts.clock())
    return Redirect(INBOX, status_code=303)


def _release_claim(conn: Connection, session: Session, claim: str, now: Instant) -> None:
    batches.release_stuck(conn, claim, now)
    audit.write(conn, audit.Deed("owner", session.address, "released_claim", claim), now)


def _deed(session: Session, action: str, digest: int, detail: str = "") -> audit.Deed:
    return audit.Deed("owner", session.address, action, f"digest {digest}", detail)


HANDLERS = [inbox_page, review_page, edit, publish, unpublish, discard, take_back, release_claim]
