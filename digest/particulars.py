"""What in a sentence can be checked against its sources: quotes, numbers, and words that look like names.

Finding names without a model is a heuristic. It is meant to be quiet on ordinary sentences and to catch what invented
facts usually bring along: a full name, a title and surname, a city, a Latin word in a Chinese sentence, a capital
letter inside an English one. The owner's review remains the last check.
"""

import re
import unicodedata
from collections.abc import Iterable

from .words import EN_ONES, EN_TENS, ORDINARY, PLACES, SURNAMES, TITLES, ZH_WORDS

_QUOTES = {"“": "”", "「": "」", "『": "』", '"': '"'}
_QUOTED = re.compile("|".join(f"{opening}([^{closing}]*){closing}" for opening, closing in _QUOTES.items()))
_END_MARKS = " \t\n.,;:!?…。，；：！？、"

_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
_ZH_NUMERAL = "零〇一二两三四五六七八九十百千万亿"
_ZH_NUMBER = re.compile(f"[{_ZH_NUMERAL}]+")
# A numeral alone is part of too many words (一起, 万一, 十分); with one of these after it, it counts something.
_ZH_COUNTED = re.compile(
    f"(?<![0-9{_ZH_NUMERAL}])([{_ZH_NUMERAL}]+)(?=小时|分钟|公里|星期|[个天年月日号点次人岁块元周米斤度本章杯位件张家遍页篇场层])"
)
_ZH_VALUES = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_ZH_UNITS = {"十": 10, "百": 100, "千": 1_000, "万": 10_000, "亿": 100_000_000}

_EN_VALUES = {word: value for value, word in enumerate(EN_ONES)} | {
    word: value for value, word in zip(range(20, 100, 10), EN_TENS, strict=True)
}
_EN_NUMBER = re.compile(rf"\b(?:({'|'.join(EN_TENS)})(?:[- ]({'|'.join(EN_ONES[1:10])}))?|({'|'.join(EN_ONES)}))\b")

_CJK = "\u3400-\u4dbf\u4e00-\u9fff"
_LATIN = re.compile(r"[A-Za-zÀ-ɏ][A-Za-zÀ-ɏ0-9]*(?:[-.'’][A-Za-zÀ-ɏ0-9]+)*")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？：；\n“「『\"(（—])\s*$")
# No English verb ends in -jing or -qing, but Beijing and Chongqing do.
_ORDINARY_ENDING = re.compile(r"(?:(?<![jq])ing|ed|ly|tion|ness|ment|ful|est)$")

_TITLE = "|".join(TITLES)
_AFTER_NAME = (
    f"{_TITLE}|告诉|一起|[说讲问来去在是要想给和跟与也都的会把跑走吃喝看聊写读做买送帮带见约，。、；：！？\\s]|$"
)
_ZH_NAMES = (
    re.compile(f"(?:^|[和跟与对给找见叫问是被让请，。；：、“「\\s])([{SURNAMES}][{_CJK}]{{1,2}}?)(?={_AFTER_NAME})"),
    re.compile(f"((?<![{_CJK}])[{SURNAMES}][{_CJK}]{{0,2}}?(?:{_TITLE})|[{SURNAMES}](?:{_TITLE}))"),
    re.compile(f"([小老阿][{SURNAMES}])(?={_AFTER_NAME})"),
    re.compile(f"([{_CJK}]{{2,}}·[{_CJK}]+)"),
    re.compile("《([^》]+)》"),
)


def folded(text: str) -> str:
    """Full-width and half-width, upper and lower case, and runs of space made equal, for comparing only."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def quotes(text: str) -> list[str]:
    """What stands in quotation marks, without the punctuation that a sentence puts before the closing one.

    >>> quotes("She said “slow is fine,” and 「慢慢来」")
    ['slow is fine', '慢慢来']
    """
    found = ("".join(match.groups(default="")) for match in _QUOTED.finditer(text))
    return [quote.strip(_END_MARKS) for quote in found]


def has_open_quote(text: str) -> bool:
    """True when a quotation mark has no partner, so that nobody can say what is quoted."""
    return any(mark in _QUOTED.sub("", text) for mark in '“”「」『』"')


def numbers_stated(text: str) -> list[tuple[str, frozenset[str]]]:
    """Numbers a sentence claims: as written, and the values it may stand for (3万 is 3 or 30000).

    "one" and 一 are left out: they are mostly articles.

    >>> numbers_stated("跑了12公里，用了两个小时")
    [('12', frozenset({'12'})), ('两', frozenset({'2'}))]
    """
    plain = unicodedata.normalize("NFKC", text)
    stated = [(match[0], _digit_values(plain, match)) for match in _DIGITS.finditer(plain)]
    stated += [(match[1], _zh_values(match[1])) for match in _ZH_COUNTED.finditer(plain) if match[1] != "一"]
    stated += [(match[0], _en_values(match)) for match in _EN_NUMBER.finditer(plain.casefold()) if match[0] != "one"]
    return [(written, values) for written, values in stated if values]


def number_values(texts: Iterable[str]) -> frozenset[str]:
    """Every value that some number in the texts may stand for, numerals inside words included."""
    values: set[str] = set()
    for text in texts:
        plain = unicodedata.normalize("NFKC", text)
        for match in _DIGITS.finditer(plain):
            values |= _digit_values(plain, match)
        for match in _ZH_NUMBER.finditer(plain):
            values |= _zh_values(match[0]).union(*(_zh_values(char) for char in match[0]))
        for match in _EN_NUMBER.finditer(plain.casefold()):
            values |= _en_values(match)
    return frozenset(values)


def names_stated(text: str, source_words: frozenset[str], title: bool = False) -> list[str]:
    """Words of a sentence that look like names. `source_words` are the Latin words of the sources, folded.

    >>> names_stated("The owner met Alice in Hangzhou.", frozenset())
    ['Alice', 'Hangzhou']
    >>> names_stated("主人和王小明去了杭州，看了《活着》", frozenset())
    ['王小明', '活着', '杭州']
    """
    plain = unicodedata.normalize("NFKC", text)
    found = _latin_names(plain, source_words, title)
    for pattern in _ZH_NAMES:
        found += [match[1] for match in pattern.finditer(plain) if match[1] not in ZH_WORDS]
    found += [place for place in PLACES if place in plain]
    return list(dict.fromkeys(found))


def latin_words(texts: Iterable[str]) -> frozenset[str]:
    """The Latin words of the texts, folded, with and without a possessive ending, and the pieces of compound ones."""
    words: set[str] = set()
    for text in texts:
        for match in _LATIN.finditer(unicodedata.normalize("NFKC", text)):
            word = _bare(match[0])
            words |= {word, *re.split(r"[-.'’]", word)}
    return frozenset(words)


def _latin_names(plain: str, source_words: frozenset[str], title: bool) -> list[str]:
    in_chinese = re.search(f"[{_CJK}]", plain) is not None
    words = list(_LATIN.finditer(plain))
    title_case = title and not any(word[0].islower() and len(word[0]) > 4 for word in words)
    return [
        word[0]
        for word in words
        if _looks_like_a_name(plain, word, in_chinese, title_case, source_words) and _bare(word[0]) not in source_words
    ]


def _looks_like_a_name(
    plain: str, match: re.Match[str], in_chinese: bool, title_case: bool, source_words: frozenset[str]
) -> bool:
    word, bare = match[0], _bare(match[0])
    if bare in ORDINARY or bare in _EN_VALUES or len(bare) < 2:
        return False
    if any(char.isupper() or char.isdigit() for char in word[1:]):
        return True
    if in_chinese:
        return word[0].isupper() or len(word) > 3
    if not word[0].isupper() or title_case:
        return False
    if _SENTENCE_START.search(plain[: match.start()]):
        kin = any(other.startswith(bare[:4]) for other in source_words if len(bare) > 3)
        return not kin and not _ORDINARY_ENDING.search(bare)
    return True


def _bare(word: str) -> str:
    return re.sub(r"['’]s$", "", folded(word))


def _digit_values(plain: str, match: re.Match[str]) -> frozenset[str]:
    written = match[0]
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", written):
        written = written.replace(",", "")
    whole, _, part = written.partition(".")
    if not (whole.isdigit() and (part.isdigit() or not part)):
        return frozenset({written})
    value = (whole.lstrip("0") or "0") + (f".{part}" if part.strip("0") else "")
    unit = _ZH_UNITS.get(plain[match.end() : match.end() + 1])
    return frozenset({value, f"{float(value) * unit:.0f}"} if unit and len(value) < 16 else {value})


def _zh_values(numeral: str) -> frozenset[str]:
    """
    >>> sorted(_zh_values("三千五百")), sorted(_zh_values("二〇二六")), sorted(_zh_values("十二")), _zh_values("三四")
    (['3500'], ['2026'], ['12'], frozenset())
    """
    if not any(char in _ZH_UNITS for char in numeral):
        spelled = "".join(str(_ZH_VALUES[char]) for char in numeral)
        # 三四天 is "three or four days", not thirty-four.
        return frozenset() if len(numeral) == 2 else frozenset({spelled.lstrip("0") or "0"})
    total = section = digit = 0
    for char in numeral:
        unit = _ZH_UNITS.get(char)
        if unit is None:
            digit = _ZH_VALUES[char]
        elif unit < 10_000:
            section, digit = section + (digit or 1) * unit, 0
        else:
            total, section, digit = total + (section + digit or 1) * unit, 0, 0
    return frozenset({str(total + section + digit)})


def _en_values(match: re.Match[str]) -> frozenset[str]:
    tens, ones, small = match.groups()
    value = _EN_VALUES[small] if small else _EN_VALUES[tens] + (_EN_VALUES[ones] if ones else 0)
    return frozenset({str(value)})
