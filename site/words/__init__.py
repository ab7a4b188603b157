"""What the interface says, in Chinese and in English: written twice, not translated. Templates know it as `t`.

A word that one language lacks does not start. `{…}` is filled by whoever shows it.
"""

from datetime import date

from ..language import Language
from .catalog import Words
from .en import EN
from .zh import ZH

__all__ = ["WORDS", "Words", "spoken_date"]

WORDS: dict[Language, Words] = {"zh": ZH, "en": EN}

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def spoken_date(day: str, language: Language) -> str:
    """An ISO 8601 day as people write it.

    >>> spoken_date("2026-11-30", "zh"), spoken_date("2026-11-30", "en")
    ('2026年11月30日', '30 November 2026')
    """
    on = date.fromisoformat(day[:10])
    if language == "zh":
        return f"{on.year}年{on.month}月{on.day}日"
    return f"{on.day} {_MONTHS[on.month - 1]} {on.year}"
