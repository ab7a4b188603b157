"""The site's ledger over its real tables."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.budget import Kind, Limit, Proof, Refusal, Request
from core.control import messages as m
from core.errors import BadInput
from core.settings import Budgets
from tests.desk_world import DeskWorld, a_desk
from website.ledger import book, grants
from website.ledger.readers import ReaderBudget, Spent
from website.ledger.rules import lease_rules, pool_rules
from website.store import entries, pool_days
from website.store.pool_days import Pool, PoolDay
from website.store.reservations import Reservation

DAY = "2026-05-29"  # of tests.desk_world.NOON, in Shanghai
SPENT = Spent(provider="openai", model="m", outcome="answered")


def budget(world: DeskWorld) -> ReaderBudget:
    return ReaderBudget(world.parts.store, world.parts.settings, world.time, world.parts.random_bytes)


async def today(world: DeskWorld, pool: Pool, day: str = DAY) -> PoolDay:
    found = await world.parts.store.read(pool_days.one, pool, day)
    assert found is not None
    await adds_up(world, found)
    return found


async def adds_up(world: DeskWorld, day: PoolDay) -> None:
    """held and spent are what the immutable lines say."""
    sums = await world.parts.store.read(entries.sums, day.pool, day.day)
    spent = sum(sums.get(kind, 0) for kind in (Kind.SETTLE, Kind.UNKNOWN, Kind.ADJUST, Kind.OVERRUN))
    assert day.spent == spent - day.overrun
    held = world.parts.store.read_now(_held, day.pool, day.day)
    assert day.held == held


def _held(conn: Connection, pool: str, day: str) -> int:
    query = sql(
        "SELECT COALESCE(SUM(reserved_micros), 0) FROM reservations WHERE pool = :p AND day = :d AND state = 'held'"
    )
    return int(conn.execute(query, {"p": pool, "d": day}).scalar_one())


async def held(world: DeskWorld, micros: int = 100, tokens: int = 10) -> Reservation:
    made = await budget(world).reserve(micros, tokens)
    assert isinstance(made, Reservation), made
    return made


READERS = {"requests_per_minute": 10_000, "requests_per_day": 10_000, "concurrency": 10_000}


async def test_many_at_once_get_exactly_what_the_cap_holds(tmp_path: Path) -> None:
    async with a_desk(tmp_path, budgets={"readers": {**READERS, "money_per_day": "0.001"}}) as world:
        answers = await asyncio.gather(*(budget(world).reserve(30, 1) for _ in range(80)))

        granted = [answer for answer in answers if isinstance(answer, Reservation)]
        assert len(granted) == 1000 // 30
        assert (await today(world, "readers")).held == 30 * (1000 // 30)


async def test_a_settled_answer_costs_what_it_cost_and_is_told_once(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        mine = await held(world, 100, 50)
        spent = Spent("openai", "m", "answered", micros=40, input_tokens=10, output_tokens=5)

        await budget(world).settle(mine, spent)

        day = await today(world, "readers")
        assert (day.held, day.spent, day.unknown, day.tokens, day.requests) == (0, 40, 0, 15, 1)
        for again in (
            budget(world).settle(mine, spent),
            budget(world).unknown(mine, spent),
            budget(world).release(mine, Proof.NOT_SENT),
        ):
            with pytest.raises(BadInput, match="ends once"):
                await again
        assert (await today(world, "readers")).spent == 40


async def test_an_unknown_call_is_charged_in_full_and_a_released_one_not_at_all(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await budget(world).unknown(await held(world, 100), SPENT)
        await budget(world).release(await held(world, 70), Proof.REJECTED)

        day = await today(world, "readers")
        assert (day.held, day.spent, day.unknown, day.requests) == (0, 100, 100, 2)


async def test_a_late_proof_corrects_an_unknown_call_once(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        mine = await held(world, 100)
        await budget(world).unknown(mine, SPENT)

        await world.parts.store.write(book.adjust, mine.id, 30, world.time.now)

        day = await today(world, "readers")
        assert (day.spent, day.unknown) == (30, 0)
        with pytest.raises(BadInput):
            await world.parts.store.write(book.adjust, mine.id, 10, world.time.now)


async def test_a_charge_over_its_reserve_freezes_the_pool_until_the_owner_has_looked(tmp_path: Path) -> None:
    async with a_desk(tmp_path, budgets={"readers": {"money_per_day": "0.000150"}}) as world:
        await world.claim()
        await budget(world).settle(await held(world, 100), Spent("o", "m", "answered", micros=900))

        day = await today(world, "readers")
        assert (day.spent, day.overrun, day.frozen) == (150, 750, True)
        refused = await budget(world).reserve(0, 1)
        assert isinstance(refused, Refusal) and refused.limit is Limit.FROZEN

        world.time.pass_ms(86_400_000)
        refused = await budget(world).reserve(1, 1)
        assert isinstance(refused, Refusal) and refused.limit is Limit.FROZEN, "midnight does not thaw it"
        world.cookies = {}
        await world.sign_in()
        assert (await world.press("/owner/money/readers/thaw")).status_code == 303
        assert isinstance(await budget(world).reserve(1, 1), Reservation)


@pytest.mark.parametrize(
    ("setting", "value", "limit"),
    [
        ("requests_per_minute", 1, Limit.REQUESTS_PER_MINUTE),
        ("requests_per_day", 1, Limit.REQUESTS_PER_DAY),
        ("concurrency", 1, Limit.CONCURRENCY),
        ("tokens_per_day", 15, Limit.TOKENS_PER_DAY),
        ("money_per_day", "0.00015", Limit.MICROS_PER_DAY),
        ("output_tokens", 5, Limit.OUTPUT_TOKENS),
    ],
)
async def test_every_limit_of_a_pool_bites(tmp_path: Path, setting: str, value: object, limit: Limit) -> None:
    async with a_desk(tmp_path, budgets={"readers": {setting: value}}) as world:
        if limit is not Limit.OUTPUT_TOKENS:
            await held(world, 100, 10)

        refused = await budget(world).reserve(100, 10, output_tokens=6)

        assert isinstance(refused, Refusal) and refused.limit is limit
        if setting.endswith("day"):
            assert refused.resets_at is not None and refused.resets_at > world.time.now


async def test_limits_begin_anew_on_the_owners_day_and_late_ends_stay_on_theirs(tmp_path: Path) -> None:
    async with a_desk(tmp_path, budgets={"readers": {"money_per_day": "0.0001"}}) as world:
        late = await held(world, 100)
        world.time.pass_ms(86_400_000)

        assert isinstance(await budget(world).reserve(100, 1), Reservation)
        await budget(world).settle(late, Spent("o", "m", "answered", micros=60))

        assert (await today(world, "readers")).spent == 60
        assert (await today(world, "readers", "2026-05-30")).held == 100


async def test_a_cap_lowered_below_what_is_in_use_stops_new_work_only(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        mine = await held(world, 500)
        lower = Budgets.model_validate({"readers": {"money_per_day": "0.0001"}})
        rules = pool_rules(world.parts.settings.model_copy(update={"budgets": lower}), "readers")

        refused = await world.parts.store.write(
            book.reserve, rules, "new", "answer", Request(tokens=1, output_tokens=0, micros=1), world.time.now
        )

        assert isinstance(refused, Refusal) and refused.limit is Limit.MICROS_PER_DAY
        await budget(world).settle(mine, Spent("o", "m", "answered", micros=500))
        assert (await today(world, "readers")).spent == 500


# --- leases


async def lease(world: DeskWorld, *closing: m.LeaseReport) -> m.Grant:
    answer = await world.control("bridge", "/grants", m.GrantRequest(installation="here", closing=closing))
    return m.Grant.model_validate_json(answer.content)


def report(lent: m.Lease, spent: int = 0, unknown: int = 0, overrun: int = 0, calls: int = 0) -> m.LeaseReport:
    return m.LeaseReport(lease=lent.id, spent_micros=spent, unknown_micros=unknown, overrun_micros=overrun, calls=calls)


async def test_a_closing_report_returns_what_was_not_spent_and_changes_nothing_twice(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        lent = (await lease(world)).lease
        assert lent is not None and (lent.micros, lent.calls, lent.output_tokens) == (2_000_000, 20, 2048)
        assert (await today(world, "chat")).held == 2_000_000

        for _ in range(2):
            await world.control(
                "bridge",
                "/grants",
                m.GrantRequest(installation="here", wants_lease=False, closing=(report(lent, 300, 50, calls=3),)),
            )

        day = await today(world, "chat")
        assert (day.held, day.spent, day.unknown, day.requests) == (0, 350, 50, 3)


async def test_a_lease_is_renewed_while_the_one_before_waits_for_its_report(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        first = (await lease(world)).lease
        world.time.pass_ms(300_000)
        second = (await lease(world)).lease

        assert first is not None and second is not None and first.id != second.id
        assert (await today(world, "chat")).held == 4_000_000


async def test_an_expired_lease_stays_held_until_the_owner_writes_it_off_and_a_late_report_corrects_it(
    tmp_path: Path,
) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        lent = (await lease(world)).lease
        assert lent is not None
        assert (await world.press(f"/owner/money/leases/{lent.id}/write-off")).status_code == 400, "it is still good"
        world.time.pass_ms(600_000)
        assert (await today(world, "chat")).held == 2_000_000

        assert (await world.press(f"/owner/money/leases/{lent.id}/write-off")).status_code == 303
        day = await today(world, "chat")
        assert (day.held, day.spent, day.unknown) == (0, 2_000_000, 2_000_000)

        await lease(world, report(lent, 700, calls=1))
        day = await today(world, "chat")
        assert (day.spent, day.unknown) == (700, 0)


async def test_a_lease_that_overran_freezes_the_chat(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        lent = (await lease(world)).lease
        assert lent is not None

        answer = await lease(world, report(lent, 2_000_000, overrun=5, calls=1))

        assert answer.lease is None and answer.refusal is not None and answer.refusal.limit == "frozen"
        assert (await today(world, "chat")).spent == 2_000_005


async def test_a_report_for_a_lease_nobody_lent_is_noted_and_held_up_by_nothing(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        strange = m.LeaseReport(lease="strange", spent_micros=1, unknown_micros=0, calls=1)

        assert (await lease(world, strange)).lease is not None
        assert "Figures may be incomplete" in (await world.get("/owner/money", **{"accept-language": "en"})).text


@pytest.mark.parametrize(
    ("chat", "limit"),
    [
        ({"requests_per_minute": 20}, "requests_per_minute"),
        ({"requests_per_day": 20}, "requests_per_day"),
        ({"concurrency": 1}, "concurrency"),
        ({"money_per_day": "2"}, "micros_per_day"),
    ],
)
async def test_every_limit_of_the_chat_bites(tmp_path: Path, chat: dict[str, object], limit: str) -> None:
    async with a_desk(tmp_path, budgets={"chat": chat}) as world:
        assert (await lease(world)).lease is not None

        refused = await lease(world)

        assert refused.lease is None and refused.refusal is not None
        assert refused.refusal.limit == limit and "limit" in refused.refusal.text
        assert refused.bindings, "who may talk is told all the same"


async def test_a_lease_carries_what_is_left_where_that_is_less(tmp_path: Path) -> None:
    async with a_desk(tmp_path, budgets={"chat": {"money_per_day": "3", "requests_per_day": 25}}) as world:
        await lease(world)
        second = (await lease(world)).lease

        assert second is not None and (second.micros, second.calls) == (1_000_000, 5)


def event(name: str, tokens: int, at: int, category: str = "chat") -> m.UsageEvent:
    facts = {"id": name, "lease": "l", "provider": "o", "model": "m", "category": category, "outcome": "answered"}
    return m.UsageEvent.model_validate(
        {**facts, "input_tokens": tokens, "output_tokens": 0, "cost_micros": 1, "at_ms": at}
    )


async def test_usage_is_counted_once_by_its_id(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        for _ in range(3):
            told = m.UsageReport(events=(event("a", 100, world.time.now), event("b", 11, world.time.now)))
            assert (await world.control("bridge", "/usage", told)).status_code == 204

        assert (await today(world, "chat")).tokens == 111


async def test_a_day_far_above_the_owners_habit_stops_the_chat_until_the_owner_lets_it_go_on(tmp_path: Path) -> None:
    async with a_desk(tmp_path, budgets={"chat": {"anomaly_floor_tokens": 1000, "anomaly_factor": 2}}) as world:
        await world.claim()
        await world.control("bridge", "/usage", m.UsageReport(events=(event("a", 1000, world.time.now),)))

        refused = (await lease(world)).refusal
        assert refused is not None and refused.limit == "anomaly"

        await world.press("/owner/money/chat/thaw")
        assert (await lease(world)).lease is not None


async def test_a_call_told_of_another_category_changes_no_chat_counter(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        terms = lease_rules(world.parts.settings)

        assert await world.parts.store.write(grants.tell_usage, event("d", 9, world.time.now, "digest"), terms)

        assert await world.parts.store.read(pool_days.one, "chat", DAY) is None
