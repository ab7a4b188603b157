"""What the assistant asks before it calls a model for a reader: one daily pool, shared by all readers.

budget = ReaderBudget(store, settings, clock, random_bytes)
held = await budget.reserve(micros=1200, tokens=3000)
if isinstance(held, Refusal): …                              # no call; `refusal_text` says which limit and when
await budget.settle(held, Spent(micros=700, provider=…, …))  # or `release`, or `unknown`
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from core.budget import Proof, Refusal, Request
from core.clock import Clock, Instant
from core.ids import RandomBytes, new_ulid
from core.settings import Settings
from core.store import Store

from ..store import usage
from ..store.reservations import Reservation
from . import book
from .rules import Rules, pool_rules


@dataclass(frozen=True)
class Spent:
    """What is known of a call that may have cost something. `incomplete`: the provider named no tokens."""

    provider: str
    model: str
    outcome: str
    micros: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    incomplete: bool = False


class ReaderBudget:
    """Every method is one transaction of the site's store. An answer's reservation ends once: settle, release or unknown."""

    def __init__(self, store: Store, settings: Settings, clock: Clock, random_bytes: RandomBytes) -> None:
        self._store = store
        self._rules: Rules = pool_rules(settings, "readers")
        self._clock = clock
        self._random_bytes = random_bytes

    @property
    def output_tokens(self) -> int:
        """The most tokens one answer may have."""
        return self._rules.limits.output_tokens or 0

    async def reserve(self, micros: int, tokens: int, output_tokens: int = 0) -> Reservation | Refusal:
        """Holds the most one answer can cost; `tokens` is input and output together."""
        now = self._clock()
        asked = Request(tokens=tokens, output_tokens=output_tokens, micros=micros)
        return await self._store.write(
            book.reserve, self._rules, new_ulid(now, self._random_bytes), "answer", asked, now
        )

    async def settle(self, held: Reservation, spent: Spent) -> None:
        await self._store.write(_settle, held, spent, self._clock())

    async def release(self, held: Reservation, proof: Proof) -> None:
        """Only with the proof that nothing was charged."""
        await self._store.write(book.release, held.id, proof, self._clock())

    async def unknown(self, held: Reservation, spent: Spent) -> None:
        """Maybe charged: all that was held counts as spent."""
        await self._store.write(_unknown, held, spent, self._clock())


def _settle(conn: Connection, held: Reservation, spent: Spent, now: Instant) -> None:
    call = _call(held, spent, spent.micros, now)
    book.settle(conn, held.id, spent.micros, held.tokens if spent.incomplete else call.tokens, now)
    usage.add(conn, call)


def _unknown(conn: Connection, held: Reservation, spent: Spent, now: Instant) -> None:
    book.unknown(conn, held.id, now)
    usage.add(conn, _call(held, spent, held.micros, now))


def _call(held: Reservation, spent: Spent, micros: int, now: Instant) -> usage.Call:
    return usage.Call(
        held.id,
        "readers",
        held.day,
        spent.provider,
        spent.model,
        "reader",
        spent.outcome,
        spent.input_tokens,
        spent.output_tokens,
        micros,
        spent.incomplete,
        now,
    )
