"""Days that a message names, in Chinese and English, resolved on the owner's calendar. Pure.

A day without a year is the latest one that is not after today, because memory holds the past only: days to come resolve
to nothing. The rules are the two tables at the end; a text may name several.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta

from core.text.normalise import normalise


@dataclass(frozen=True, slots=True)
class NamedDays:
    """From the first to the last day, both included, as proleptic ordinals (`date.toordinal`)."""

    first: int
    last: int
    earlier: tuple["NamedDays", ...] = ()
    """The same days of the years before, newest first, when no year was named: the talk may be older than a year."""

    @property
    def count(self) -> int:
        return self.last - self.first + 1


def named_days(text: str, today: date) -> tuple[NamedDays, ...]:
    """
    >>> today = date(2024, 5, 8)
    >>> days = lambda text: [(str(date.fromordinal(d.first)), d.count) for d in named_days(text, today)]
    >>> days("5月6號我們聊了什麼？昨天呢？")
    [('2024-05-06', 1), ('2024-05-07', 1)]
    >>> days("what did I say on June 3rd and last week")
    [('2023-06-03', 1), ('2024-04-29', 7)]
    >>> days("31 February, 99月99日, tomorrow")
    []
    """
    found: list[NamedDays] = []
    rest = normalise(text)
    if not _HINT.search(rest):
        return ()
    for pattern, resolve in _RULES:
        for match in pattern.finditer(rest):
            days = _resolved(resolve, match, today)
            if days is not None and days not in found:
                found.append(days)
        rest = pattern.sub(" ", rest)
    return tuple(found)


Resolve = Callable[[re.Match[str], date], NamedDays | None]


def _resolved(resolve: Resolve, match: re.Match[str], today: date) -> NamedDays | None:
    """None for a day that no calendar has, and for days to come."""
    try:
        days = resolve(match, today)
    except (ValueError, OverflowError):
        return None
    if days is None or days.first > today.toordinal():
        return None
    return days


def _days(first: date, count: int = 1) -> NamedDays:
    return NamedDays(first.toordinal(), first.toordinal() + count - 1)


def _number(digits: str) -> int:
    """
    >>> [_number(digits) for digits in ("7", "十", "十二", "二十", "三十一", "两", "a")]
    [7, 10, 12, 20, 31, 2, 1]
    """
    if digits.isdecimal():
        return int(digits)
    if digits in _ENGLISH_NUMBERS:
        return _ENGLISH_NUMBERS[digits]
    tens, ten, ones = digits.rpartition("十")
    return (_CHINESE_NUMBERS.get(tens, 1) * 10 if ten else 0) + _CHINESE_NUMBERS.get(ones, 0)


def _calendar_day(match: re.Match[str], today: date) -> NamedDays | None:
    month, day = _month(match["month"]), _number(match["day"])
    if match["year"]:
        return _days(date(int(match["year"]), month, day))
    years = [year for year in _years(today) if _exists(year, month, day) and date(year, month, day) <= today]
    return _latest([_days(date(year, month, day)) for year in years])


def _calendar_month(match: re.Match[str], today: date) -> NamedDays | None:
    month = _month(match["month"])
    years = [int(match["year"])] if match["year"] else [y for y in _years(today) if date(y, month, 1) <= today]
    return _latest([_days(date(year, month, 1), monthrange(year, month)[1]) for year in years])


def _years(today: date) -> range:
    """This year and those before; eight, so that a 29 February is among them."""
    return range(today.year, max(today.year - 9, 0), -1)


def _latest(days: list[NamedDays]) -> NamedDays | None:
    return replace(days[0], earlier=tuple(days[1:])) if days else None


def _exists(year: int, month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]


def _month(name: str) -> int:
    return _MONTHS[name[:3]] if name[:3] in _MONTHS else _number(name)


def _day_of_month(match: re.Match[str], today: date) -> NamedDays | None:
    day = _number(match["day"])
    first = today.replace(day=1)
    while not (_exists(first.year, first.month, day) and first.replace(day=day) <= today):
        first = (first - timedelta(days=1)).replace(day=1)
        if not 1 <= day <= 31:
            return None
    return _days(first.replace(day=day))


def _last_month(_: re.Match[str], today: date) -> NamedDays:
    last = today.replace(day=1) - timedelta(days=1)
    return _days(last.replace(day=1), last.day)


def _ago(match: re.Match[str], today: date) -> NamedDays:
    number, unit = _number(match["number"]), match["unit"]
    if unit.startswith(("天", "日", "d")):
        return _days(today - timedelta(days=number))
    if unit.startswith(("月", "mo")):
        return _days(today - timedelta(days=30 * number + 10), 21)
    return _days(today - timedelta(days=7 * number + 2), 5)


def _back(days: int, count: int = 1) -> Resolve:
    return lambda _, today: _days(today - timedelta(days=days), count)


def _week(back: int) -> Resolve:
    """Monday to Sunday, `back` weeks ago."""
    return lambda _, today: _days(today - timedelta(days=today.weekday() + 7 * back), 7)


def _weekend(_: re.Match[str], today: date) -> NamedDays:
    return _days(today - timedelta(days=today.weekday() + 2), 2)


def _weekday(match: re.Match[str], today: date) -> NamedDays:
    """上 is the week before this one; in English, and without a word, it is the latest such day before today."""
    weekday = _WEEKDAYS[match["weekday"][:3]]
    if match["when"].startswith("上"):
        return _days(today - timedelta(days=today.weekday() + 7 * len(re.findall("上", match["when"])) - weekday))
    if match["when"].startswith(("这", "本", "this")):
        return _days(today - timedelta(days=today.weekday() - weekday))
    return _days(today - timedelta(days=(today.weekday() - weekday - 1) % 7 + 1))


_CHINESE_NUMBERS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_ENGLISH_NUMBERS = {
    word: value
    for value, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())  # noqa: SIM905
} | {"a": 1, "an": 1, "a couple of": 2}
_MONTHS = {name: number for number, name in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}  # noqa: SIM905
_WEEKDAYS = {name: number for number, name in enumerate("mon tue wed thu fri sat sun".split())} | {  # noqa: SIM905
    **{name: number for number, name in enumerate("一二三四五六日")},
    **{name: number for number, name in enumerate("1234567")},
    "天": 6,
}

_ZH = r"\d{1,2}|[一二三四五六七八九十]{1,3}"
_EN_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_EN_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_EN_NUMBER = r"(?P<number>\d{1,3}|a couple of|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_EN_WEEKDAY = r"(?P<weekday>mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)"

_CHINESE: tuple[tuple[str, Resolve], ...] = (
    (rf"(?:(?P<year>\d{{4}})年)?(?P<month>{_ZH})月(?P<day>{_ZH})(?:[日号]|(?!\d))", _calendar_day),
    (rf"(?:(?P<year>\d{{4}})年)?(?<!个)(?<!\d)(?P<month>{_ZH})月份?", _calendar_month),
    (r"(?P<number>\d{1,3}|[一二两三四五六七八九十]{1,3})个?(?P<unit>天|日|周|星期|礼拜|月)(?:以)?前", _ago),
    (r"大前天", _back(3)),
    (r"前天", _back(2)),
    (r"昨[天晚日夜]", _back(1)),
    (r"今[天晚早日]", _back(0)),
    (r"前几天|这几天|最近几天", _back(7, 8)),
    (r"(?P<when>上上个?|上个?|这个?|本|)(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天1-7])", _weekday),
    (r"上个?周末", _weekend),
    (r"上上个?(?:周|星期|礼拜)", _week(2)),
    (r"上个?(?:周|星期|礼拜)", _week(1)),
    (r"(?:这个?|本)(?:周|星期|礼拜)", _week(0)),
    (r"上个?月", _last_month),
    (rf"(?<![\d月])(?P<day>{_ZH})[号日](?![线楼院])", _day_of_month),
)

_ENGLISH: tuple[tuple[str, Resolve], ...] = (
    (r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})(?!\d)", _calendar_day),
    (rf"\b{_EN_MONTH} (?:the )?{_EN_DAY}\b(?:,? (?P<year>\d{{4}}))?", _calendar_day),
    (rf"\b{_EN_DAY} (?:of )?{_EN_MONTH}\b(?:,? (?P<year>\d{{4}}))?", _calendar_day),
    (rf"\b{_EN_MONTH},? (?P<year>\d{{4}})\b", _calendar_month),
    (rf"\b(?:in|last|during|early|late) {_EN_MONTH}\b(?P<year>)", _calendar_month),
    (rf"\b{_EN_NUMBER} (?P<unit>days?|weeks?|months?) ago\b", _ago),
    (r"\bday before yesterday\b", _back(2)),
    (r"\byesterday\b|\blast night\b", _back(1)),
    (r"\btoday\b|\bthis (?:morning|afternoon|evening)\b|\btonight\b", _back(0)),
    (r"\b(?:the other day|(?:the )?(?:last|past) few days)\b", _back(7, 8)),
    (rf"\b(?P<when>last|this|on|) ?{_EN_WEEKDAY}\b", _weekday),
    (r"\blast weekend\b", _weekend),
    (r"\blast week\b", _week(1)),
    (r"\bthis week\b", _week(0)),
    (r"\blast month\b", _last_month),
)

# One quick look before thirty rules: every rule needs one of these.
_HINT = re.compile(
    r"[\d月日号天周]|昨|今|星期|礼拜|day|night|week|month|this|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
)

_RULES = tuple((re.compile(pattern), resolve) for pattern, resolve in (*_CHINESE, *_ENGLISH))
