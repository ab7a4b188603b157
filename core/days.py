"""Local days and wall times of a zone, where clocks are put forward, put back, or skip a day.

A wall time that comes twice means the first time; one that does not exist is read with the offset from before the gap,
so it falls as much later as the clock was put forward (what RFC 5545 does for calendars).
"""

from datetime import date, datetime, time
from zoneinfo import ZoneInfo

from .clock import Instant, instant_of, local_day

_DAY_MS = 86_400_000


def wall_instant(day: date, at: time, zone: ZoneInfo) -> Instant:
    """The instant at which the clocks of a zone show `at` on `day`.

    >>> new_york, day = ZoneInfo("America/New_York"), date(2026, 3, 8)
    >>> wall_instant(day, time(2, 30), new_york) == wall_instant(day, time(3, 30), new_york)
    True
    """
    return instant_of(datetime.combine(day, at.replace(fold=0), zone))


def day_exists(day: date, zone: ZoneInfo) -> bool:
    """False for a day that the calendar of a zone left out.

    >>> day_exists(date(2011, 12, 30), ZoneInfo("Pacific/Apia"))
    False
    """
    return local_day(start_of_day(day, zone), zone) == day.isoformat()


def start_of_day(day: date, zone: ZoneInfo) -> Instant:
    """The first instant of a local day, where midnight may be missing, double, or lie in a day that does not exist.

    >>> cairo = ZoneInfo("Africa/Cairo")
    >>> datetime.fromtimestamp(start_of_day(date(2026, 4, 24), cairo) / 1000, cairo).isoformat()
    '2026-04-24T01:00:00+03:00'
    """
    start = wall_instant(day, time(), zone)
    if local_day(start, zone) == day.isoformat() and local_day(Instant(start - 1), zone) < day.isoformat():
        return start
    return _first_instant_on_or_after(day, zone, start)


def _first_instant_on_or_after(day: date, zone: ZoneInfo, near: Instant) -> Instant:
    """Midnight fell into a gap: the day begins where the gap ends. Halve the time around it until that is found."""
    before, after = near - 2 * _DAY_MS, near + 2 * _DAY_MS
    while after - before > 1:
        middle = (before + after) // 2
        if local_day(Instant(middle), zone) >= day.isoformat():
            after = middle
        else:
            before = middle
    return Instant(after)
