"""Time comes from here, so that decisions never read a clock and tests can turn one.

An instant is a whole number of milliseconds since 1970-01-01T00:00Z: it sorts, it stores as an INTEGER, and it
carries no zone. Zones appear only where a person reads or writes a time.
"""

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NewType
from zoneinfo import ZoneInfo

Instant = NewType("Instant", int)

Clock = Callable[[], Instant]


def system_clock() -> Instant:
    return Instant(time.time_ns() // 1_000_000)


def instant_of(moment: datetime) -> Instant:
    """Milliseconds of an aware datetime.

    >>> instant_of(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000
    """
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no zone: an instant needs one")
    return Instant(round(moment.timestamp() * 1000))


def local_time(at: Instant, zone: ZoneInfo) -> datetime:
    """
    >>> local_time(Instant(0), ZoneInfo("Asia/Shanghai")).isoformat()
    '1970-01-01T08:00:00+08:00'
    """
    return datetime.fromtimestamp(at / 1000, UTC).astimezone(zone)


def local_day(at: Instant, zone: ZoneInfo) -> str:
    """The calendar day, as ISO 8601, on which a person in `zone` lives at that instant.

    >>> local_day(Instant(57_600_000), ZoneInfo("Asia/Shanghai"))
    '1970-01-02'
    """
    return local_time(at, zone).date().isoformat()
