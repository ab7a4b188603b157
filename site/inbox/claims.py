"""Gives a digest worker its next batch of what was said, and takes back a draft, or the batch.

A slot is taken by inserting it, once for ever. Its worker then asks for one batch after another under the same slot,
until nothing is left or `max_batches` drafts are made. While one batch is out nobody else gets into the slot; a failed
batch ends it, and its sources wait for the next one. A reservation of the pool `digest` has the claim's id.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from core.batch import SourceFact, choose_batch
from core.budget import Language, Proof, Refusal, Request, refusal_text
from core.clock import Instant, local_day
from core.control.messages import Claim, ClaimAnswer, ClaimRequest, ClaimSource, Cost, Draft, DraftKept, Release, Voice
from core.days import wall_instant
from core.errors import BadInput, ControlRefused
from core.ids import ClaimId, SourceId
from core.settings import Settings

from ..ledger import book
from ..ledger.rules import Rules, pool_rules
from ..owner.default_voices import DEFAULT_VOICES
from ..store import claims, digests, sources, usage, voices
from ..store.claims import Claimed
from ..store.digests import DigestDraft
from ..store.sources import Source

ABANDONED_MS = 45 * 60_000
"""A worker that is not back after this never comes: its claim becomes unknown, at full amount, and its talk is free."""

TURNS_LOOKED_AT = 200  # more than a batch can hold, so that too long ones at the head do not hide the others


@dataclass(frozen=True)
class DigestRules:
    """`language` is the one to write in; `zone` the one that days are named by."""

    rules: Rules
    language: Language
    zone: ZoneInfo
    max_turns: int
    max_bytes: int
    max_batches: int


@dataclass(frozen=True)
class Waiting:
    """What waits for a digest: sources of the next batch, sources no batch can hold, and how many are left after both."""

    next_batch: tuple[Source, ...]
    too_long: tuple[Source, ...]
    rest: int


def digest_rules(settings: Settings) -> DigestRules:
    chosen = settings.digest
    return DigestRules(
        pool_rules(settings, "digest"),
        settings.persona.language,
        ZoneInfo(chosen.timezone),
        chosen.max_turns,
        chosen.max_bytes,
        chosen.max_batches,
    )


def waiting(
    conn: Connection, terms: DigestRules, chosen: tuple[str, ...] = (), until: Instant | None = None
) -> Waiting:
    """Looks, and changes nothing. `chosen` selects by hand; with `until` a turn said after it waits for a later slot."""
    found = sources.waiting_among(conn, chosen) if chosen else sources.waiting(conn, TURNS_LOOKED_AT)
    late = {one.turn for one in found if until is not None and one.said_at > until}
    found = tuple(one for one in found if one.turn not in late)
    facts = [SourceFact(SourceId(one.id), one.turn, len(one.text.encode()), one.said_at) for one in found]
    choice = choose_batch(facts, terms.max_turns, terms.max_bytes, 1)
    by_id = {one.id: one for one in found}
    batch = tuple(by_id[source] for source in choice.batches[0]) if choice.batches else ()
    return Waiting(batch, tuple(by_id[source] for source in choice.too_long), choice.rest)


def take(conn: Connection, terms: DigestRules, asked: ClaimRequest, claim: ClaimId, now: Instant) -> ClaimAnswer:
    """The next batch, or the reason why there is none. A day without sources costs nothing."""
    _give_up_abandoned(conn, now)
    number, until = 0, None
    if asked.slot is not None:
        refused = _tell_missed(conn, asked.slot, now) if asked.missed else _enter_slot(conn, asked.slot, terms, now)
        if refused:
            return ClaimAnswer(reason=refused)
        number, until = claims.count_of_slot(conn, asked.slot), slot_instant(asked.slot, terms.zone)
    batch = waiting(conn, terms, asked.sources, until).next_batch
    if not batch:
        _leave_slot(conn, asked.slot, number, now)
        return ClaimAnswer(reason="no_sources")
    wish = Request(tokens=asked.max_tokens, output_tokens=0, micros=asked.max_cost_micros)
    held = book.reserve(conn, terms.rules, claim, "digest", wish, now)
    if isinstance(held, Refusal):
        told = refusal_text(held, terms.language, terms.rules.zone)
        if asked.slot is not None:
            claims.note_slot(conn, asked.slot, told)
        return ClaimAnswer(reason="budget", text=told)
    claims.add(conn, Claimed(claim, asked.slot, number, claim, "claimed", now), tuple(one.id for one in batch))
    return ClaimAnswer(claim=_claim(conn, terms, claim, batch))


def slot_instant(slot: str, zone: ZoneInfo) -> Instant:
    """When the clocks of the digest's zone show the time of a slot. Raises BadInput for a day or time that is none.

    >>> slot_instant("1970-01-01 08:00", ZoneInfo("Asia/Shanghai"))
    0
    """
    try:
        moment = datetime.strptime(slot, "%Y-%m-%d %H:%M")
    except ValueError as problem:
        raise BadInput(f"slot {slot!r} is no day and time: write it like 2026-11-30 21:30") from problem
    return wall_instant(moment.date(), moment.time(), zone)


def _tell_missed(conn: Connection, slot: str, now: Instant) -> str:
    """A slot that nobody ran in its time is told in the inbox, once; one that ran stays as it is."""
    if claims.take_slot(conn, slot, now):
        claims.end_slot(conn, slot, "told", now, "missed: nothing ran at its time")
    return "slot_taken"


def _give_up_abandoned(conn: Connection, now: Instant) -> None:
    for claimed in claims.live(conn):
        if now - claimed.claimed_at > ABANDONED_MS:
            book.unknown(conn, claimed.id, now)
            _end(conn, claimed, "unknown", "its worker never came back", now)


def _enter_slot(conn: Connection, slot: str, terms: DigestRules, now: Instant) -> str:
    """Why this slot gives no batch now, or nothing."""
    claims.take_slot(conn, slot, now)
    found = claims.slot(conn, slot)
    assert found is not None, f"slot {slot} was just taken"
    if found.state != "claimed" or claims.at_work(conn, slot):
        return "slot_taken"
    if claims.count_of_slot(conn, slot) >= terms.max_batches:
        claims.end_slot(conn, slot, "done", now)
        return "too_many_batches"
    return ""


def _leave_slot(conn: Connection, slot: str | None, batches: int, now: Instant) -> None:
    if slot is not None:
        claims.end_slot(conn, slot, "done" if batches else "empty", now)


def _claim(conn: Connection, terms: DigestRules, claim: ClaimId, batch: tuple[Source, ...]) -> Claim:
    output = terms.rules.limits.output_tokens
    assert output is not None, "the pool digest bounds the output of every call"
    return Claim(
        id=claim,
        day=local_day(batch[-1].said_at, terms.zone),
        language=terms.language,
        voice=current_voice(conn, terms.language),
        sources=tuple(
            ClaimSource(
                id=one.id, turn=one.turn, speaker=one.speaker, text=one.text, said_at_ms=one.said_at, heard=one.heard
            )
            for one in batch
        ),
        output_tokens=output,
    )


def current_voice(conn: Connection, language: Language) -> Voice:
    """The owner's newest one, which may be empty; until there is one, version 0: the one that comes with the program."""
    newest = voices.newest(conn)
    return (
        Voice(version=newest.version, text=newest.text) if newest else Voice(version=0, text=DEFAULT_VOICES[language])
    )


def keep_draft(conn: Connection, terms: DigestRules, claim: str, draft: Draft, now: Instant) -> DraftKept:
    """Puts a draft into the inbox and settles its cost. The same claim's second draft is answered with the first."""
    claimed = _known(conn, claim)
    kept = digests.of_claim(conn, claim)
    if kept is not None:
        return DraftKept(digest=kept)
    if claimed.state != "claimed":
        raise ControlRefused(f"claim {claim!r} was {claimed.state} before: its sources may be in another draft", 409)
    _check_facts(draft, set(claims.source_ids(conn, claim)))
    talk = sources.of_claim(conn, claim)
    if any(one.forgotten_at is not None for one in talk):
        _charge(conn, claimed, draft.cost, now)
        _end(conn, claimed, "failed", "something in it was forgotten while it was written", now)
        return DraftKept(digest=None)
    day = local_day(talk[-1].said_at, terms.zone)
    facts = json.dumps([fact.model_dump() for fact in draft.facts], ensure_ascii=False)
    made = DigestDraft(0, claim, "waiting", terms.language, day, draft.title, draft.body, facts, 1, None, now, now)
    digest = digests.add(conn, made, "persona")
    _charge(conn, claimed, draft.cost, now)
    claims.end(conn, claim, "drafted", now)
    sources.mark_processed(conn, claim, now)
    claims.free_sources(conn, claim)
    return DraftKept(digest=digest)


def give_back(conn: Connection, claim: str, release: Release, now: Instant) -> None:
    """Ends a claim without a draft; its sources wait for the next one. Told again, it changes nothing."""
    claimed = _known(conn, claim)
    if claimed.state != "claimed":
        return
    if release.cost is not None:
        _charge(conn, claimed, release.cost, now)
    elif release.state == "released":
        book.release(conn, claim, Proof.NOT_SENT, now)
    else:
        book.unknown(conn, claim, now)
    _end(conn, claimed, release.state, release.reason, now)


def release_stuck(conn: Connection, claim: str, now: Instant) -> None:
    """The owner gives up a claim whose worker died: maybe charged, so its reserve counts in full."""
    claimed = _known(conn, claim)
    if claimed.state != "claimed":
        raise BadInput(f"claim {claim!r} was {claimed.state} before: there is nothing to release")
    book.unknown(conn, claim, now)
    _end(conn, claimed, "unknown", "released by the owner", now)


def _end(conn: Connection, claimed: Claimed, becomes: claims.State, reason: str, now: Instant) -> None:
    claims.end(conn, claimed.id, becomes, now, reason[:2000])
    claims.free_sources(conn, claimed.id)
    if claimed.slot is not None and becomes != "released":
        claims.end_slot(conn, claimed.slot, "failed", now, reason[:2000])


def _known(conn: Connection, claim: str) -> Claimed:
    found = claims.one(conn, claim)
    if found is None:
        raise ControlRefused(f"there is no claim {claim!r}", 404)
    return found


def _check_facts(draft: Draft, batch: set[str]) -> None:
    for fact in draft.facts:
        strange = sorted(set(fact.sources) - batch)
        if strange or not fact.sources:
            raise BadInput(f"a fact names sources outside its batch: {strange or 'none at all'}")


def _charge(conn: Connection, claimed: Claimed, cost: Cost, now: Instant) -> None:
    tokens = (cost.input_tokens or 0) + (cost.output_tokens or 0)
    if cost.verdict == "release":
        book.release(conn, claimed.id, Proof.REJECTED, now)
        return
    held = book.held(conn, claimed.id)
    if cost.verdict == "settle":
        book.settle(conn, claimed.id, cost.micros, held.tokens if cost.incomplete else tokens, now)
    else:
        book.unknown(conn, claimed.id, now)
    call = usage.Call(
        claimed.id,
        "digest",
        held.day,
        cost.provider,
        cost.model,
        "digest",
        cost.outcome,
        cost.input_tokens,
        cost.output_tokens,
        cost.micros if cost.verdict == "settle" else held.micros,
        cost.incomplete,
        now,
    )
    usage.add(conn, call)
