"""A messenger: keeps its updates until they are confirmed, delivers what it is sent, and can fail in every known way.

What it delivered stands in its log on disk, so a bridge that dies cannot change it. It is a `Channel` by itself.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Literal

from bridge.channels.contract import (
    Batch,
    Capabilities,
    Health,
    Outgoing,
    Poison,
    SendOutcome,
    Sent,
    Update,
    UpdateKind,
)
from core.ids import Account
from core.text.split import Unit

from .journal import Entry, Journal

Fate = Literal[
    "sent",
    "accepted",
    "refused",
    "not_sent",
    "slow_down",
    "deferred",
    "delivered_unanswered",
    "lost_unanswered",
    "raises",
]
SLOW_DOWN_MS = 7_000
A_LOT = 100

Reach = Callable[[str], None]

CAPABILITIES = Capabilities(unit=Unit.CODE_POINTS, limit=200, max_parts=6)


def nowhere(_point: str) -> None:
    """Nothing watches."""


class Platform:
    """`fates` says what becomes of each send, counted over the platform's whole life; after them all is well."""

    def __init__(
        self,
        folder: Path,
        *,
        account: str = "fake:bot",
        capabilities: Capabilities = CAPABILITIES,
        fates: Sequence[Fate] = (),
        fingerprint: str = "token-1",
        reach: Reach = nowhere,
    ) -> None:
        name = account.replace(":", "-")
        self.account, self.capabilities, self.fingerprint = Account(account), capabilities, fingerprint
        self.updates, self.polls = Journal(folder / f"{name}-updates.log"), Journal(folder / f"{name}-polls.log")
        self.sends = Journal(folder / f"{name}-sends.log")
        self.fates = list(fates)
        self.can_send = True
        self._reach = reach

    # --- the side of the people ----------------------------------------------------------------------------------

    def push(self, update: Update | Poison) -> None:
        self.updates.note(poison=isinstance(update, Poison), **asdict(update))

    @property
    def delivered(self) -> list[Entry]:
        """What reached a person, in order."""
        return [send for send in self.sends.read() if send["delivered"]]

    @property
    def texts(self) -> list[str]:
        return [str(send["text"]) for send in self.delivered]

    @property
    def confirmed(self) -> int:
        """How many updates the bridge has confirmed by polling after them: the platform may drop these."""
        return max((int(str(poll["after"])) for poll in self.polls.read()), default=0)

    def has_news(self, cursor: str | None) -> bool:
        return len(self.updates) > max(int(cursor or 0), self.confirmed)

    # --- the side of the bridge: a `Channel` ---------------------------------------------------------------------

    async def poll(self, cursor: str | None) -> Batch:
        after = int(cursor or 0)
        self._reach("poll before")
        await asyncio.sleep(0)
        start = max(after, self.confirmed)  # what is confirmed is dropped for good
        self.polls.note(after=after)
        found = self.updates.read()[start : start + A_LOT]
        self._reach("poll answered")
        await asyncio.sleep(0)
        return Batch(tuple(map(_update, found)), str(start + len(found)))

    async def send(self, part: Outgoing) -> SendOutcome:
        self._reach("send before")
        await asyncio.sleep(0)
        number = len(self.sends)
        fate: Fate = self.fates[number] if number < len(self.fates) else "sent"
        if fate == "raises":
            self._note(number, fate, part, delivered=False)
            raise RuntimeError("a fault in the channel's own code")
        delivered = fate in ("sent", "accepted", "delivered_unanswered")
        self._note(number, fate, part, delivered=delivered)
        self._reach("send applied")
        await asyncio.sleep(0)
        outcome = _outcome(fate, number)
        self._reach("send answered")
        await asyncio.sleep(0)
        return outcome

    def _note(self, number: int, fate: Fate, part: Outgoing, *, delivered: bool) -> None:
        self.sends.note(
            number=number,
            fate=fate,
            transaction=part.transaction_id,
            chat=part.chat,
            text=part.text,
            answers=part.answers,
            token=part.reply_token,
            last=part.last,
            delivered=delivered,
        )

    async def close(self) -> None:
        return None

    def health(self) -> Health:
        return Health(receiving=True, sending=self.can_send, signed_in=True)


def _outcome(fate: Fate, number: int) -> SendOutcome:
    match fate:
        case "sent":
            return SendOutcome(Sent.SENT, platform_id=f"platform-{number}")
        case "accepted":
            return SendOutcome(Sent.ACCEPTED)
        case "refused":
            return SendOutcome(Sent.REFUSED, reason="the chat is closed")
        case "slow_down":
            return SendOutcome(Sent.NOT_SENT, retry_after_ms=SLOW_DOWN_MS, reason="too fast")
        case "deferred":
            return SendOutcome(Sent.DEFERRED, reason="the quota is used up")
        case "not_sent":
            return SendOutcome(Sent.NOT_SENT, reason="no connection")
        case _:
            return SendOutcome(Sent.UNKNOWN, reason="no answer came")


def _update(entry: Entry) -> Update | Poison:
    values = json.loads(json.dumps(entry))
    if values.pop("poison"):
        return Poison(**values)
    return replace(Update(**values), kind=UpdateKind(values["kind"]))
