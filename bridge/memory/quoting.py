"""Whether one text quotes another: shares a run of characters that nobody writes twice by chance. Pure."""

import re
from collections.abc import Iterable

from core.text.normalise import normalise

RUN = 20
RUN_OF_HAN = 8
"""Characters without spaces and punctuation; a Han character carries about as much as half a word."""

LEAST = 4

_HAN = re.compile(r"[\u3400-\u9fff]")
_BETWEEN = re.compile(r"[\W_]+")


class Quoting:
    """
    >>> quoting = Quoting(["我的存折密码是芋头的生日", "ok", "The spare key is under the blue pot."])
    >>> quoting.holds("你说过：「存折密码是芋头的生日」"), quoting.holds("密码呢？"), quoting.holds("ok")
    (True, False, False)
    >>> quoting.holds("You said: the SPARE KEY is under the blue pot")
    True
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._runs: dict[int, set[str]] = {}
        for text in texts:
            bare = _bare(text)
            length = min(len(bare), RUN_OF_HAN if _HAN.search(bare) else RUN)
            if length >= LEAST:
                runs = (bare[at : at + length] for at in range(len(bare) - length + 1))
                self._runs.setdefault(length, set()).update(runs)

    def holds(self, text: str) -> bool:
        bare = _bare(text)
        return any(
            bare[at : at + length] in runs
            for length, runs in self._runs.items()
            for at in range(len(bare) - length + 1)
        )


def _bare(text: str) -> str:
    return _BETWEEN.sub("", normalise(text))
