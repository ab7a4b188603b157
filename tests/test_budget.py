"""Ledger, leases, limits, anomaly guard and breaker: what each allows, refuses, and says."""

from datetime import datetime
from itertools import product
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from core.budget import (
    Admitted,
    AnomalyRule,
    AnomalyState,
    Balance,
    Breaker,
    BreakerRule,
    CallOutcome,
    Change,
    Entry,
    Kind,
    Lease,
    Limit,
    Limits,
    Phase,
    Proof,
    Refusal,
    Rejection,
    RejectionReason,
    Request,
    Usage,
    adjust,
    admit,
    after_change,
    begin_call,
    clear_anomaly,
    clear_breaker,
    close_lease,
    close_report,
    close_request,
    end_call,
    fold,
    judge_day,
    mark_unknown,
    no_usage,
    refusal_text,
    release,
    reserve,
    reserve_in_lease,
    set_cap,
    settle,
    thaw,
)
from core.clock import Instant, instant_of, local_day
from core.errors import BadInput
from core.ids import AttemptId, LeaseId

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOON = instant_of(datetime(2026, 3, 5, 12, 0, tzinfo=SHANGHAI))
A = AttemptId("a")


def changed(outcome: Change | Refusal | Rejection) -> Change:
    assert isinstance(outcome, Change), outcome
    return outcome


def reserved(micros: int, cap: int | None = 100) -> Change:
    return changed(reserve(Balance(cap), [], A, micros))


def reason(outcome: Change | Refusal | Rejection | Balance) -> RejectionReason:
    assert isinstance(outcome, Rejection), outcome
    assert outcome.message
    return outcome.reason


def refused(outcome: Admitted | Refusal) -> Refusal:
    assert isinstance(outcome, Refusal), outcome
    return outcome


# The ledger


def test_a_reserve_up_to_the_cap_is_held_and_one_micro_more_is_refused_with_what_is_left() -> None:
    whole = reserve(Balance(100, held=30, spent=20), [], A, 50)
    over = reserve(Balance(100, held=30, spent=20), [], A, 51)

    assert changed(whole).balance == Balance(100, held=80, spent=20)
    assert over == Refusal(Limit.CAP, allowed=100, left=50, asked=51)


def test_without_a_cap_any_reserve_is_held() -> None:
    assert reserved(10**12, cap=None).balance == Balance(None, held=10**12)


def test_settling_returns_what_was_not_used() -> None:
    opened = reserved(60)

    after = changed(settle(opened.balance, opened.entries, 25))

    assert after.balance == Balance(100, held=0, spent=25)
    assert [entry.kind for entry in after.entries] == [Kind.SETTLE]


def test_a_provider_that_charges_more_is_written_down_and_freezes_the_pool() -> None:
    opened = reserved(60)

    after = changed(settle(opened.balance, opened.entries, 80))

    assert after.balance == Balance(100, held=0, spent=80, frozen=True)
    assert after.entries[1] == Entry(A, Kind.OVERRUN, micros=20, held=0, spent=20)
    again = reserve(after.balance, [], AttemptId("b"), 1)
    assert again == Refusal(Limit.FROZEN, allowed=100, left=0, asked=1)
    assert isinstance(reserve(thaw(after.balance), [], AttemptId("b"), 1), Change)


def test_an_overrun_beyond_the_cap_spends_up_to_the_cap_and_keeps_the_whole_truth_in_its_entry() -> None:
    opened = changed(reserve(Balance(100, held=30), [], A, 60))

    after = changed(settle(opened.balance, opened.entries, 500))

    assert after.balance == Balance(100, held=30, spent=70, frozen=True)
    assert after.entries[1] == Entry(A, Kind.OVERRUN, micros=440, held=0, spent=10)


def test_an_unknown_outcome_is_charged_at_the_full_reserve() -> None:
    opened = reserved(60)

    after = changed(mark_unknown(opened.balance, opened.entries))

    assert after.balance == Balance(100, held=0, spent=60)


@pytest.mark.parametrize("proof", list(Proof))
def test_a_release_gives_everything_back_and_keeps_its_proof(proof: Proof) -> None:
    opened = reserved(60)

    after = changed(release(opened.balance, opened.entries, proof))

    assert after.balance == Balance(100)
    assert after.entries[0].proof is proof


CLOSERS = {
    "settle": lambda balance, past: settle(balance, past, 1),
    "release": lambda balance, past: release(balance, past, Proof.NOT_SENT),
    "unknown": mark_unknown,
}


@pytest.mark.parametrize(("first", "second"), list(product(CLOSERS, CLOSERS)))
def test_a_reservation_is_closed_once_whatever_closes_it(first: str, second: str) -> None:
    opened = reserved(60)
    closed = changed(CLOSERS[first](opened.balance, opened.entries))

    again = CLOSERS[second](closed.balance, (*opened.entries, *closed.entries))

    assert reason(again) is RejectionReason.ALREADY_CLOSED


@pytest.mark.parametrize("closer", list(CLOSERS))
def test_what_was_never_reserved_cannot_be_closed(closer: str) -> None:
    assert reason(CLOSERS[closer](Balance(100), [])) is RejectionReason.NOT_RESERVED


def test_an_id_is_reserved_once() -> None:
    opened = reserved(60)

    assert reason(reserve(opened.balance, opened.entries, A, 1)) is RejectionReason.ALREADY_RESERVED


def test_a_late_settlement_corrects_an_unknown_once() -> None:
    opened = reserved(60)
    unknown = changed(mark_unknown(opened.balance, opened.entries))
    past = (*opened.entries, *unknown.entries)

    late = changed(adjust(unknown.balance, past, 10))

    assert late.balance == Balance(100, spent=10)
    assert late.entries == (Entry(A, Kind.ADJUST, micros=-50, held=0, spent=-50),)
    assert reason(adjust(late.balance, (*past, *late.entries), 0)) is RejectionReason.ALREADY_ADJUSTED


def test_a_late_settlement_over_the_reserve_is_an_overrun_too() -> None:
    opened = reserved(60)
    unknown = changed(mark_unknown(opened.balance, opened.entries))

    late = changed(adjust(unknown.balance, (*opened.entries, *unknown.entries), 70))

    assert late.balance == Balance(100, spent=70, frozen=True)
    assert [entry.kind for entry in late.entries] == [Kind.ADJUST, Kind.OVERRUN]


def test_only_an_unknown_reservation_is_adjusted() -> None:
    opened = reserved(60)
    settled = changed(settle(opened.balance, opened.entries, 60))

    assert reason(adjust(opened.balance, opened.entries, 5)) is RejectionReason.NOT_UNKNOWN
    assert reason(adjust(settled.balance, (*opened.entries, *settled.entries), 5)) is RejectionReason.NOT_UNKNOWN


def test_a_negative_amount_is_bad_input_everywhere() -> None:
    opened = reserved(60)

    with pytest.raises(BadInput, match="-1"):
        reserve(Balance(100), [], A, -1)
    with pytest.raises(BadInput, match="-1"):
        settle(opened.balance, opened.entries, -1)
    with pytest.raises(BadInput, match="-1"):
        adjust(opened.balance, opened.entries, -1)


def test_a_cap_below_what_is_used_is_refused_with_the_lowest_that_can_be_set() -> None:
    used = Balance(100, held=30, spent=20)

    assert set_cap(used, 50) == Balance(50, held=30, spent=20)
    assert set_cap(used, None) == Balance(None, held=30, spent=20)
    low = set_cap(used, 49)
    assert reason(low) is RejectionReason.CAP_BELOW_USED
    assert isinstance(low, Rejection) and "50" in low.message


def test_a_balance_that_breaks_the_law_cannot_be_built() -> None:
    for held, spent in ((-1, 0), (0, -1), (60, 50)):
        with pytest.raises(AssertionError):
            Balance(100, held, spent)


class LedgerMachine(RuleBasedStateMachine):
    """The ledger beside a naive model that keeps one line a reservation and computes everything anew."""

    def __init__(self) -> None:
        super().__init__()
        self.balance = Balance(1_000)
        self.entries: list[Entry] = []
        self.model: dict[str, tuple[str, int, int]] = {}  # id -> state, reserve, real cost

    def past(self, name: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.reservation == name]

    def take(self, outcome: Change | Refusal | Rejection) -> bool:
        if not isinstance(outcome, Change):
            return False
        self.balance = outcome.balance
        self.entries.extend(outcome.entries)
        return True

    def in_state(self, *states: str) -> list[str]:
        return [name for name, (state, _, _) in self.model.items() if state in states]

    @rule(micros=st.integers(0, 400))
    def reserves(self, micros: int) -> None:
        name = f"r{len(self.model)}"
        allowed = not self.balance.frozen and sum(fold(self.entries)) + micros <= 1_000
        assert self.take(reserve(self.balance, [], AttemptId(name), micros)) is allowed
        if allowed:
            self.model[name] = ("held", micros, 0)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), cost=st.integers(0, 600))
    def settles(self, data: st.DataObject, cost: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        state, held, _ = self.model[name]
        assert self.take(settle(self.balance, self.past(name), cost)) is (state == "held")
        if state == "held":
            self.model[name] = ("settled", held, cost)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def becomes_unknown(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        state, held, _ = self.model[name]
        assert self.take(mark_unknown(self.balance, self.past(name))) is (state == "held")
        if state == "held":
            self.model[name] = ("unknown", held, held)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def is_released(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        state, held, _ = self.model[name]
        assert self.take(release(self.balance, self.past(name), Proof.REJECTED)) is (state == "held")
        if state == "held":
            self.model[name] = ("released", held, 0)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), cost=st.integers(0, 600))
    def is_adjusted(self, data: st.DataObject, cost: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        state, held, _ = self.model[name]
        assert self.take(adjust(self.balance, self.past(name), cost)) is (state == "unknown")
        if state == "unknown":
            self.model[name] = ("adjusted", held, cost)

    @precondition(lambda self: self.balance.frozen)
    @rule()
    def owner_thaws(self) -> None:
        self.balance = thaw(self.balance)

    @invariant()
    def the_entries_add_up_to_the_balance(self) -> None:
        assert fold(self.entries) == (self.balance.held, self.balance.spent)

    @invariant()
    def real_cost_is_covered_by_the_ledger_and_its_overruns(self) -> None:
        held = sum(reserve for state, reserve, _ in self.model.values() if state == "held")
        real = sum(cost for state, _, cost in self.model.values() if state != "held")
        beyond = sum(entry.micros - entry.spent for entry in self.entries if entry.kind is Kind.OVERRUN)
        assert self.balance.held == held
        assert self.balance.spent + beyond == real

    @invariant()
    def every_kind_is_written_once_for_a_reservation(self) -> None:
        keys = [(entry.reservation, entry.kind) for entry in self.entries]
        assert len(keys) == len(set(keys))


TestLedgerMachine = LedgerMachine.TestCase


# Leases


def a_lease(spent: int = 0) -> Lease:
    return Lease(granted_micros=100, calls=2, expires_at=Instant(NOON + 600_000), spent=spent)


def opened_in(lease: Lease, attempt: str, micros: int) -> tuple[Lease, Change]:
    outcome = reserve_in_lease(lease, [], AttemptId(attempt), micros, NOON)
    assert isinstance(outcome, tuple), outcome
    return outcome


def test_a_lease_lends_money_and_calls_and_refuses_when_either_is_used_up() -> None:
    lease, _ = opened_in(a_lease(), "a", 70)

    too_dear = reserve_in_lease(lease, [], AttemptId("b"), 31, NOON)
    lease, _ = opened_in(lease, "b", 30)
    too_often = reserve_in_lease(lease, [], AttemptId("c"), 0, NOON)

    assert too_dear == Refusal(Limit.LEASE_MICROS, allowed=100, left=30, asked=31)
    assert too_often == Refusal(Limit.LEASE_CALLS, allowed=2, left=0, asked=1)


def test_an_expired_lease_begins_nothing_but_still_takes_settlements() -> None:
    lease, opened = opened_in(a_lease(), "a", 70)

    refusal = reserve_in_lease(lease, [], AttemptId("b"), 1, lease.expires_at)
    settled = after_change(lease, changed(settle(lease.balance, opened.entries, 20)))

    assert isinstance(refusal, Refusal) and refusal.limit is Limit.LEASE_EXPIRED
    assert (lease.held, settled.held, settled.spent) == (70, 0, 20)


def test_a_released_attempt_gives_its_money_back_but_not_its_call() -> None:
    lease, opened = opened_in(a_lease(), "a", 70)

    lease = after_change(lease, changed(release(lease.balance, opened.entries, Proof.NOT_SENT)))

    assert (lease.held, lease.spent, lease.calls_used) == (0, 0, 1)


def test_a_lease_is_not_closed_while_an_attempt_is_held() -> None:
    lease, _ = opened_in(a_lease(), "a", 70)

    report = close_report(lease)

    assert isinstance(report, Rejection) and report.reason is RejectionReason.STILL_HELD


def test_closing_a_lease_returns_the_unspent_part_to_the_pool() -> None:
    granted = changed(reserve(Balance(500), [], LeaseId("lease"), 100))
    lease, opened = opened_in(a_lease(), "a", 70)
    lease = after_change(lease, changed(settle(lease.balance, opened.entries, 20)))
    report = close_report(lease)
    assert not isinstance(report, Rejection)

    closed = changed(close_lease(granted.balance, granted.entries, report))

    assert (report.spent, report.unspent) == (20, 80)
    assert closed.balance == Balance(500, spent=20)
    again = close_lease(closed.balance, (*granted.entries, *closed.entries), report)
    assert reason(again) is RejectionReason.ALREADY_CLOSED


def test_a_lease_reported_after_its_write_off_corrects_the_write_off() -> None:
    granted = changed(reserve(Balance(500), [], LeaseId("lease"), 100))
    written_off = changed(mark_unknown(granted.balance, granted.entries))
    assert written_off.balance.spent == 100
    report = close_report(a_lease(spent=30))
    assert not isinstance(report, Rejection)

    late = changed(close_lease(written_off.balance, (*granted.entries, *written_off.entries), report))

    assert late.balance == Balance(500, spent=30)


@pytest.mark.parametrize(("cost", "spent"), [(90, 90), (250, 250)])
def test_an_overrun_inside_a_lease_reaches_the_pool_and_freezes_it(cost: int, spent: int) -> None:
    granted = changed(reserve(Balance(500), [], LeaseId("lease"), 100))
    lease, opened = opened_in(a_lease(), "a", 70)
    lease = after_change(lease, changed(settle(lease.balance, opened.entries, cost)))
    report = close_report(lease)
    assert not isinstance(report, Rejection)

    closed = changed(close_lease(granted.balance, granted.entries, report))

    assert closed.balance == Balance(500, spent=spent, frozen=True)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 90), st.sampled_from(["settle", "release", "unknown"]))))
def test_a_lease_never_returns_more_than_it_did_not_spend(calls: list[tuple[int, int, str]]) -> None:
    lease = Lease(granted_micros=200, calls=10, expires_at=Instant(NOON + 1))
    real = 0
    for number, (micros, cost, how) in enumerate(calls):
        outcome = reserve_in_lease(lease, [], AttemptId(str(number)), micros, NOON)
        if not isinstance(outcome, tuple):
            continue
        lease, opened = outcome
        balance, past = lease.balance, opened.entries
        closing = {
            "settle": settle(balance, past, cost),
            "release": release(balance, past, Proof.NOT_SENT),
            "unknown": mark_unknown(balance, past),
        }[how]
        lease = after_change(lease, changed(closing))
        real += {"settle": cost, "release": 0, "unknown": micros}[how]

    report = close_report(lease)

    assert not isinstance(report, Rejection)
    assert report.spent == real
    assert report.unspent == max(0, 200 - real)


# Limits

A_CALL = Request(tokens=1_000, output_tokens=200, micros=50)
BITES: list[tuple[Limit, Limits, Usage]] = [
    (Limit.REQUESTS_PER_MINUTE, Limits(requests_per_minute=3), Usage("", 0, requests_this_minute=3)),
    (Limit.REQUESTS_PER_DAY, Limits(requests_per_day=3), Usage("", 0, requests_today=3)),
    (Limit.CONCURRENCY, Limits(concurrency=3), Usage("", 0, running=3)),
    (Limit.TOKENS_PER_DAY, Limits(tokens_per_day=2_500), Usage("", 0, tokens_today=1_501)),
    (Limit.MICROS_PER_DAY, Limits(micros_per_day=100), Usage("", 0, micros_today=51)),
    (Limit.OUTPUT_TOKENS, Limits(output_tokens=199), Usage("", 0)),
]


def used_now(usage: Usage, **changes: int) -> Usage:
    values = {name: getattr(usage, name) for name in Usage.__slots__} | changes
    values |= {"day": local_day(NOON, SHANGHAI), "minute": NOON // 60_000}
    return Usage(**values)


@pytest.mark.parametrize(("limit", "limits", "usage"), BITES)
def test_every_limit_bites_and_says_which_one_it_is(limit: Limit, limits: Limits, usage: Usage) -> None:
    refusal = refused(admit(limits, used_now(usage), A_CALL, NOON, SHANGHAI))

    assert refusal.limit is limit
    assert refusal.left < refusal.asked <= refusal.left + refusal.allowed
    for language in ("zh", "en"):
        text = refusal_text(refusal, language, SHANGHAI)
        assert text.count("Over the limit") == (language == "en")
        assert text.count("超出限额") == (language == "zh")


@pytest.mark.parametrize(("limit", "limits", "usage"), BITES[:5])
def test_every_limit_of_the_pool_admits_the_last_request_that_fits(limit: Limit, limits: Limits, usage: Usage) -> None:
    counter = {
        Limit.REQUESTS_PER_MINUTE: ("requests_this_minute", 2),
        Limit.REQUESTS_PER_DAY: ("requests_today", 2),
        Limit.CONCURRENCY: ("running", 2),
        Limit.TOKENS_PER_DAY: ("tokens_today", 1_500),
        Limit.MICROS_PER_DAY: ("micros_today", 50),
    }[limit]

    outcome = admit(limits, used_now(usage, **dict([counter])), A_CALL, NOON, SHANGHAI)

    assert isinstance(outcome, Admitted)
    assert isinstance(admit(limits, outcome.usage, A_CALL, NOON, SHANGHAI), Refusal)


def test_without_limits_everything_is_admitted_and_counted() -> None:
    outcome = admit(Limits(), no_usage(NOON, SHANGHAI), A_CALL, NOON, SHANGHAI)

    assert isinstance(outcome, Admitted)
    assert outcome.usage == used_now(
        Usage("", 0, requests_this_minute=1, requests_today=1, tokens_today=1_000, micros_today=50, running=1)
    )


def test_a_limit_of_zero_forbids() -> None:
    assert isinstance(admit(Limits(requests_per_day=0), no_usage(NOON, SHANGHAI), A_CALL, NOON, SHANGHAI), Refusal)


def test_a_day_limit_resets_at_the_owners_midnight_and_a_minute_limit_at_the_next_minute() -> None:
    full = used_now(Usage("", 0, requests_this_minute=3, requests_today=3))
    midnight = instant_of(datetime(2026, 3, 6, tzinfo=SHANGHAI))

    by_day = refused(admit(Limits(requests_per_day=3), full, A_CALL, NOON, SHANGHAI))
    by_minute = refused(admit(Limits(requests_per_minute=3), full, A_CALL, NOON, SHANGHAI))

    assert (by_day.resets_at, by_minute.resets_at) == (midnight, NOON + 60_000)
    for refusal, limits in ((by_day, Limits(requests_per_day=3)), (by_minute, Limits(requests_per_minute=3))):
        assert refusal.resets_at is not None
        assert isinstance(admit(limits, full, A_CALL, Instant(refusal.resets_at - 1), SHANGHAI), Refusal)
        assert isinstance(admit(limits, full, A_CALL, refusal.resets_at, SHANGHAI), Admitted)


def test_of_several_limits_the_one_that_takes_longest_is_named() -> None:
    full = used_now(Usage("", 0, requests_this_minute=3, requests_today=3, running=3))
    limits = Limits(requests_per_minute=3, requests_per_day=3, concurrency=3)

    assert refused(admit(limits, full, A_CALL, NOON, SHANGHAI)).limit is Limit.REQUESTS_PER_DAY


def test_a_clock_that_moves_back_over_midnight_does_not_open_the_day_again() -> None:
    full = used_now(Usage("", 0, requests_today=3))
    yesterday = Instant(NOON - 86_400_000)

    refusal = refused(admit(Limits(requests_per_day=3), full, A_CALL, yesterday, SHANGHAI))

    assert refusal.resets_at == instant_of(datetime(2026, 3, 6, tzinfo=SHANGHAI))


def test_a_clock_that_was_years_ahead_does_not_block_for_years() -> None:
    full = Usage("2031-01-01", 0, requests_today=3, running=1)

    outcome = admit(Limits(requests_per_day=3), full, A_CALL, NOON, SHANGHAI)

    assert isinstance(outcome, Admitted)
    assert (outcome.usage.requests_today, outcome.usage.running) == (1, 2)


def test_the_end_of_a_request_corrects_the_day_it_was_reserved_on() -> None:
    admitted = admit(Limits(), no_usage(NOON, SHANGHAI), A_CALL, NOON, SHANGHAI)
    assert isinstance(admitted, Admitted)

    ended = close_request(admitted.usage, "2026-03-05", A_CALL, tokens=300, micros=20)

    assert (ended.tokens_today, ended.micros_today, ended.running, ended.requests_today) == (300, 20, 0, 1)


def test_a_request_that_ends_on_a_later_day_leaves_that_days_counters_alone() -> None:
    tomorrow = Usage("2026-03-06", 1, tokens_today=500, micros_today=9, running=1)

    ended = close_request(tomorrow, "2026-03-05", A_CALL, tokens=5_000, micros=700)

    assert ended == Usage("2026-03-06", 1, tokens_today=500, micros_today=9, running=0)


# What people are told


def test_every_limit_has_a_text_in_both_languages_with_its_figures_and_its_reset() -> None:
    for limit in Limit:
        for reset in (None, NOON):
            refusal = Refusal(limit, allowed=7_000_000, left=2_500_000, asked=3_000_000, resets_at=reset)
            zh = refusal_text(refusal, "zh", SHANGHAI)
            en = refusal_text(refusal, "en", SHANGHAI)
            money = "2.50" in en
            assert all(figure in zh and figure in en for figure in (("7.00", "3.00") if money else ("7000000",)))
            assert ("2026-03-05 12:00" in zh) is ("2026-03-05 12:00" in en) is (reset is not None)
            assert en.isascii() and not zh.isascii()


def test_the_minute_that_is_shown_is_never_before_the_reset() -> None:
    refusal = Refusal(Limit.BREAKER, allowed=3, left=0, asked=1, resets_at=Instant(NOON + 1))

    assert "12:01" in refusal_text(refusal, "en", SHANGHAI)


# The anomaly guard

GUARD = AnomalyRule(factor=3, floor_tokens=1_000, days=3)


@pytest.mark.parametrize(
    ("earlier", "threshold"),
    [([], 1_000), ([0, 0, 0], 1_000), ([400, 500, 600], 1_500), ([9_999, 400, 500, 600], 1_500)],
)
def test_a_day_trips_above_a_multiple_of_the_median_and_never_below_the_floor(
    earlier: list[int], threshold: int
) -> None:
    _, fits = judge_day(GUARD, AnomalyState(), "2026-03-05", threshold - 10, 10, earlier)
    state, trips = judge_day(GUARD, AnomalyState(), "2026-03-05", threshold - 10, 11, earlier)

    assert fits is None
    assert trips == Refusal(Limit.ANOMALY, allowed=threshold, left=10, asked=11)
    assert state.tripped_on == "2026-03-05"


def test_a_tripped_guard_stays_over_midnight_until_the_owner_clears_it() -> None:
    tripped = AnomalyState(tripped_on="2026-03-05")

    _, refusal = judge_day(GUARD, tripped, "2026-03-06", 0, 1, [])
    _, cleared = judge_day(GUARD, clear_anomaly("2026-03-06"), "2026-03-06", 50_000, 1, [])
    _, next_day = judge_day(GUARD, clear_anomaly("2026-03-06"), "2026-03-07", 50_000, 1, [])

    assert refusal is not None
    assert cleared is None
    assert next_day is not None


# The breaker

THREE = BreakerRule(failures=3, cool_down_ms=1_000)


def after_failures(count: int, policy: BreakerRule = THREE) -> Breaker:
    breaker = Breaker()
    for outcome in [CallOutcome.FAILED, CallOutcome.UNKNOWN, CallOutcome.FAILED][:count]:
        breaker = end_call(breaker, policy, outcome, NOON)
    return breaker


def test_failures_and_unknowns_in_a_row_open_the_breaker_and_an_answer_forgets_them() -> None:
    almost = after_failures(2)
    answered = end_call(almost, THREE, CallOutcome.ANSWERED, NOON)

    assert begin_call(almost, THREE, NOON) == (almost, None)
    assert answered == Breaker()
    assert after_failures(3) == Breaker(Phase.OPEN, 3, Instant(NOON + 1_000))


def test_an_open_breaker_says_until_when_and_then_lets_one_call_try() -> None:
    opened = after_failures(3)

    _, refusal = begin_call(opened, THREE, Instant(NOON + 999))
    trial, admitted = begin_call(opened, THREE, Instant(NOON + 1_000))
    _, second = begin_call(trial, THREE, Instant(NOON + 1_000))

    assert refusal == Refusal(Limit.BREAKER, allowed=3, left=0, asked=1, resets_at=Instant(NOON + 1_000))
    assert admitted is None and trial.phase is Phase.TRIAL
    assert second is not None


def test_a_trial_closes_the_breaker_or_opens_it_anew() -> None:
    trial, _ = begin_call(after_failures(3), THREE, Instant(NOON + 1_000))

    answered = end_call(trial, THREE, CallOutcome.ANSWERED, Instant(NOON + 2_000))
    failed = end_call(trial, THREE, CallOutcome.UNKNOWN, Instant(NOON + 2_000))

    assert answered == Breaker()
    assert failed == Breaker(Phase.OPEN, 4, Instant(NOON + 3_000))


@pytest.mark.parametrize("phase", list(Phase))
def test_a_wrong_key_or_no_credit_stays_open_until_the_owner_clears_it(phase: Phase) -> None:
    locked = end_call(Breaker(phase, 1, Instant(NOON + 1)), THREE, CallOutcome.DENIED, NOON)

    _, refusal = begin_call(locked, THREE, Instant(NOON + 10**12))

    assert refusal is not None and refusal.resets_at is None
    assert begin_call(clear_breaker(), THREE, NOON) == (Breaker(), None)


def test_without_a_cool_down_only_the_owner_clears_it() -> None:
    opened = after_failures(3, BreakerRule(failures=3, cool_down_ms=None))

    _, refusal = begin_call(opened, THREE, Instant(NOON + 10**12))

    assert opened.until is None and refusal is not None


@pytest.mark.parametrize("outcome", [CallOutcome.ANSWERED, CallOutcome.FAILED, CallOutcome.UNKNOWN])
def test_a_call_begun_before_the_breaker_opened_changes_nothing(outcome: CallOutcome) -> None:
    opened = after_failures(3)

    assert end_call(opened, THREE, outcome, Instant(NOON + 500)) == opened
