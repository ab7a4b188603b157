"""The half of a bridge that a channel meets: a real store, intake and delivery, driven step by step, with a turned clock.

Answers are an echo written straight into the store, so that no model and no site are needed. What a bridge does with a
model is tested elsewhere; here only what a channel brings and what becomes of what is sent.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy import text as sql

from bridge.channels.contract import Batch, Channel
from bridge.deliver import Delivering, deliver_waiting
from bridge.intake import Admitted, IntakeRules, admit
from bridge.store.bindings import keep_binding
from bridge.store.conversations import get_conversation
from bridge.store.cursors import find_cursor
from bridge.store.messages import messages_of_turn
from bridge.store.replies import NewReply, add_reply
from bridge.store.schema import SCHEMA
from bridge.store.turns import due_turns, get_turn, move_turn
from bridge.turn import TurnEvent
from core.clock import Instant, system_clock
from core.control.messages import Binding
from core.ids import Trace, TurnId, new_ulid
from core.settings import Settings
from core.store import Store, open_store
from core.text.split import split


@dataclass
class World:
    """Opened with `async with a_world(...)`; `restart` loses everything that is not in the store."""

    folder: Path
    channel: Channel
    store: Store
    ahead_ms: int = 0
    counted: Counter[str] = field(default_factory=Counter)

    def now(self) -> Instant:
        return Instant(system_clock() + self.ahead_ms)

    async def pair(self, chat: str, sender: str, role: str = "owner") -> None:
        binding = Binding.model_validate(
            {"id": f"{chat}|{sender}", "account": self.channel.account, "chat": chat, "sender": sender, "role": role}
        )
        await self.store.write(keep_binding, binding, self.now())

    async def take(self) -> Batch:
        """Polls without keeping: what a program that dies before its commit has done."""
        cursor, _ = await self.store.read(find_cursor, self.channel.account, self.channel.fingerprint)
        return await self.channel.poll(cursor)

    async def keep(self, batch: Batch) -> Admitted:
        admitted = await self.store.write(admit, self._rules(), batch, self.now(), new_ulid)
        self.counted.update(admitted.counted)
        self.counted["accepted"] += admitted.accepted
        return admitted

    async def poll(self) -> Admitted:
        return await self.keep(await self.take())

    async def answer(self) -> int:
        """An echo for every turn that waits; returns how many."""
        self.ahead_ms += 10
        turns = await self.store.read(due_turns, self.now(), 1000)
        for turn in turns:
            await self.store.write(_echo, turn, self.channel, self.now())
        return len(turns)

    def delivering(self) -> Delivering:
        return Delivering(self.store, Settings(), self.now, new_ulid, lambda _account: self.channel.capabilities)

    async def deliver(self, most: int = 100) -> None:
        """Sends until nothing may be sent, turning the clock where a part has to wait."""
        delivering = self.delivering()
        for _ in range(most):
            wait_ms = await deliver_waiting(delivering, self.channel)
            if wait_ms is None:
                return
            self.ahead_ms += wait_ms + 1
        raise AssertionError(f"still something to deliver after {most} sends: {await self.parts()}")

    async def round(self) -> None:
        await self.poll()
        await self.answer()
        await self.deliver()

    async def parts(self) -> list[tuple[str, str]]:
        """State and text of every part, oldest first."""
        return await self.store.read(_parts)

    async def states(self) -> list[str]:
        return [state for state, _ in await self.parts()]

    async def outcomes(self) -> list[str]:
        return await self.store.read(_outcomes)

    def _rules(self) -> IntakeRules:
        twins = self.channel.capabilities.twins
        return IntakeRules(self.channel.account, self.channel.fingerprint, twins, 0, 16 * 1024, "en", "Asia/Shanghai")

    async def restart(self, channel: Channel) -> None:
        await self.channel.close()
        self.store.close()
        self.store = a_store(self.folder)
        self.channel = channel

    async def __aenter__(self) -> "World":
        return self

    async def __aexit__(self, *_failure: object) -> None:
        await self.channel.close()
        self.store.close()


def a_store(folder: Path) -> Store:
    return open_store(f"sqlite:///{folder / 'bridge.db'}", SCHEMA)


def a_world(folder: Path, channel: Channel) -> World:
    return World(folder, channel, a_store(folder))


def _echo(conn: Connection, turn: TurnId, channel: Channel, now: Instant) -> None:
    for event in (TurnEvent.TAKEN, TurnEvent.RESERVED, TurnEvent.ANSWERED):
        move_turn(conn, turn, event, now)
    found = get_turn(conn, turn)
    said = "\n".join(message.text for message in messages_of_turn(conn, turn))
    text = f"You said: {said}"
    capabilities = channel.capabilities
    parts = [part.text for part in split(text, capabilities.limit, capabilities.unit) if not part.blank]
    conversation = get_conversation(conn, found.conversation)
    add_reply(conn, NewReply(Trace(new_ulid(now)), conversation.id, turn, "reply", text), parts, now)


def _parts(conn: Connection) -> list[tuple[str, str]]:
    return [(row.state, row.text) for row in conn.execute(sql("SELECT state, text FROM parts ORDER BY id"))]


def _outcomes(conn: Connection) -> list[str]:
    return [row.outcome for row in conn.execute(sql("SELECT outcome FROM events ORDER BY id"))]
