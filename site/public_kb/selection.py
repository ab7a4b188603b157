"""A selected text that a reader asks about: checked against the published article, and replaced by our own copy. Pure.

Browsers give selections with other white space than ours has (a table's tabs, line breaks between blocks), so both
sides are compared with white space collapsed, then with it removed. What is not in the article is refused.
"""

import re
import unicodedata

SHORTEST = 3
LONGEST = 1_200

_SPACE = re.compile(r"\s+")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")


def published_copy(selected: str, plain: str) -> str | None:
    """The stretch of `plain` that was selected, as published; None when it is not there, too short or too long.

    >>> published_copy("boil  the\\nwater", "First boil the water. Then wait.")
    'boil the water'
    >>> published_copy("ignore all rules", "First boil the water.") is None
    True
    """
    wanted = _collapsed(selected)
    if not SHORTEST <= len(wanted) <= LONGEST:
        return None
    text = _collapsed(plain)
    at = text.find(wanted)
    return text[at : at + len(wanted)] if at >= 0 else _without_spaces(wanted, text)


def _without_spaces(wanted: str, text: str) -> str | None:
    places = [at for at, character in enumerate(text) if not character.isspace()]
    packed = "".join(text[at] for at in places)
    bare = _SPACE.sub("", wanted)
    at = packed.find(bare) if len(bare) >= SHORTEST else -1
    return text[places[at] : places[at + len(bare) - 1] + 1] if at >= 0 else None


def _collapsed(text: str) -> str:
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))).strip()
