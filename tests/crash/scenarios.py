"""What happens in the worlds that are killed: who says what, and which faults platform, provider and site have."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import get_args

from bridge.channels.contract import Poison, UpdateKind
from core.ids import EventKey
from core.model.outcomes import Signal
from tests.fakes.messenger import Fate
from tests.fakes.scripted_model import Does
from tests.fakes.site_double import Fault

from .world import Script, World

Said = tuple[str | None, str, str, dict[str, object]]
"""Text, key, who, and other fields of the update; a text of `None` with the kind `poison` is one nobody can read."""


@dataclass(frozen=True)
class Scenario:
    """`steps` are what arrives together; between them everything comes to rest."""

    name: str
    steps: Sequence[Sequence[Said]]
    script: Script = field(default_factory=Script)


def said(text: str | None, key: str, who: str = "ann", **more: object) -> Said:
    return text, key, who, more


def push(world: World, step: Sequence[Said]) -> None:
    for text, key, who, more in step:
        if more.get("kind") == "poison":
            world.platform.push(Poison(EventKey(key), "{", "not JSON"))
        else:
            world.say(text, key, who=who, **more)


async def play(world: World, scenario: Scenario) -> None:
    """From wherever an earlier process left it, to rest."""
    await world.start()
    arrived = len(world.platform.updates)
    for step in scenario.steps:
        if arrived >= len(step):
            arrived -= len(step)
        else:
            push(world, step[arrived:])
            arrived = 0
        await world.settle()


ONE = Scenario("one message", [[said("hello", "m1")]])

MANY = Scenario(
    "repeats, conflicts, strangers, edits and poison",
    [
        [said("hello", "m1"), said("hello", "m1"), said("HELLO", "m1"), said("let me in", "e1", "eve")],
        [said("nonsense", "p1", kind="poison"), said("好", "b1", "bob"), said("more", "m2"), said("/status", "c1")],
        [said("hullo", "m1x", kind=UpdateKind.EDIT, target=EventKey("m1")), said(None, "o1", kind=UpdateKind.OTHER)],
    ],
)

LONG = Scenario(
    "a reply in three parts",
    [[said("tell me", "m1")], [said("and then?", "m2")]],
    Script(answer="one " * 40 + "\n" + "two " * 40 + "\n{question}"),
)

EDGE = Scenario(
    "the edge of the budget",
    [[said("first", "m1"), said("hi", "b1", "bob")], [said("second", "m2")], [said("third", "m3")]],
    Script(settings={"budgets": {"chat": {"lease_calls": 1, "requests_per_day": 3}}}),
)

ONCE = Scenario(
    "asked once more",
    [[said("hello", "m1")]],
    Script(calls=(Signal.NO_ANSWER,), settings={"bridge": {"retry_unknown": "once"}}),
)

BACKLOG = Scenario(
    "a site that is away",
    [[said("hello", "m1")], [said("more", "m2")]],
    Script(site=("none", "none", *("unreachable",) * 4, "unanswered")),
)

SCRIPTS = (ONE, MANY, LONG, EDGE, ONCE, BACKLOG)

CALLS: tuple[Does, ...] = (Signal.ANSWERED, Signal.RATE_LIMITED, Signal.NO_ANSWER, Signal.USAGE_MISSING, "overrun")
SENDS: tuple[Fate, ...] = ("sent", "accepted", "not_sent", "refused", "delivered_unanswered", "lost_unanswered")
SITE: tuple[Fault, ...] = ("none", "unreachable", "unanswered")
assert set(SENDS) <= set(get_args(Fate))


def faulty(*, every: bool = False) -> list[Scenario]:
    """Each fault of the provider with each of the platform, and each of the site with either; `every`: all triples."""
    found = []
    for call, send, fault in product(CALLS, SENDS, SITE):
        if every or fault == "none" or call == CALLS[0] or send == SENDS[0]:
            script = Script(calls=(call,), sends=(send,), site=("none", fault, fault))
            found.append(Scenario(f"model {_name(call)}, send {send}, site {fault}", ONE.steps, script))
    return found


def _name(call: Does) -> str:
    return call if isinstance(call, str) else call.value
