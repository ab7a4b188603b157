"""Where a text may be cut without tearing what a person sees as one character.

The rules are those of Unicode's text segmentation (UAX 29) with three simplifications, each of which only keeps more
together: every spacing mark extends, a zero-width joiner joins whatever follows it, and a virama joins the next letter.
"""

import unicodedata
from collections.abc import Iterator

_JOINER = "\u200d"
_EXTENDING = frozenset({"Mn", "Me", "Mc"})
_BREAKING = frozenset({"Cc", "Zl", "Zp"})
_PREPENDED = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u08e2\u0d4e\U000110bd\U000110cd")
_VIRAMA = 9


def grapheme_ends(text: str) -> Iterator[int]:
    r"""The index after each grapheme, the last of them the length of the text.

    >>> list(grapheme_ends("e\u0301a\r\n")), list(grapheme_ends("👩‍👩‍👧🇨🇳🇯🇵"))
    ([2, 3, 5], [5, 7, 9])
    """
    flags = 0
    for index in range(1, len(text)):
        before, after = text[index - 1], text[index]
        flags = flags + 1 if _is_flag_letter(before) else 0
        if not _joined(before, after, flags):
            yield index
    if text:
        yield len(text)


def _joined(before: str, after: str, flags: int) -> bool:
    if before == "\r" and after == "\n":
        return True
    if before < "\x7f" and after < "\x7f":
        return False
    if unicodedata.category(before) in _BREAKING or unicodedata.category(after) in _BREAKING:
        return False
    if _extends(after) or before == _JOINER or before in _PREPENDED:
        return True
    if _is_flag_letter(after):
        return flags % 2 == 1
    if unicodedata.combining(before) == _VIRAMA and unicodedata.category(after) == "Lo":
        return True
    return _hangul_joined(_hangul(before), _hangul(after))


def _extends(char: str) -> bool:
    return (
        unicodedata.category(char) in _EXTENDING
        or char in "\u200c\u200d\uff9e\uff9f"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\U000e0020" <= char <= "\U000e007f"
    )


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _hangul(char: str) -> str:
    """Leading consonant L, vowel V, trailing consonant T, or the syllables LV and LVT; empty for other characters."""
    if "\u1100" <= char <= "\u115f" or "\ua960" <= char <= "\ua97c":
        return "L"
    if "\u1160" <= char <= "\u11a7" or "\ud7b0" <= char <= "\ud7c6":
        return "V"
    if "\u11a8" <= char <= "\u11ff" or "\ud7cb" <= char <= "\ud7fb":
        return "T"
    if "\uac00" <= char <= "\ud7a3":
        return "LV" if (ord(char) - 0xAC00) % 28 == 0 else "LVT"
    return ""


def _hangul_joined(before: str, after: str) -> bool:
    if before == "L":
        return after in ("L", "V", "LV", "LVT")
    if before in ("V", "LV"):
        return after in ("V", "T")
    return before in ("T", "LVT") and after == "T"
