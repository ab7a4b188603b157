"""The site as the bridge meets it, without HTTP: the site's own functions over a real store of its own, and faults.

A request is one transaction, as in `website.routes.control`. Each is noted before it is answered.
"""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar, TypeVarTuple

from sqlalchemy import Connection

from core.clock import Clock
from core.control import messages
from core.control.client import LONG_POLL_S, ControlClient
from core.errors import ControlRefused, ControlUnreachable
from core.ids import LeaseId
from core.settings import Settings
from core.store import Store
from website.inbox import intake
from website.ledger.rules import lease_rules
from website.owner import pairing
from website.routes import control
from website.store import instructions

from .journal import Journal

Fault = Literal["none", "unreachable", "unanswered", "refused"]
Args = TypeVarTuple("Args")
T = TypeVar("T")


class SiteDouble(ControlClient):
    """`faults` says what becomes of each request, counted over the site's whole life; after them all is well."""

    def __init__(
        self,
        folder: Path,
        store: Store,
        settings: Settings,
        clock: Clock,
        mint: Callable[[], str],
        faults: Sequence[Fault] = (),
        reach: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self.requests = Journal(folder / "site.log")
        self.store = store
        self.faults: Sequence[str] = faults
        self._settings, self._now, self._mint, self._reach = settings, clock, mint, reach

    def fail_next(self, fault: Fault, times: int = 1) -> None:
        quiet: list[Fault] = ["none"] * len(self.requests)
        self.faults = quiet + [fault] * times

    async def grant(self, request: messages.GrantRequest) -> messages.Grant:
        terms, language = lease_rules(self._settings), self._settings.persona.language
        lease = LeaseId(self._mint())
        return await self._do("grant", request, control._grant, request, terms, language, lease, self._now())

    async def usage(self, report: messages.UsageReport) -> None:
        await self._do("usage", report, control._tell_usage, report, lease_rules(self._settings))

    async def sync(self, batch: messages.SyncBatch) -> messages.SyncAnswer:
        return await self._do("sync", batch, intake.keep, batch, self._now())

    async def pair(self, claim: messages.PairingClaim) -> messages.PairingAnswer:
        ids = pairing.Ids(self._mint(), self._now())
        return await self._do("pair", claim, pairing.claim_code, claim, ids)

    async def instructions(self, wait_s: int = LONG_POLL_S) -> Sequence[messages.Instruction]:
        return await self._do("instructions", None, control._hand_out, self._now())

    async def instruction_done(self, instruction: str, result: str) -> None:
        await self._do("done", None, instructions.mark_done, instruction, result, self._now())

    async def _do(
        self, what: str, body: messages.Message | None, fn: Callable[[Connection, *Args], T], *args: *Args
    ) -> T:
        self._reach(f"{what} before")
        await asyncio.sleep(0)
        number = len(self.requests)
        fault = self.faults[number] if number < len(self.faults) else "none"
        self.requests.note(what=what, fault=fault, body=None if body is None else body.model_dump_json())
        if fault == "unreachable":
            raise ControlUnreachable("the site does not answer")
        if fault == "refused":
            raise ControlRefused("the site refused: bad request", 400)
        answer = await self.store.write(fn, *args)
        self._reach(f"{what} applied")
        await asyncio.sleep(0)
        if fault == "unanswered":
            raise ControlUnreachable("the site's answer was lost")
        self._reach(f"{what} answered")
        await asyncio.sleep(0)
        return answer
