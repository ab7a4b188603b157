"""The console: terminals on this machine, each a WebSocket to the bridge's loopback HTTP. The owner's own channel.

A terminal names each message with an id of its own and repeats it until it is told `kept`, which happens after the
commit; it confirms each part it has shown. So a send without a confirmation is `unknown` here as anywhere else.
"""

import asyncio
import json
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.clock import Clock
from core.ids import Account, ChatId, EventKey, SenderId
from core.text.split import Unit

from .contract import Batch, Capabilities, Health, Outgoing, SendOutcome, Sent, Update, UpdateKind

ACCOUNT = Account("console:local")
CHAT = ChatId("console")
SENDER = SenderId("owner")

CONFIRM_S = 10.0

Push = Callable[[dict[str, object]], Awaitable[None]]


class Said(BaseModel):
    """What a terminal sends: `{"id": "...", "text": "..."}`."""

    model_config = ConfigDict(extra="forbid")
    id: str = Field(min_length=8, max_length=64)
    text: str = Field(min_length=1, max_length=200_000)


class Shown(BaseModel):
    """What a terminal confirms: `{"shown": "<transaction id>"}`."""

    model_config = ConfigDict(extra="forbid")
    shown: str = Field(min_length=1, max_length=200)


@dataclass
class Terminal:
    push: Push


class ConsoleChannel:
    """`Channel` over the terminals that are open just now."""

    account = ACCOUNT
    fingerprint = "console"
    capabilities = Capabilities(unit=Unit.CODE_POINTS, limit=8_000, max_parts=16)

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._terminals: list[Terminal] = []
        self._said: deque[tuple[Terminal, Said]] = deque()
        self._taken: list[tuple[Terminal, Said]] = []
        self._given: str | None = None
        self._news = asyncio.Event()
        self._confirmations: dict[str, asyncio.Future[None]] = {}
        self.on_open: Callable[[], None] = lambda: None

    def open_terminal(self, push: Push) -> Terminal:
        terminal = Terminal(push)
        self._terminals.append(terminal)
        self.on_open()
        return terminal

    def close_terminal(self, terminal: Terminal) -> None:
        self._terminals.remove(terminal)

    async def hear(self, terminal: Terminal, frame: str) -> str | None:
        """Takes one frame of a terminal; returns what is wrong with it."""
        try:
            if "shown" in json.loads(frame):
                confirmed = self._confirmations.get(Shown.model_validate_json(frame).shown)
                if confirmed is not None and not confirmed.done():
                    confirmed.set_result(None)
            else:
                self._said.append((terminal, Said.model_validate_json(frame)))
                self._news.set()
        except (ValueError, TypeError, RecursionError, ValidationError):
            return 'not understood: send {"id": "at least 8 characters", "text": "..."} or {"shown": "..."}'
        return None

    async def poll(self, cursor: str | None) -> Batch:
        if cursor == self._given:
            await self._tell_kept()
        else:  # the bridge could not keep the last batch: it comes again
            self._said.extendleft(reversed(self._taken))
            self._taken = []
        while not self._said:
            self._news.clear()
            await self._news.wait()
        while self._said and len(self._taken) < 100:
            self._taken.append(self._said.popleft())
        now = self._clock()
        updates = tuple(
            Update(
                event_key=EventKey(said.id),
                kind=UpdateKind.MESSAGE,
                chat=CHAT,
                sender=SENDER,
                body=said.model_dump_json(),
                text=said.text,
                said_at=now,
            )
            for _, said in self._taken
        )
        self._given = f"{now}.{self._taken[0][1].id}"
        return Batch(updates, self._given)

    async def _tell_kept(self) -> None:
        """The bridge polls with the cursor of the last batch: that one is committed."""
        taken, self._taken = self._taken, []
        for terminal, said in taken:
            if terminal in self._terminals:
                await _quietly(terminal.push({"kept": said.id}))

    async def send(self, part: Outgoing) -> SendOutcome:
        terminals = list(self._terminals)
        if not terminals:
            return SendOutcome(Sent.NOT_SENT, reason="no terminal is open")
        frame: dict[str, object] = {
            "id": part.transaction_id,
            "text": part.text,
            "answers": part.answers,
            "last": part.last,
        }
        confirmed = asyncio.get_running_loop().create_future()
        self._confirmations[part.transaction_id] = confirmed
        try:
            for terminal in terminals:
                await _quietly(terminal.push(frame))
            await asyncio.wait_for(confirmed, CONFIRM_S)
        except TimeoutError:
            return SendOutcome(Sent.UNKNOWN, reason=f"no terminal confirmed it within {CONFIRM_S:.0f} s")
        finally:
            del self._confirmations[part.transaction_id]
        return SendOutcome(Sent.SENT, platform_id=f"shown:{part.transaction_id}")

    async def close(self) -> None:
        self._news.set()

    def health(self) -> Health:
        open_ = len(self._terminals)
        detail = f"{open_} terminal{'' if open_ == 1 else 's'} open"
        return Health(receiving=True, sending=open_ > 0, signed_in=True, detail=detail)


async def _quietly(pushing: Awaitable[None]) -> None:
    """A terminal that went away in this moment is no fault: what it missed is sent or unknown like everything else."""
    try:
        await pushing
    except ConnectionError:
        pass
