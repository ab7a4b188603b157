"""Soaks a channel: mixed updates with faults among them, and at the end an account of every single message.

    python -m bench.soak_channels --channel telegram --updates 2000

One update in ten meets a fault (on the way in or out), the program is thrown away and opened again every 150 rounds, and
a poll is thrown away unkept now and then. At the end every message that was kept must be answered once or marked; a
message that the platform says it handed over and nobody has is counted as lost (WeChat's promise allows that, others'
does not).
"""

import argparse
import asyncio
import random
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bridge.channels.contract import ChannelTrouble
from bridge.prove import Proving, prove_unknown
from tests.channel_labs import LABS, Lab
from tests.channel_world import World, a_world
from tests.synapse import Synapse

FAULTS = 0.1
LIVES = 150


@dataclass
class Soak:
    """`said` are the texts that were given to the platform once, in order."""

    lab: Lab
    world: World
    chance: random.Random
    said: list[str] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)
    proving: Proving = field(default_factory=Proving)

    async def run(self, updates: int) -> None:
        for number in range(updates):
            await self._bring(number)
            if self.chance.random() < FAULTS / 2:
                fault = self.chance.choice(
                    [name for name in self.lab.faults if name not in ("without_id", "no_context")]
                )
                self.lab.break_send(fault)
                self.counted[f"send {fault}"] += 1
            if number % 3 == 0:
                await self._round()
            if number % LIVES == LIVES - 1:
                await self.world.restart(self.lab.open())
        await self._settle()

    async def _bring(self, number: int) -> None:
        """Mostly new words; sometimes the last message again, changed, unreadable, or a stranger's."""
        kind = self.chance.choices(["say", "again", "changed", "poison", "stranger"], [91, 5, 1, 1, 2])[0]
        self.counted[kind] += 1
        if kind == "say" or not self.said:
            self.said.append(f"message {number:05} 好😀")
            await self.lab.say(self.said[-1])
        elif kind == "again":
            await self.lab.bring_again(self.said[-1])
        elif kind == "changed":
            await self.lab.bring_again(f"{self.said[-1]} changed")
        elif kind == "poison" and self.lab.reads_anything:
            await self.lab.bring_poison()
        elif kind == "stranger":
            await self.lab.say_as_stranger("let me in")

    async def _round(self) -> None:
        try:
            batch = await asyncio.wait_for(self.world.take(), 5)
            if self.lab.replays and self.chance.random() < FAULTS / 2:
                self.counted["poll thrown away"] += 1
                return
            await self.world.keep(batch)
        except (ChannelTrouble, TimeoutError):
            self.counted["poll failed"] += 1
        await self.world.answer()
        await self._deliver()

    async def _deliver(self) -> None:
        await prove_unknown(self.proving, self.world.delivering(), self.world.channel)
        await self.world.deliver(most=1000)

    async def _settle(self) -> None:
        """Until a poll brings nothing more."""
        for _ in range(40):
            before = len(await self.world.outcomes())
            await self._round()
            if len(await self.world.outcomes()) == before:
                break
        self.world.ahead_ms += 60_000
        await self._deliver()

    async def account(self) -> Counter[str]:
        """What became of every message; raises when one was answered twice or vanished without leave."""
        heard = "\n".join(self.lab.delivered())
        marked = "\n".join(text for state, text in await self.world.parts() if state not in ("sent", "accepted"))
        found: Counter[str] = Counter(self.counted)
        for text in self.said:
            times = heard.count(text)
            assert times <= 1, f"{text!r} was answered {times} times"
            if times:
                found["answered"] += 1
            elif text in marked:
                found["marked"] += 1
            else:
                found["lost"] += 1
        assert not self.lab.replays or not found["lost"], f"{found['lost']} messages were lost"
        return found


async def soak(name: str, folder: Path, updates: int, seed: int, synapse: Synapse | None) -> Counter[str]:
    """One soak; the counts of what was done and what became of it."""
    async with LABS[name](folder, lambda: _needed(synapse)) as lab, a_world(folder, lab.open()) as world:
        await world.pair(lab.chat, lab.sender)
        if lab.begins_quiet:
            await world.poll()
        run = Soak(lab, world, random.Random(seed))
        await run.run(updates)
        return await run.account()


def _needed(synapse: Synapse | None) -> Synapse:
    assert synapse is not None, "a soak of matrix needs a Synapse"
    return synapse


def main() -> None:
    parser = argparse.ArgumentParser(description="Soak a channel with faults and account for every message.")
    parser.add_argument("--channel", choices=[name for name in LABS if name != "console"], required=True)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        if args.channel == "matrix":
            with Synapse(Path(folder)) as synapse:
                found = asyncio.run(soak(args.channel, Path(folder), args.updates, args.seed, synapse))
        else:
            found = asyncio.run(soak(args.channel, Path(folder), args.updates, args.seed, None))
    print(f"{args.channel}: {args.updates} updates in {time.monotonic() - began:.0f} s")
    for what, number in sorted(found.items()):
        print(f"  {number:6} {what}")


if __name__ == "__main__":
    main()
