"""Keeps a fresh grant of the site: who may talk, the voice, and a lease of money and calls.

Closing reports travel with the next request. A lease is closed here before its report leaves, so that no call uses it
after the site took the rest back; the report is repeated until the site has it.
"""

from dataclasses import dataclass, field

from sqlalchemy import Connection

from core.clock import Clock, Instant
from core.control.client import ControlClient
from core.control.messages import Grant, GrantRequest, LeaseReport, Refusal
from core.errors import ControlError
from core.ids import Trace
from core.store import Store

from .answering import Mint
from .notices import Language, language_of, line
from .store.bindings import replace_bindings
from .store.grants import find_grant, keep_grant
from .store.leases import add_lease, close_reporting, mark_reported, reports_due
from .store.messages import messages_of_turn
from .store.replies import NewReply, add_reply
from .store.turns import Turn, move_turn, turns_in
from .turn import TurnEvent, TurnPhase

TOO_OLD_MS = 24 * 3_600_000
RETRY_MS = 1_000
NO_LEASE_MS = 30_000
"""When the site has no money to lend just now, it is asked again after this."""


@dataclass
class GrantKeeper:
    """`refusal` is why the last grant carried no lease, `problem` why there was none."""

    store: Store
    control: ControlClient
    clock: Clock
    mint: Mint
    installation: str
    language: Language
    refusal: Refusal | None = None
    problem: str = ""
    renew_at: Instant = field(default=Instant(0))
    ask_again_at: Instant = field(default=Instant(0))
    asked_at: Instant = field(default=Instant(0))

    def resume(self, last: Grant) -> None:
        """Goes on with the grant of the run before: a program that starts often must not borrow anew each time."""
        self.asked_at = Instant(last.issued_at_ms)
        self.renew_at = Instant((last.issued_at_ms + last.expires_at_ms) // 2)

    async def renew_if_due(self) -> bool:
        """Whether a grant came. Asks at half of the time of the last one, and at once when paid work waits without a
        lease, but not in a hurry after a site that did not answer."""
        now = self.clock()
        if self.asked_at <= now < self.ask_again_at:  # where the clock was set back, it is asked at once
            return False
        if self.asked_at <= now < self.renew_at and not await self.store.read(_starved):
            return False
        return await self.renew()

    async def renew(self) -> bool:
        now = self.clock()
        reports = await self.store.write(_close, now, False)
        request = GrantRequest(installation=self.installation, closing=tuple(reports))
        self.asked_at = now
        try:
            grant = await self.control.grant(request)
        except ControlError as problem:
            self.problem = str(problem)
            self.renew_at = self.ask_again_at = Instant(now + RETRY_MS)
            await self.store.write(let_go_of_old, self, now)
            return False
        await self.store.write(self._keep, grant, reports, self.clock())
        self.problem, self.refusal = "", grant.refusal
        wait = NO_LEASE_MS if grant.lease is None else (grant.expires_at_ms - grant.issued_at_ms) // 2
        self.renew_at = Instant(now + max(RETRY_MS, wait))
        return True

    def ask_soon(self) -> None:
        """Somebody was paired: the next grant tells who may talk now."""
        self.renew_at = Instant(0)

    async def close(self) -> None:
        """The closing reports of a bridge that leaves; those it cannot deliver go with the next start's grant."""
        now = self.clock()
        reports = await self.store.write(_close, now, True)
        if not reports:
            return
        request = GrantRequest(installation=self.installation, wants_lease=False, closing=tuple(reports))
        try:
            grant = await self.control.grant(request)
        except ControlError as problem:
            self.problem = str(problem)
            return
        await self.store.write(self._keep, grant, reports, self.clock())

    def _keep(self, conn: Connection, grant: Grant, reports: list[LeaseReport], now: Instant) -> None:
        keep_grant(conn, grant, now)
        replace_bindings(conn, grant.bindings, now)
        mark_reported(conn, reports, now)
        if grant.lease is not None:
            add_lease(conn, grant.lease, now)
            for turn in turns_in(conn, TurnPhase.WAITING_GRANT):
                move_turn(conn, turn.id, TurnEvent.GRANT_CAME, now)
        elif grant.refusal is not None:
            for turn in turns_in(conn, TurnPhase.WAITING_GRANT):
                move_turn(conn, turn.id, TurnEvent.REFUSED, now, reason=grant.refusal.limit)
                self.say(conn, turn, grant.refusal.text, now)
        let_go_of_old(conn, self, now)

    def say(self, conn: Connection, turn: Turn, text: str, now: Instant) -> None:
        new = NewReply(Trace(self.mint(now)), turn.conversation, turn.id, "notice", text)
        add_reply(conn, new, [text], now)


def _starved(conn: Connection) -> bool:
    """Whatever is lent, it was not enough for those that wait."""
    return find_grant(conn) is None or bool(turns_in(conn, TurnPhase.WAITING_GRANT))


def _close(conn: Connection, now: Instant, leaving: bool) -> list[LeaseReport]:
    reports = reports_due(conn, now, leaving=leaving)
    close_reporting(conn, reports, now)
    return reports


def let_go_of_old(conn: Connection, keeper: GrantKeeper, now: Instant) -> None:
    """A message that waited for money more than a day is told, not answered."""
    for turn in turns_in(conn, TurnPhase.WAITING_GRANT):
        if now - turn.opened_at <= TOO_OLD_MS:
            continue
        move_turn(conn, turn.id, TurnEvent.TOO_OLD, now, reason="waited more than a day for a grant")
        words = " ".join(message.text for message in messages_of_turn(conn, turn.id))
        keeper.say(conn, turn, line("too_old", language_of(words, keeper.language)), now)
