"""Every slot of a local day is due exactly once, in every zone, whatever its clocks do."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.clock import Instant, instant_of, local_day, local_time
from core.days import day_exists, start_of_day, wall_instant
from core.errors import BadInput
from core.slots import GRACE_MS, Slot, decide_due, due_slots

TIMES = [time(0), time(0, 30), time(2, 30), time(12), time(23, 59)]
DAY_MS = 86_400_000
ZONES = sorted(available_timezones())


def utc(*moment: int) -> Instant:
    return instant_of(datetime(*moment, tzinfo=UTC))  # type: ignore[misc, arg-type]


def weeks_with_a_change(zone: ZoneInfo) -> list[datetime]:
    """Mondays of 2024 to 2030 in whose week the offset changes, and one quiet week a year."""
    first = datetime(2024, 1, 1, tzinfo=UTC)
    mondays = [first + timedelta(weeks=number) for number in range(366)]
    offsets = [monday.astimezone(zone).utcoffset() for monday in mondays]
    changing = [monday for monday, (before, after) in zip(mondays, pairwise(offsets), strict=False) if before != after]
    return changing + mondays[:365:52]


def wall_exists(day: str, label: str, zone: ZoneInfo) -> bool:
    wall = datetime.fromisoformat(f"{day}T{label}")
    return wall.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None) == wall


def check_week(zone: ZoneInfo, monday: datetime) -> None:
    since, until = instant_of(monday - timedelta(days=1)), instant_of(monday + timedelta(days=8))
    slots = due_slots(TIMES, zone, since, until)
    keys = [(slot.day, slot.label) for slot in slots]
    inner = [(monday + timedelta(days=number)).date().isoformat() for number in range(1, 6)]
    expected = [(day, f"{moment:%H:%M}") for day in inner for moment in TIMES]
    assert len(keys) == len(set(keys)), (zone.key, monday)
    assert sorted(key for key in keys if key[0] in inner) == expected, (zone.key, monday)
    for slot in slots:
        shown = f"{local_time(slot.instant, zone):%Y-%m-%d %H:%M}"
        assert (shown == f"{slot.day} {slot.label}") is wall_exists(slot.day, slot.label, zone), (zone.key, slot)


def test_every_slot_is_due_once_a_local_day_in_every_zone_from_2024_to_2030() -> None:
    weeks = 0
    for name in ZONES:
        zone = ZoneInfo(name)
        for monday in weeks_with_a_change(zone):
            check_week(zone, monday)
            weeks += 1

    assert len(ZONES) > 400
    assert weeks > 6_000


@given(
    zone=st.sampled_from(ZONES).map(ZoneInfo),
    start=st.integers(int(utc(2024, 1, 1)), int(utc(2030, 12, 1))),
    steps=st.lists(st.integers(0, 3 * DAY_MS), max_size=12),
    times=st.lists(st.times().map(lambda t: t.replace(second=0, microsecond=0)), max_size=4),
)
def test_waking_up_at_any_moments_neither_loses_nor_repeats_a_slot(
    zone: ZoneInfo, start: int, steps: list[int], times: list[time]
) -> None:
    moments = [start]
    for step in steps:
        moments.append(moments[-1] + step)

    in_pieces = [
        slot for since, until in pairwise(moments) for slot in due_slots(times, zone, Instant(since), Instant(until))
    ]

    assert in_pieces == due_slots(times, zone, Instant(moments[0]), Instant(moments[-1]))


@pytest.mark.parametrize(
    ("zone", "day", "at", "expected"),
    [
        ("America/New_York", date(2026, 3, 8), time(2, 30), utc(2026, 3, 8, 7, 30)),  # skipped: 03:30 by the new clock
        ("America/New_York", date(2026, 11, 1), time(1, 30), utc(2026, 11, 1, 5, 30)),  # comes twice: the first
        ("Africa/Cairo", date(2026, 4, 24), time(0), utc(2026, 4, 23, 22, 0)),  # missing midnight
        ("Australia/Lord_Howe", date(2026, 10, 4), time(2, 15), utc(2026, 10, 3, 15, 45)),  # a change of half an hour
        ("Asia/Kathmandu", date(2026, 1, 1), time(21), utc(2026, 1, 1, 15, 15)),
        ("Asia/Shanghai", date(2026, 1, 1), time(21), utc(2026, 1, 1, 13, 0)),
    ],
)
def test_a_skipped_time_is_due_later_and_a_double_one_the_first_time(
    zone: str, day: date, at: time, expected: Instant
) -> None:
    slots = due_slots([at], ZoneInfo(zone), Instant(expected - 12 * 3_600_000), Instant(expected + 11 * 3_600_000))

    assert slots == [Slot(day.isoformat(), f"{at:%H:%M}", expected)]


def test_a_day_that_does_not_exist_has_no_slots() -> None:
    samoa = ZoneInfo("Pacific/Apia")

    slots = due_slots([time(9), time(21)], samoa, utc(2011, 12, 29, 12), utc(2011, 12, 31, 9))

    assert [(slot.day[5:], slot.label) for slot in slots] == [
        ("12-29", "09:00"),
        ("12-29", "21:00"),
        ("12-31", "09:00"),
        ("12-31", "21:00"),
    ]
    assert not day_exists(date(2011, 12, 30), samoa)


def test_a_time_that_a_change_over_midnight_skips_is_due_on_the_day_after_it() -> None:
    toronto, half_past_midnight = ZoneInfo("America/Toronto"), utc(1919, 3, 31, 4, 30)

    slots = due_slots([time(23, 45)], toronto, half_past_midnight, Instant(half_past_midnight + 3_600_000))

    assert slots == [Slot("1919-03-30", "23:45", Instant(half_past_midnight + 900_000))]


def test_a_slot_belongs_to_the_span_that_ends_with_it() -> None:
    zone = ZoneInfo("Asia/Shanghai")
    nine = wall_instant(date(2026, 1, 1), time(9), zone)

    assert len(due_slots([time(9)], zone, Instant(nine - 1), nine)) == 1
    assert due_slots([time(9)], zone, nine, Instant(nine + 1)) == []
    assert due_slots([time(9)], zone, nine, Instant(nine - DAY_MS * 3)) == []
    assert due_slots([], zone, Instant(0), nine) == []


def test_a_time_written_twice_is_one_slot() -> None:
    zone = ZoneInfo("Asia/Shanghai")

    assert len(due_slots([time(9), time(9), time(9, fold=1)], zone, Instant(0), Instant(DAY_MS))) == 1


@pytest.mark.parametrize("moment", [time(9, 0, 1), time(9, 0, 0, 1), time(9, tzinfo=UTC)])
def test_a_time_that_is_not_local_hours_and_minutes_is_refused(moment: time) -> None:
    with pytest.raises(BadInput, match="09:00:0"):
        due_slots([moment], ZoneInfo("Asia/Shanghai"), Instant(0), Instant(DAY_MS))


def test_a_missed_slot_is_run_or_told_as_the_owner_set_it() -> None:
    slot = Slot("2026-01-01", "09:00", Instant(1_000))
    late = Instant(slot.instant + GRACE_MS + 1)

    assert decide_due(slot, late, "tell") == "tell"
    assert decide_due(slot, late, "run") == "run"
    assert decide_due(slot, Instant(late - 1), "tell") == "run"


def test_a_local_day_is_the_day_of_its_slots_even_on_the_far_side_of_the_world() -> None:
    for name in ("Pacific/Kiritimati", "Etc/GMT+12"):
        zone = ZoneInfo(name)
        for slot in due_slots(TIMES, zone, utc(2026, 1, 1), utc(2026, 1, 3)):
            assert local_day(slot.instant, zone) == slot.day


@pytest.mark.parametrize(
    ("zone", "day", "expected"),
    [
        ("Asia/Kathmandu", date(2026, 1, 2), utc(2026, 1, 1, 18, 15)),
        ("Africa/Cairo", date(2026, 4, 24), utc(2026, 4, 23, 22, 0)),  # 00:00 to 01:00 is missing
        ("America/Havana", date(2026, 11, 1), utc(2026, 11, 1, 4, 0)),  # 00:00 to 01:00 comes twice
        ("Pacific/Apia", date(2011, 12, 30), utc(2011, 12, 30, 10, 0)),  # the day does not exist
        ("Pacific/Apia", date(2011, 12, 31), utc(2011, 12, 30, 10, 0)),
        ("America/Toronto", date(1919, 3, 31), utc(1919, 3, 31, 4, 30)),  # 23:30 to 00:30 is missing
    ],
)
def test_a_local_day_begins_where_its_zone_says(zone: str, day: date, expected: Instant) -> None:
    start = start_of_day(day, ZoneInfo(zone))

    assert start == expected
    assert local_day(Instant(start - 1), ZoneInfo(zone)) < day.isoformat() <= local_day(start, ZoneInfo(zone))
