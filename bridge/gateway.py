"""The running bridge: its loops, and how they wake each other. What each step does is in the file of that step.

    poll (one for each channel)  ->  answer (a few conversations at a time)  ->  deliver (one for each channel)
    grants and closing reports   |   sync to the site   |   instructions of the site

Every loop does one whole step, then waits for its bell or its time. Stopping lets the step in hand end.
"""

import asyncio
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import structlog

from core.clock import Clock
from core.control.client import LONG_POLL_S, ControlClient
from core.control.messages import PairingClaim
from core.errors import ControlError, PenfriendError, StoreBroken
from core.ids import Account, TurnId
from core.settings import Settings
from core.store import Store
from core.text.split import Unit

from .answer import Answering, Mint, answer_turn
from .channels.console import ConsoleChannel
from .channels.contract import Capabilities, Channel, ChannelStopped, Outgoing, Update
from .deliver import Delivering, deliver_waiting
from .grant import GrantKeeper
from .instructions import Instructing, carry_out_next
from .intake import Admitted, IntakeRules, admit
from .memory.index import MemoryIndex
from .notices import line
from .pairing import Knock
from .recover import recover
from .store.bindings import keep_binding
from .store.cursors import find_cursor
from .store.grants import find_grant
from .store.strangers import forget_stranger
from .store.turns import due_turns, next_due
from .sync import Syncing

T = TypeVar("T")

log = structlog.get_logger("bridge")

IDLE_S = 20.0
RETRY_S = 2.0
DRAIN_S = 20.0
"""How long a stop waits for steps in hand; what is cut then is recorded as unknown."""
LONGEST_RETRY_S = 60.0


class Bell:
    """Wakes a loop; rung while nobody waits, it is heard at the next wait."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._rung.wait(), max(0.0, seconds))
        except TimeoutError:
            pass
        self._rung.clear()


@dataclass
class Gateway:
    """All the parts of a bridge. `problems` is what the owner should see: a name and a sentence for each."""

    settings: Settings
    store: Store
    memory: MemoryIndex
    channels: list[Channel]
    control: ControlClient
    answering: Answering
    delivering: Delivering
    grants: GrantKeeper
    syncing: Syncing
    instructing: Instructing
    clock: Clock
    mint: Mint
    counted: Counter[str] = field(default_factory=Counter)
    problems: dict[str, str] = field(default_factory=dict)
    answer_bell: Bell = field(default_factory=Bell)
    grant_bell: Bell = field(default_factory=Bell)
    sync_bell: Bell = field(default_factory=Bell)
    memory_bell: Bell = field(default_factory=Bell)
    deliver_bells: dict[Account, Bell] = field(default_factory=dict)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    acquainted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the site has ever said who may talk: before that nobody could be told from a stranger."""
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _running: set[TurnId] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.deliver_bells = {channel.account: Bell() for channel in self.channels}

    async def start(self) -> None:
        """Puts right what the last run left, before anything new is taken in."""
        found = await self.store.write(recover, self.answering, self.delivering, self.clock())
        for what, number in found.items():
            log.warning("found at start", what=what, number=number)
        if await self.store.read(find_grant) is not None:
            self.acquainted.set()
        await self.memory.catch_up()

    async def run(self) -> None:
        """Runs until `stop`. A loop that fails for a reason nobody foresaw ends the program: silence is worse."""
        loops = [self._loop("answer", self.answer_bell, self._answer_due)]
        loops += [self._loop("grants", self.grant_bell, self._renew_grant)]
        loops += [self._loop("sync", self.sync_bell, self._sync)]
        loops += [self._loop("memory", self.memory_bell, self.memory.keep_up)]
        loops += [self._follow_instructions()]
        for channel in self.channels:
            if isinstance(channel, ConsoleChannel):
                channel.on_open = self.deliver_bells[channel.account].ring
            loops.append(self._poll(channel))
            loops.append(
                self._loop(f"deliver {channel.account}", self.deliver_bells[channel.account], self._delivery(channel))
            )
        stop = asyncio.create_task(self.stopping.wait())
        tasks = {asyncio.create_task(loop) for loop in loops}
        done, _ = await asyncio.wait({stop, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        await self._drain(tasks, stop)
        for task in done - {stop}:
            task.result()

    async def _drain(self, tasks: set["asyncio.Task[None]"], stop: "asyncio.Task[bool]") -> None:
        self.stopping.set()
        for bell in (self.answer_bell, self.grant_bell, self.sync_bell, self.memory_bell, *self.deliver_bells.values()):
            bell.ring()
        _, late = await asyncio.wait({*tasks, *self._tasks}, timeout=DRAIN_S)
        for task in (*late, stop):
            task.cancel()
        await asyncio.gather(*late, stop, return_exceptions=True)
        await self.grants.close()
        await self.syncing.sync_waiting()

    async def _loop(self, name: str, bell: Bell, step: Callable[[], Awaitable[float]]) -> None:
        """`step` says how many seconds it has nothing to do, unless its bell rings."""
        while not self.stopping.is_set():
            try:
                idle_s = await step()
                self.problems.pop(name, None)
            except StoreBroken as broken:
                self.problems["store"] = str(broken)
                idle_s = LONGEST_RETRY_S
            except PenfriendError as problem:
                self._note(name, problem)
                idle_s = RETRY_S
            await bell.wait(idle_s)

    def _note(self, name: str, problem: Exception) -> None:
        if self.problems.get(name) != str(problem):
            log.error("problem", part=name, problem=str(problem))
        self.problems[name] = str(problem)

    # --- taking in -----------------------------------------------------------------------------------------------

    async def _poll(self, channel: Channel) -> None:
        wait_s = RETRY_S
        name = f"poll {channel.account}"
        cursor, stale = await self.store.read(find_cursor, channel.account, channel.fingerprint)
        if stale:
            log.warning("the credential changed: the old cursor is dropped", account=channel.account)
        await self._either(self.acquainted)
        while not self.stopping.is_set():
            if reason := self._full():
                self.problems["capacity"] = reason
                await self._pause(LONGEST_RETRY_S)
                continue
            self.problems.pop("capacity", None)
            try:
                cursor = await self._poll_once(channel, cursor)
                self.problems.pop(name, None)
                wait_s = RETRY_S
            except _Stopping:
                return
            except ChannelStopped as stopped:
                self._note(name, stopped)
                await self._pause(LONGEST_RETRY_S)
            except StoreBroken as broken:
                self.problems["store"] = str(broken)
                await self._pause(LONGEST_RETRY_S)
            except (OSError, PenfriendError) as problem:
                self._note(name, problem)
                await self._pause(wait_s)
                wait_s = min(wait_s * 2, LONGEST_RETRY_S)

    async def _poll_once(self, channel: Channel, cursor: str | None) -> str:
        batch = await self._until_stopping(channel.poll(cursor))
        admitted = await self.store.write(admit, self._rules(channel), batch, self.clock(), self.mint)
        self._after_intake(channel, admitted)
        for update, knock in admitted.knocks:
            await self._answer_knock(channel, update, knock)
        return batch.cursor

    async def _until_stopping(self, polling: Awaitable[T]) -> T:
        """The poll's batch; a stop lets a poll in hand bring what it has, for a while."""
        poll = asyncio.ensure_future(polling)
        stop = asyncio.ensure_future(self.stopping.wait())
        await asyncio.wait({poll, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not poll.done():
            poll.cancel()
            await asyncio.gather(poll, return_exceptions=True)
            raise _Stopping
        return poll.result()

    def _rules(self, channel: Channel) -> IntakeRules:
        bridge, persona = self.settings.bridge, self.settings.persona
        return IntakeRules(
            account=channel.account,
            fingerprint=channel.fingerprint,
            twins=channel.capabilities.twins,
            merge_window_ms=bridge.merge_window_ms,
            max_message_bytes=bridge.max_message_bytes,
            language=persona.language,
            zone=persona.timezone,
        )

    def _after_intake(self, channel: Channel, admitted: Admitted) -> None:
        self.counted["accepted"] += admitted.accepted
        self.counted.update(admitted.counted)
        self.answer_bell.ring()
        self.sync_bell.ring()
        self.memory_bell.ring()
        self.deliver_bells[channel.account].ring()

    async def _answer_knock(self, channel: Channel, update: Update, knock: Knock) -> None:
        """A stranger's one notice, or the site's word on a code. Best effort: nothing was promised to a stranger."""
        language = self.settings.persona.language
        text = line(knock.notice, language) if knock.notice else ""
        if knock.code:
            text = await self._ask_the_site(channel, update, knock.code)
        if text:
            await channel.send(
                Outgoing(update.chat, text, f"pf-{self.mint(self.clock())}", update.reply_token, update.event_key)
            )

    async def _ask_the_site(self, channel: Channel, update: Update, code: str) -> str:
        language = self.settings.persona.language
        claim = PairingClaim(
            code=code,
            account=channel.account,
            chat=update.chat,
            sender=update.sender,
            name=update.sender_name[:80],
            group=update.group,
        )
        try:
            answer = await self.control.pair(claim)
        except ControlError as problem:
            self._note("pairing", problem)
            return line("pairing_later", language)
        if answer.binding is None:
            return line("pairing_refused", language)
        await self.store.write(keep_binding, answer.binding, self.clock())
        await self.store.write(forget_stranger, channel.account, update.sender)
        return line("paired", language, name=answer.binding.name or update.sender_name or "")

    def _full(self) -> str | None:
        """Why nothing more is taken in. Old talk is never dropped to make room."""
        if self.store.broken:
            return str(self.store.broken)
        bridge = self.settings.bridge
        folder = self.settings.data_dir
        free = shutil.disk_usage(folder).free
        if free < bridge.min_free_bytes:
            return f"intake stopped: {free} bytes free in {folder}, at least {bridge.min_free_bytes} are kept"
        size = sum(path.stat().st_size for path in _store_files(self.settings))
        if size > bridge.max_store_bytes:
            return f"intake stopped: the store has {size} bytes, bridge.max_store_bytes is {bridge.max_store_bytes}"
        return None

    # --- answering and delivering --------------------------------------------------------------------------------

    async def _answer_due(self) -> float:
        """Starts what is due; each turn is a task, at most `parallel_turns` at a time."""
        room = self.settings.bridge.parallel_turns - len(self._running)
        for turn in await self.store.read(due_turns, self.clock(), max(0, room)):
            if turn not in self._running:
                self._running.add(turn)
                self._tasks.add(task := asyncio.create_task(self._answer(turn)))
                task.add_done_callback(self._tasks.discard)
        due = await self.store.read(next_due)
        if due is None or room <= 0:
            return IDLE_S
        return min(IDLE_S, max(0.05, (due - self.clock()) / 1000))

    async def _answer(self, turn: TurnId) -> None:
        try:
            await answer_turn(self.answering, turn)
        except PenfriendError as problem:
            self._note("answer", problem)
        finally:
            self._running.discard(turn)
            self.answer_bell.ring()
            self.grant_bell.ring()
            self.sync_bell.ring()
            for bell in self.deliver_bells.values():
                bell.ring()

    def _delivery(self, channel: Channel) -> Callable[[], Awaitable[float]]:
        async def deliver() -> float:
            wait_ms = await deliver_waiting(self.delivering, channel)
            self.sync_bell.ring()
            return IDLE_S if wait_ms is None else wait_ms / 1000

        return deliver

    # --- the site ------------------------------------------------------------------------------------------------

    async def _renew_grant(self) -> float:
        if await self.grants.renew_if_due():
            self.acquainted.set()
            self.answer_bell.ring()
            for bell in self.deliver_bells.values():
                bell.ring()
        if self.grants.problem:
            self.problems["grant"] = self.grants.problem
        else:
            self.problems.pop("grant", None)
        return max(0.5, (self.grants.renew_at - self.clock()) / 1000)

    async def _sync(self) -> float:
        more = await self.syncing.sync_waiting()
        if self.syncing.problem:
            self.problems["sync"] = self.syncing.problem
            return RETRY_S * 2
        self.problems.pop("sync", None)
        return 0.0 if more else IDLE_S

    async def _follow_instructions(self) -> None:
        wait_s = 0  # the first answer comes at once and shows that the site is there
        while not self.stopping.is_set():
            try:
                await self._until_stopping(carry_out_next(self.instructing, wait_s))
                self.problems.pop("instructions", None)
                wait_s = LONG_POLL_S
                self.sync_bell.ring()
                for bell in self.deliver_bells.values():
                    bell.ring()
            except _Stopping:
                return
            except PenfriendError as problem:
                self._note("instructions", problem)
                wait_s = 0
                await self._pause(RETRY_S)

    async def _either(self, event: asyncio.Event) -> None:
        """Waits for the event or for the stop."""
        waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(self.stopping.wait())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self.stopping.wait(), seconds)
        except TimeoutError:
            pass


class _Stopping(Exception):
    """A stop came while a loop waited for something that nobody needs any more."""


def _store_files(settings: Settings) -> list[Path]:
    return [path for path in settings.data_dir.glob("bridge.db*") if path.is_file()]


def find_capabilities(channels: list[Channel]) -> Callable[[str], Capabilities]:
    """Those of an account; an account without a channel (it was taken out) is split for the smallest platform."""
    known = {channel.account: channel.capabilities for channel in channels}
    return lambda account: known.get(Account(account), Capabilities(unit=Unit.CODE_POINTS, limit=1_800))
