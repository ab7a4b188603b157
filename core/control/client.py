"""The control API from the side of bridge and digest: signs, sends once, and reads the answer.

It never repeats a request. Every call is idempotent at the site by the keys inside its body, so the caller may.
"""

import secrets
from collections.abc import Sequence
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from core.clock import Clock
from core.errors import ControlRefused, ControlUnreachable

from .messages import (
    Binding,
    Claim,
    ClaimAnswer,
    ClaimRequest,
    Draft,
    DraftKept,
    Grant,
    GrantRequest,
    Instruction,
    InstructionDone,
    Instructions,
    PairingAnswer,
    PairingClaim,
    PairingCode,
    Pairings,
    PairingWish,
    Release,
    SyncAnswer,
    SyncBatch,
    UsageReport,
)
from .signing import ControlKey, sign

BASE = "/control/v1"
TIMEOUT_S = 10.0
LONG_POLL_S = 25

Answer = TypeVar("Answer", bound=BaseModel)


class ControlClient:
    """Errors of every call: ControlUnreachable (nothing is known), ControlRefused (with the site's reason)."""

    def __init__(self, url: str, key: ControlKey, clock: Clock) -> None:
        self._key = key
        self._clock = clock
        self._url = url
        self._http = httpx.AsyncClient(
            base_url=url,
            trust_env=False,
            follow_redirects=False,
            timeout=httpx.Timeout(TIMEOUT_S),
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.aclose()

    async def grant(self, request: GrantRequest) -> Grant:
        return await self._call("POST", "/grants", Grant, request)

    async def usage(self, report: UsageReport) -> None:
        await self._send("POST", "/usage", report)

    async def sync(self, batch: SyncBatch) -> SyncAnswer:
        return await self._call("POST", "/sync", SyncAnswer, batch)

    async def pair(self, claim: PairingClaim) -> PairingAnswer:
        return await self._call("POST", "/pairings", PairingAnswer, claim)

    async def pairings(self) -> Sequence[Binding]:
        return (await self._call("GET", "/pairings", Pairings, None)).pairings

    async def pairing_code(self, wish: PairingWish) -> PairingCode:
        return await self._call("POST", "/pairings/codes", PairingCode, wish)

    async def revoke_pairing(self, binding: str) -> None:
        await self._send("POST", f"/pairings/{quote(binding, safe='')}/revoke", None)

    async def instructions(self, wait_s: int = LONG_POLL_S) -> Sequence[Instruction]:
        """Waits until there is something to do, at most `wait_s` seconds."""
        path = f"/instructions?wait={wait_s}"
        answer = await self._call("GET", path, Instructions, None, timeout_s=wait_s + TIMEOUT_S)
        return answer.instructions

    async def instruction_done(self, instruction: str, result: str) -> None:
        await self._send("POST", f"/instructions/{instruction}/done", InstructionDone(result=result))

    async def claim(self, request: ClaimRequest) -> ClaimAnswer:
        return await self._call("POST", "/digests/claims", ClaimAnswer, request)

    async def draft(self, claim: Claim, draft: Draft) -> DraftKept:
        return await self._call("POST", f"/digests/{claim.id}/draft", DraftKept, draft)

    async def release(self, claim: Claim, release: Release) -> None:
        await self._send("POST", f"/digests/{claim.id}/release", release)

    async def _call(
        self, method: str, path: str, answer: type[Answer], body: BaseModel | None, *, timeout_s: float = TIMEOUT_S
    ) -> Answer:
        raw = await self._send(method, path, body, timeout_s=timeout_s)
        try:
            return answer.model_validate_json(raw)
        except ValidationError as strange:
            raise ControlRefused(
                f"the site at {self._url} answered {method} {path.partition('?')[0]} in an unknown form: "
                "update both sides to the same version",
                502,
            ) from strange

    async def _send(self, method: str, path: str, body: BaseModel | None, *, timeout_s: float = TIMEOUT_S) -> bytes:
        raw = b"" if body is None else body.model_dump_json().encode()
        headers = sign(self._key, secrets.token_hex(16), self._clock() // 1000, method, BASE + path, raw)
        try:
            response = await self._http.request(
                method,
                BASE + path,
                content=raw,
                headers={**headers, "Content-Type": "application/json"},
                timeout=timeout_s,
            )
        except (httpx.HTTPError, httpx.InvalidURL) as problem:
            raise ControlUnreachable(
                f"the site at {self._url} does not answer ({type(problem).__name__}): is `penfriend site` running, "
                "and is control.url right?"
            ) from problem
        if response.is_success:
            return response.content
        raise ControlRefused(
            f"the site refused {method} {path.partition('?')[0]}: {_reason(response)}", response.status_code
        )


def _reason(response: httpx.Response) -> str:
    """The sentence of a problem document, or the bare status."""
    try:
        detail = response.json().get("detail")
    except (ValueError, AttributeError):
        detail = None
    return str(detail)[:500] if detail else f"status {response.status_code}"
