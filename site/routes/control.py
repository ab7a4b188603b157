"""The control API, `/control/v1`: what bridge and digest may ask of the site, signed with a key of their scope.

A request is verified on its raw bytes before anything is parsed. Its id is used up in the same transaction that does
its work, so a replay is refused (409) and a refused request leaves its id free.
"""

import asyncio
from typing import Annotated, Literal

from litestar import Response, Router, get, post
from litestar.di import NamedDependency, Provide
from litestar.exceptions import HTTPException
from litestar.params import FromPath, Parameter
from pydantic import ValidationError
from sqlalchemy import Connection

from core.budget import Refusal, refusal_text
from core.clock import Instant
from core.control import messages
from core.errors import BadInput, ControlRefused, PenfriendError, SettingsError, SignatureRefused, StoreError
from core.ids import ClaimId, LeaseId, new_ulid

from ..inbox import claims, intake
from ..ledger import grants
from ..ledger.rules import LeaseRules, lease_rules
from ..owner import pairing
from ..parts import Parts
from ..store import instructions, pairings
from . import control_pairings
from .control_door import AnyRequest, Door

MAX_WAIT_S = 25
LOOK_EVERY_S = 0.5


# --- bridge ------------------------------------------------------------------------------------------------------


@post("/grants", status_code=200)
async def give_grant(request: AnyRequest, parts: NamedDependency[Parts], door: NamedDependency[Door]) -> messages.Grant:
    """Bindings, voice and a lease; closing reports are taken first, so that what they return can be lent again."""
    asked = await door.message(request, "bridge", messages.GrantRequest)
    now = parts.clock()
    lease = LeaseId(new_ulid(now, parts.random_bytes))
    return await door.write(
        request, _grant, asked, lease_rules(parts.settings), parts.settings.persona.language, lease, now
    )


def _grant(
    conn: Connection,
    asked: messages.GrantRequest,
    terms: LeaseRules,
    language: Literal["zh", "en"],
    lease: LeaseId,
    now: Instant,
) -> messages.Grant:
    for report in asked.closing:
        grants.close(conn, report, now)
    bound = messages.Grant(
        issued_at_ms=now,
        expires_at_ms=now + terms.seconds * 1000,
        bindings=tuple(pairing.as_binding(one) for one in pairings.live(conn)),
        voice=claims.current_voice(conn, language),
    )
    if not asked.wants_lease:
        return bound
    lent = grants.lend(conn, terms, lease, asked.installation, now)
    if isinstance(lent, Refusal):
        return bound.model_copy(update={"refusal": _told(lent, terms, language)})
    return bound.model_copy(
        update={
            "lease": messages.Lease(
                id=lent.id,
                micros=lent.micros,
                calls=lent.calls,
                output_tokens=lent.output_tokens,
                expires_at_ms=lent.expires_at,
            )
        }
    )


def _told(refusal: Refusal, terms: LeaseRules, language: Literal["zh", "en"]) -> messages.Refusal:
    return messages.Refusal(
        limit=refusal.limit.value,
        left=refusal.left,
        resets_at_ms=refusal.resets_at,
        text=refusal_text(refusal, language, terms.rules.zone),
    )


@post("/usage", status_code=204)
async def take_usage(request: AnyRequest, parts: NamedDependency[Parts], door: NamedDependency[Door]) -> None:
    report = await door.message(request, "bridge", messages.UsageReport)
    await door.write(request, _tell_usage, report, lease_rules(parts.settings))


def _tell_usage(conn: Connection, report: messages.UsageReport, terms: LeaseRules) -> None:
    for event in report.events:
        grants.tell_usage(conn, event, terms)


@post("/sync", status_code=200)
async def take_records(
    request: AnyRequest, parts: NamedDependency[Parts], door: NamedDependency[Door]
) -> messages.SyncAnswer:
    batch = await door.message(request, "bridge", messages.SyncBatch)
    return await door.write(request, intake.keep, batch, parts.clock())


@post("/pairings", status_code=200)
async def take_pairing(
    request: AnyRequest, parts: NamedDependency[Parts], door: NamedDependency[Door]
) -> messages.PairingAnswer:
    claim = await door.message(request, "bridge", messages.PairingClaim)
    ids = pairing.new_ids(parts.clock(), parts.random_bytes)
    return await door.write(request, pairing.claim_code, claim, ids)


@get("/instructions")
async def give_instructions(
    request: AnyRequest,
    parts: NamedDependency[Parts],
    door: NamedDependency[Door],
    wait: Annotated[int, Parameter(ge=0, le=MAX_WAIT_S)] = 0,
) -> messages.Instructions:
    """What is to be done, oldest first; with `wait=` it is held open for that many seconds while there is nothing."""
    await door.open(request, "bridge")
    await door.write(request, _nothing)
    for _ in range(int(wait / LOOK_EVERY_S)):
        open_ones = await parts.store.read(instructions.open_ones)
        if open_ones or parts.leaving():
            break
        await asyncio.sleep(LOOK_EVERY_S)
    found = await parts.store.write(_hand_out, parts.clock())
    return messages.Instructions(instructions=found)


def _nothing(_conn: Connection) -> None:
    """The request's id is used up before it waits."""


def _hand_out(conn: Connection, now: Instant) -> tuple[messages.Instruction, ...]:
    found = instructions.open_ones(conn)
    if found:
        instructions.mark_taken(conn, tuple(one.id for one in found), now)
    return tuple(messages.Instruction(id=one.id, kind=one.kind, body=one.body) for one in found)


@post("/instructions/{instruction:str}/done", status_code=204)
async def finish_instruction(
    request: AnyRequest, parts: NamedDependency[Parts], door: NamedDependency[Door], instruction: FromPath[str]
) -> None:
    done = await door.message(request, "bridge", messages.InstructionDone)
    if not await door.write(request, instructions.mark_done, instruction, done.result[:2000], parts.clock()):
        raise ControlRefused(f"there is no instruction {instruction!r}", 404)


# --- digest ------------------------------------------------------------------------------------------------------


@post("/digests/claims", status_code=200)
async def give_claim(
    request: AnyRequest, parts: NamedDependency[Parts], door: NamedDependency[Door]
) -> messages.ClaimAnswer:
    asked = await door.message(request, "digest", messages.ClaimRequest)
    now = parts.clock()
    claim = ClaimId(new_ulid(now, parts.random_bytes))
    return await door.write(request, claims.take, claims.digest_rules(parts.settings), asked, claim, now)


@post("/digests/{claim:str}/draft", status_code=200)
async def take_draft(
    request: AnyRequest, parts: NamedDependency[Parts], door: NamedDependency[Door], claim: FromPath[str]
) -> messages.DraftKept:
    draft = await door.message(request, "digest", messages.Draft)
    terms = claims.digest_rules(parts.settings)
    return await door.write(request, claims.keep_draft, terms, claim, draft, parts.clock())


@post("/digests/{claim:str}/release", status_code=204)
async def take_release(
    request: AnyRequest, parts: NamedDependency[Parts], door: NamedDependency[Door], claim: FromPath[str]
) -> None:
    release = await door.message(request, "digest", messages.Release)
    await door.write(request, claims.give_back, claim, release, parts.clock())


# --- refusals ----------------------------------------------------------------------------------------------------


def problem(status: int, title: str, detail: str) -> Response[dict[str, object]]:
    """RFC 9457."""
    body: dict[str, object] = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return Response(body, status_code=status, media_type="application/problem+json")


def _refused(_request: AnyRequest, error: PenfriendError) -> Response[dict[str, object]]:
    if isinstance(error, SignatureRefused | ControlRefused):
        return problem(error.status, "refused", str(error))
    if isinstance(error, BadInput):
        return problem(400, "bad request", str(error))
    if isinstance(error, StoreError | SettingsError):
        return problem(503, "not ready", str(error))
    return problem(500, "fault", "the site failed to do this: see its log")


def _malformed(_request: AnyRequest, error: ValidationError) -> Response[dict[str, object]]:
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return problem(400, "bad request", f"{where}: {first['msg']}" if where else first["msg"])


def _http(_request: AnyRequest, error: HTTPException) -> Response[dict[str, object]]:
    return problem(error.status_code, "refused", error.detail)


def control_router(parts: Parts) -> Router:
    door = Door(parts)
    return Router(
        "/control/v1",
        route_handlers=[
            give_grant,
            take_usage,
            take_records,
            take_pairing,
            control_pairings.give_pairings,
            control_pairings.give_code,
            control_pairings.end_pairing,
            give_instructions,
            finish_instruction,
            give_claim,
            take_draft,
            take_release,
        ],
        dependencies={"door": Provide(lambda: door, sync_to_thread=False)},
        exception_handlers={PenfriendError: _refused, ValidationError: _malformed, HTTPException: _http},
        request_max_body_size=messages.MAX_BODY_BYTES,
        opt={"exclude_from_csrf": True},
    )
