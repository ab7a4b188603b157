"""One answer to a turn: one call that may cost money, its price in the ledger, and a word when there is no answer."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy import text as sql

from bridge.breaking import RULE, subjects_of
from bridge.instructions import carry_out
from bridge.store.breakers import stopped_breakers
from core.control.messages import Instruction
from core.ids import ConversationId
from core.model.outcomes import Retry, Signal, Verdict, outcome_of
from tests.fakes.scripted_model import ScriptedModel

from .crash.world import Script, World, a_world

PHASES = "SELECT phase FROM turns ORDER BY id"
ATTEMPTS = "SELECT state, outcome FROM attempts ORDER BY tries"
HOUR_MS = 3_600_000
SIGNALS = [signal for signal in Signal if signal not in (Signal.USAGE_WRONG,)]


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with a_world(tmp_path) as world:
        yield world


def ledger(world: World) -> tuple[int, int]:
    """What the leases hold and have spent."""
    held, spent = world.rows("SELECT sum(held_micros), sum(spent_micros) FROM leases")[0]
    return int(str(held)), int(str(spent))


def charged(world: World) -> int:
    return sum(int(str(call["charged_micros"])) for call in world.model.calls.read())


async def test_an_answer_is_settled_at_its_price_and_told_to_the_site(world: World) -> None:
    world.say("hello")
    await world.settle()

    assert world.rows(ATTEMPTS) == [("settled", "answered")]
    assert ledger(world) == (0, charged(world))
    assert world.site_rows("SELECT input_tokens, output_tokens, cost_micros FROM usage") == [(100, 20, 140)]


@pytest.mark.parametrize("signal", SIGNALS, ids=str)
async def test_every_row_of_the_outcomes_ends_in_words_and_in_a_true_ledger(tmp_path: Path, signal: Signal) -> None:
    outcome = outcome_of(signal)
    async with a_world(tmp_path, Script(calls=(signal,) * 9)) as world:
        world.say("hello")
        await world.settle()

        calls = world.model.calls.read()
        expected = {Retry.NEVER: 1, Retry.LATER: 3, Retry.ONCE: 2, Retry.REPACK_ONCE: 2}[outcome.retry]
        assert len(calls) == expected
        assert sum(bool(call["maybe_charged"]) for call in calls) <= 1
        assert len(world.platform.delivered) == 1
        assert (
            world.rows(PHASES)[0][0]
            in {
                Verdict.SETTLE: ("done",),
                Verdict.RELEASE: ("failed",),
                Verdict.UNKNOWN: ("unknown",),
            }[outcome.verdict]
        )
        held, spent = ledger(world)
        assert held == 0
        assert spent >= charged(world)


@pytest.mark.parametrize(
    "signal", [Signal.RATE_LIMITED, Signal.NOT_CONNECTED, Signal.CONFLICT, Signal.CONTEXT_TOO_LONG]
)
async def test_after_a_call_that_was_free_the_next_one_may_answer(tmp_path: Path, signal: Signal) -> None:
    async with a_world(tmp_path, Script(calls=(signal,))) as world:
        world.say("hello")
        await world.settle()

        assert world.rows(ATTEMPTS) == [("released", signal.value), ("settled", "answered")]
        assert world.platform.texts == ["answer to: hello"]


async def test_a_context_that_was_too_long_is_packed_smaller_once(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(calls=(Signal.ANSWERED,) * 8 + (Signal.CONTEXT_TOO_LONG,))) as world:
        for number in range(9):
            world.say(f"{number} " + "words " * 600)
            await world.settle()

        sizes = [int(str(call["bytes"])) for call in world.model.calls.read()]
        assert sizes[-1] < sizes[-2] * 0.6
        assert len(world.platform.delivered) > 9


async def test_retry_after_is_honoured_before_the_next_call(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(calls=(Signal.RATE_LIMITED,), retry_after_s=30)) as world:
        world.say("hello")
        before = world.watch.now()
        await world.settle()

        assert world.watch.now() - before >= 31_500


async def test_the_policy_once_asks_again_after_unknown_with_its_own_reservation(tmp_path: Path) -> None:
    once = Script(calls=(Signal.NO_ANSWER,), settings={"bridge": {"retry_unknown": "once"}})
    async with a_world(tmp_path, once) as world:
        world.say("hello")
        await world.settle()

        assert world.rows(ATTEMPTS) == [("unknown", "no_answer"), ("settled", "answered")]
        assert world.platform.texts == ["answer to: hello"]
        assert ledger(world)[1] == charged(world)


async def test_the_policy_once_means_once(tmp_path: Path) -> None:
    once = Script(calls=(Signal.NO_ANSWER,) * 5, settings={"bridge": {"retry_unknown": "once"}})
    async with a_world(tmp_path, once) as world:
        world.say("你好")
        await world.settle()

        assert len(world.model.calls) == 2
        assert world.rows(PHASES) == [("unknown",)]
        assert world.platform.texts[0].startswith("这次不知道答成没有")


async def test_an_overrun_is_written_down_and_freezes_the_lease_and_the_pool(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(calls=("overrun",))) as world:
        world.say("hello")
        await world.settle()
        world.say("again")
        await world.settle()

        assert world.rows("SELECT count(*) FROM lease_entries WHERE kind = 'overrun'") == [(1,)]
        assert ledger(world)[1] == charged(world)
        assert len(world.model.calls) == 1
        assert "frozen" in world.platform.texts[-1]


async def test_a_refusal_of_the_site_names_limit_rest_and_reset(tmp_path: Path) -> None:
    spent = Script(settings={"budgets": {"chat": {"requests_per_day": 1, "lease_calls": 1}}})
    async with a_world(tmp_path, spent) as world:
        for text in ("one", "two"):
            world.say(text)
            await world.settle()

        assert world.platform.texts[0] == "answer to: one"
        assert "requests a day, 1 allowed, 0 left" in world.platform.texts[1]
        assert "resets at" in world.platform.texts[1]


async def test_a_request_larger_than_a_whole_lease_is_refused_in_words(tmp_path: Path) -> None:
    tiny = Script(settings={"budgets": {"chat": {"lease_money": "0.0005"}}})
    async with a_world(tmp_path, tiny) as world:
        world.say("hello")
        await world.settle()

        assert world.rows(PHASES) == [("refused",)]
        assert "money of the current grant, 0.0005 allowed" in world.platform.texts[0]
        assert len(world.model.calls) == 0


async def test_a_lease_that_is_used_up_is_followed_by_the_next_one(tmp_path: Path) -> None:
    two = Script(settings={"budgets": {"chat": {"lease_calls": 2}}})
    async with a_world(tmp_path, two) as world:
        for number in range(5):
            world.say(f"hello {number}")
            await world.settle()

        assert len(world.platform.delivered) == 5
        assert len(world.rows("SELECT id FROM leases")) == 3


async def test_the_longest_answer_is_what_the_lease_allows(tmp_path: Path) -> None:
    short = Script(settings={"budgets": {"chat": {"output_tokens": 50}}})
    async with a_world(tmp_path, short) as world:
        world.say("hello")
        await world.settle()

        assert world.model.calls.read()[0]["max_output_tokens"] == 50


async def test_a_lease_that_expired_carries_no_call_and_is_reported(world: World) -> None:
    world.say("hello")
    await world.settle()
    world.watch.advance(HOUR_MS)
    world.say("again")
    await world.settle()

    assert world.rows("SELECT state FROM leases ORDER BY rowid") == [("reported",), ("open",)]
    assert world.site_rows("SELECT state FROM leases ORDER BY issued_at_ms") == [("reported",), ("open",)]
    day = world.site_rows("SELECT sum(held_micros), sum(spent_micros) FROM pool_days WHERE pool = 'chat'")
    assert day == [(1_000_000, 140)]


async def test_a_closing_report_that_was_not_heard_is_told_again_and_counted_once(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.say("hello")
        await world.settle()
        world.site.fail_next("unanswered", 1)
        await world.gateway.grants.close()
        await world.gateway.grants.renew()

        assert world.rows("SELECT state FROM leases ORDER BY rowid")[0] == ("reported",)
        assert world.site_rows("SELECT sum(spent_micros) FROM pool_days WHERE pool = 'chat'") == [(140,)]


async def test_without_the_site_messages_are_kept_and_paid_work_waits(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.say("hello")
        await world.settle()
        world.watch.advance(HOUR_MS)
        world.site.fail_next("unreachable", 30)
        world.say("again")
        for _ in range(4):
            await world.round()
            world.watch.advance(2_000)
        assert world.rows(PHASES)[-1] == ("waiting_grant",)
        assert world.gateway.problems["grant"]

        await world.settle()
        assert world.platform.texts == ["answer to: hello", "answer to: again"]


async def test_what_waited_more_than_a_day_is_told_and_not_answered(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.say("hello")
        await world.settle()
        world.watch.advance(HOUR_MS)
        world.site.fail_next("unreachable", 8)
        world.say("again")
        for _ in range(3):
            await world.round()
            world.watch.advance(2_000)
        world.watch.advance(25 * HOUR_MS)
        await world.settle()

        assert world.rows(PHASES)[-1] == ("refused",)
        assert world.platform.texts[-1].startswith("A message waited for more than a day")


# --- order and recovery -------------------------------------------------------------------------------------------


async def test_a_turn_that_goes_back_keeps_its_place_before_one_opened_meanwhile(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(calls=(Signal.NOT_CONNECTED,), retry_after_s=60)) as world:
        world.say("first")
        await world.round()
        world.watch.advance(1_500)
        answering = asyncio.ensure_future(world.gateway.answer_due())
        await answering
        world.say("second")
        world.cursor = await world.gateway.poll_once(world.platform, world.cursor)
        await world.gateway.answers()
        await world.settle()

        assert next(text for text in world.platform.texts if text.startswith("answer")).startswith("answer to: first")


async def test_a_crash_while_composing_with_a_newer_turn_waiting_does_not_stop_the_next_start(world: World) -> None:
    world.say("first")
    await world.round()
    await world.store.write(_composing)
    world.say("second")
    world.cursor = await world.gateway.poll_once(world.platform, world.cursor)
    world = world.restarted()
    await world.start()
    await world.settle()

    assert world.platform.texts == ["answer to: first", "answer to: second"]
    world.close()


def _composing(conn: Connection) -> None:
    conn.execute(sql("UPDATE turns SET phase = 'composing'"))


async def test_a_call_found_at_start_is_unknown_charged_in_full_and_told(world: World) -> None:
    stopped = asyncio.Event()

    async def hang(*_: object) -> object:
        stopped.set()
        await asyncio.Event().wait()
        return None

    world.say("hello")
    await world.round()
    world.watch.advance(1_500)
    world.model.answer = hang  # type: ignore[assignment, method-assign]  # a provider that never answers
    await world.gateway.answer_due()
    await stopped.wait()
    tasks = list(world.gateway._tasks)
    assert world.rows(PHASES) == [("calling",)]
    await world.store.write(_forget_tasks, world)
    again = world.restarted()
    await again.start()
    await again.settle()

    assert again.rows(PHASES) == [("unknown",)]
    assert again.rows("SELECT state, cost_micros = reserved_micros FROM attempts") == [("unknown", 1)]
    assert again.platform.texts[0].startswith("I do not know")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    again.close()


def _forget_tasks(_conn: Connection, world: World) -> None:
    world.gateway._running.clear()


@pytest.mark.parametrize("sent", [True, False])
async def test_a_stop_during_a_call_is_unknown_only_if_a_byte_had_left(world: World, sent: bool) -> None:
    calling = asyncio.Event()

    async def hang(_request: object, attempt: object) -> object:
        attempt.sent = sent  # type: ignore[attr-defined]
        calling.set()
        await asyncio.Event().wait()
        return None

    world.say("hello")
    await world.round()
    world.watch.advance(1_500)
    world.model.answer = hang  # type: ignore[assignment, method-assign]  # a provider that never answers
    await world.gateway.answer_due()
    await calling.wait()
    task = next(iter(world.gateway._tasks))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert world.rows(PHASES) == [("unknown" if sent else "ready",)]
    assert world.rows("SELECT state FROM attempts") == [("unknown" if sent else "released",)]


async def test_a_fault_of_ours_ends_the_turn_in_words_instead_of_silence(world: World) -> None:
    async def fail(*_: object) -> object:
        raise KeyError("unforeseen")

    world.model.answer = fail  # type: ignore[assignment, method-assign]  # a client with a fault
    world.say("hello")
    await world.settle()

    assert world.rows(PHASES) == [("unknown",)]
    assert len(world.platform.delivered) == 1
    assert "fault of ours" in world.gateway.problems["answer"]


async def test_words_taken_back_during_the_call_leave_no_answer_behind(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        forgetting = _Forgetful(world)
        world.gateway.answering.__dict__["model"] = forgetting
        world.say("my secret")
        await world.settle()

        assert not any("secret" in text for text in world.platform.texts)
        assert world.rows("SELECT id FROM messages WHERE speaker = 'persona'") == []
        assert ledger(world) == (0, charged(world))


class _Forgetful(ScriptedModel):
    """While it answers, the person forgets."""

    def __init__(self, world: World) -> None:
        super().__init__(world.folder, world.config)
        self._world = world

    async def answer(self, request, attempt=None):  # type: ignore[no-untyped-def]
        self._world.say("/forget")
        self._world.cursor = await self._world.gateway.poll_once(self._world.platform, self._world.cursor)
        return await super().answer(request, attempt)


# --- the circuit breaker ------------------------------------------------------------------------------------------


async def _fail(world: World, times: int) -> None:
    for number in range(times):
        world.say(f"hello {number}")
        await world.settle()


async def test_three_unknown_calls_in_a_row_stop_further_ones_and_say_when_it_goes_on(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(calls=(Signal.CUT_OFF,) * 9)) as world:
        await _fail(world, 5)

        assert len(world.model.calls) == RULE.failures
        assert "failures in a row, 3 allowed, 0 left" in world.platform.texts[-1]
        assert "resets at" in world.platform.texts[-1]


async def test_after_the_cool_down_one_call_tries_and_its_success_closes_the_breaker(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(calls=(Signal.CUT_OFF,) * 3)) as world:
        await _fail(world, 3)
        world.watch.advance(601_000)
        await _fail(world, 2)

        assert world.platform.texts[-2:] == ["answer to: hello 0", "answer to: hello 1"]
        assert await world.store.read(stopped_breakers) == {}


async def test_after_the_cool_down_a_failed_trial_opens_it_again(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(calls=(Signal.CUT_OFF,) * 4)) as world:
        await _fail(world, 3)
        world.watch.advance(601_000)
        await _fail(world, 2)

        assert len(world.model.calls) == 4
        assert "failures in a row" in world.platform.texts[-1]


@pytest.mark.parametrize("signal", [Signal.KEY_REFUSED, Signal.NO_BALANCE])
async def test_a_refused_key_stops_the_provider_until_the_owner_clears_it(tmp_path: Path, signal: Signal) -> None:
    async with a_world(tmp_path, Script(calls=(signal,))) as world:
        await _fail(world, 1)
        world.watch.advance(7 * 24 * HOUR_MS)
        await _fail(world, 1)
        assert len(world.model.calls) == 1
        assert "the owner clears it" in world.platform.texts[-1]
        assert world.gateway.problems["model"]

        asked = Instruction(id="i1", kind="clear_breaker", body={"subject": "provider:openai"})
        results = [
            await world.store.write(carry_out, world.gateway.instructing, asked, world.watch.now()) for _ in range(2)
        ]
        await _fail(world, 1)

        assert results == ["cleared", "cleared"]
        assert world.platform.texts[-1] == "answer to: hello 0"


async def test_one_conversations_failures_do_not_stop_another_before_the_providers_own_count(tmp_path: Path) -> None:
    script = Script(calls=(Signal.CUT_OFF, Signal.CUT_OFF, Signal.ANSWERED, Signal.CUT_OFF))
    async with a_world(tmp_path, script) as world:
        await _fail(world, 2)
        world.say("hello", who="bob")
        await world.settle()
        await _fail(world, 1)
        world.say("and now", who="bob")
        await world.settle()
        await _fail(world, 1)

        assert set(await world.store.read(stopped_breakers)) == {subjects_of(ConversationId(1), "openai").conversation}
        assert world.platform.texts[-2] == "answer to: and now"
        assert "failures in a row" in world.platform.texts[-1]


async def test_a_short_outage_counts_as_one_failure(tmp_path: Path) -> None:
    async with a_world(tmp_path, Script(calls=(Signal.NOT_CONNECTED,) * 3)) as world:
        await _fail(world, 2)

        assert world.rows(PHASES) == [("failed",), ("done",)]


# --- instructions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body", [{}, {"part": "99", "how": "delivered"}, {"part": "one", "how": "delivered"}, {"part": "1", "how": "burn"}]
)
async def test_an_instruction_that_cannot_be_done_says_so_and_stops_nothing(world: World, body: dict[str, str]) -> None:
    asked = Instruction(id="i1", kind="resolve_part", body=body)

    result = await world.store.write(carry_out, world.gateway.instructing, asked, world.watch.now())

    assert result.startswith("not done")
