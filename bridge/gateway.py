"""The running bridge: its loops, and how they wake each other. What each step does is in the file of that step.

    poll (one for each channel)  ->  answer (a few conversations at a time)  ->  deliver (one for each channel)
    grants and closing reports   |   sync to the site   |   instructions of the site

Every loop does one whole step, then waits for its bell or its time. Stopping lets the step in hand end.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

import httpx
import structlog

from core.clock import Clock
from core.control.client import LONG_POLL_S, ControlClient
from core.errors import PenfriendError, StoreBroken
from core.ids import Account, TurnId
from core.model.contract import ModelResult
from core.model.outcomes import Verdict
from core.settings import Settings
from core.store import Store
from core.text.split import Unit

from .answer import answer_turn
from .answering import Answering, Mint
from .channels.console import ConsoleChannel
from .channels.contract import Capabilities, Channel, ChannelStopped
from .deliver import Delivering, deliver_waiting
from .grant import GrantKeeper
from .instructions import Instructing, carry_out_next
from .memory.index import MemoryIndex
from .prove import Proving, prove_unknown
from .reception import Reception
from .recover import recover, recover_turns
from .store.cursors import find_cursor
from .store.grants import find_grant
from .store.turns import due_turns, next_due
from .sync import Syncing
from .typing_signal import show_typing

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
    problems: dict[str, str] = field(default_factory=dict)
    answer_bell: Bell = field(default_factory=Bell)
    grant_bell: Bell = field(default_factory=Bell)
    sync_bell: Bell = field(default_factory=Bell)
    memory_bell: Bell = field(default_factory=Bell)
    proving: Proving = field(default_factory=Proving)
    deliver_bells: dict[Account, Bell] = field(default_factory=dict)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    acquainted: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once the site has ever said who may talk: before that nobody could be told from a stranger."""
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _running: set[TurnId] = field(default_factory=set)
    _left_behind: bool = False

    def __post_init__(self) -> None:
        self.deliver_bells = {channel.account: Bell() for channel in self.channels}
        self.reception = Reception(
            self.settings, self.store, self.control, self.clock, self.mint, self.note, self._soon_granted
        )

    @property
    def counted(self) -> Counter[str]:
        return self.reception.counted

    async def start(self) -> None:
        """Puts right what the last run left, before anything new is taken in."""
        found = await self.store.write(recover, self.answering, self.delivering, self.clock())
        for what, number in (+found).items():
            log.warning("found at start", what=what, number=number)
        grant = await self.store.read(find_grant)
        if grant is not None:
            self.grants.resume(grant)
            self.acquainted.set()
        await self.memory.catch_up()

    async def run(self) -> None:
        """Runs until `stop`. A loop that fails for a reason nobody foresaw ends the program: silence is worse."""
        loops = [self._loop("answer", self.answer_bell, self.answer_due)]
        loops += [self._loop("grants", self.grant_bell, self.renew_grant)]
        loops += [self._loop("sync", self.sync_bell, self.sync)]
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

    async def _drain(self, loops: set["asyncio.Task[None]"], stop: "asyncio.Task[bool]") -> None:
        """Steps in hand end; a step that takes too long is cut, which the store then says."""
        self.stopping.set()
        for bell in (self.answer_bell, self.grant_bell, self.sync_bell, self.memory_bell, *self.deliver_bells.values()):
            bell.ring()
        deadline = asyncio.get_running_loop().time() + DRAIN_S
        # The loops first: the last step of one of them may still begin a turn.
        late = await _wait_until(loops, deadline) | await _wait_until(self._tasks, deadline)
        for task in (*late, stop):
            task.cancel()
        await asyncio.gather(*late, stop, return_exceptions=True)
        try:
            await self.grants.close()
            await self.syncing.sync_waiting()
        except PenfriendError as problem:
            self.note("leaving", problem)

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
                self.note(name, problem)
                idle_s = RETRY_S
            await bell.wait(idle_s)

    def note(self, name: str, problem: Exception) -> None:
        if self.problems.get(name) != str(problem):
            log.error("problem", part=name, problem=str(problem))
        self.problems[name] = str(problem)

    # --- taking in -----------------------------------------------------------------------------------------------

    async def _poll(self, channel: Channel) -> None:
        wait_s = RETRY_S
        name = f"poll {channel.account}"
        cursor = await self.find_cursor(channel)
        await self._either(self.acquainted)
        while not self.stopping.is_set():
            if reason := self.reception.full():
                self.problems["capacity"] = reason
                await self._pause(LONGEST_RETRY_S)
                continue
            self.problems.pop("capacity", None)
            try:
                cursor = await self.poll_once(channel, cursor)
                self.problems.pop(name, None)
                wait_s = RETRY_S
            except _Stopping:
                return
            except ChannelStopped as stopped:
                self.note(name, stopped)
                await self._pause(LONGEST_RETRY_S)
            except StoreBroken as broken:
                self.problems["store"] = str(broken)
                await self._pause(LONGEST_RETRY_S)
            except (OSError, httpx.TransportError, PenfriendError) as problem:
                self.note(name, problem)
                await self._pause(wait_s)
                wait_s = min(wait_s * 2, LONGEST_RETRY_S)

    async def find_cursor(self, channel: Channel) -> str | None:
        """Where the account was read to with this very credential."""
        cursor, stale = await self.store.read(find_cursor, channel.account, channel.fingerprint)
        if stale:
            log.warning("the credential changed: the old cursor is dropped", account=channel.account)
        return cursor

    async def poll_once(self, channel: Channel, cursor: str | None) -> str:
        """Waits for a batch and takes it in; the next poll may use the cursor that is returned."""
        batch = await self._until_stopping(channel.poll(cursor))
        admitted = await self.reception.take_in(channel, batch)
        self.answer_bell.ring()
        self.sync_bell.ring()
        self.memory_bell.ring()
        self.deliver_bells[channel.account].ring()
        for update, knock in admitted.knocks:
            await self.reception.answer_knock(channel, update, knock)
        return batch.cursor

    async def _until_stopping(self, waiting: Awaitable[T]) -> T:
        """What is waited for; a stop ends the wait, unless it is over at the same moment."""
        wait = asyncio.ensure_future(waiting)
        stop = asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait({wait, stop}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
            if not wait.done():
                wait.cancel()
                await asyncio.gather(wait, return_exceptions=True)
        if wait.cancelled():
            raise _Stopping
        return wait.result()

    def _soon_granted(self) -> None:
        self.grants.ask_soon()
        self.grant_bell.ring()

    # --- answering and delivering --------------------------------------------------------------------------------

    async def answer_due(self) -> float:
        """Starts what is due; each turn is a task, at most `parallel_turns` at a time."""
        if self._left_behind:
            await self.store.write(recover_turns, self.answering, frozenset(self._running), self.clock())
            self._left_behind = False
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

    async def answers(self) -> None:
        """Waits for the turns under way."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _answer(self, turn: TurnId) -> None:
        self._tasks.add(typing := asyncio.create_task(show_typing(self.store, self.channels, turn)))
        typing.add_done_callback(self._tasks.discard)
        try:
            self._note_model(await answer_turn(self.answering, turn))
        except PenfriendError as problem:
            self._left_behind = True
            self.note("answer", problem)
        except Exception as fault:
            log.exception("a fault of ours while answering")
            self.problems["answer"] = f"a fault of ours while answering ({type(fault).__name__}): see the log"
        finally:
            self._running.discard(turn)
            self.answer_bell.ring()
            self.grant_bell.ring()
            self.sync_bell.ring()
            for bell in self.deliver_bells.values():
                bell.ring()

    def _note_model(self, result: ModelResult | None) -> None:
        if result is not None and result.outcome.alerts_owner:
            self.problems["model"] = result.detail
        elif result is not None and result.outcome.verdict is Verdict.SETTLE:
            self.problems.pop("model", None)

    def _delivery(self, channel: Channel) -> Callable[[], Awaitable[float]]:
        async def deliver() -> float:
            return await self.deliver(channel)

        return deliver

    async def deliver(self, channel: Channel) -> float:
        """Sends what may be sent now, one part; the seconds until something more may be."""
        await prove_unknown(self.proving, self.delivering, channel)
        wait_ms = await deliver_waiting(self.delivering, channel)
        self.sync_bell.ring()
        return IDLE_S if wait_ms is None else wait_ms / 1000

    # --- the site ------------------------------------------------------------------------------------------------

    async def renew_grant(self) -> float:
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

    async def sync(self) -> float:
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
                for bell in (self.answer_bell, self.sync_bell, *self.deliver_bells.values()):
                    bell.ring()
            except _Stopping:
                return
            except PenfriendError as problem:
                self.note("instructions", problem)
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


async def _wait_until(tasks: set["asyncio.Task[None]"], deadline: float) -> set["asyncio.Task[None]"]:
    """Those that are not done by then."""
    if not tasks:
        return set()
    left = max(0.0, deadline - asyncio.get_running_loop().time())
    return (await asyncio.wait(set(tasks), timeout=left))[1]


def find_capabilities(channels: list[Channel]) -> Callable[[str], Capabilities]:
    """Those of an account; an account without a channel (it was taken out) is split for the smallest platform."""
    known = {channel.account: channel.capabilities for channel in channels}
    return lambda account: known.get(Account(account), Capabilities(unit=Unit.CODE_POINTS, limit=1_800))
