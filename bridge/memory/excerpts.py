"""Excerpts for the middle distance: whole sentences of the person's own recent words, from before the exchanges that go
in whole. Verbatim, chosen by a rule and not by a model. Pure.

A sentence is worth a place when it says something of the person's world: it is no question, not tiny, and the rarer its
words among these messages, the sooner it is taken. They are told oldest first.
"""

import re
from collections import Counter
from collections.abc import Sequence

from core.text.tokens import UNIGRAM_MARK, index_tokens

from ..store.messages import Message
from .pack import Record
from .sessions import is_question

MOST = 12
LEAST_TOKENS = 4
LONGEST = 280

_SENTENCES = re.compile(r"(?:[^.。!！?？\n…]|\.(?=\S))+[.。!！?？…]*")


def excerpts_of(messages: Sequence[Message]) -> tuple[Record, ...]:
    """At most one of each message, at most twelve."""
    spoken = [message for message in messages if message.speaker == "person" and not message.deleted]
    holding = Counter(token for message in spoken for token in set(_words(message.text)))
    best = [(weight, message, sentence) for message in spoken for weight, sentence in [_best(message.text, holding)]]
    chosen = sorted((one for one in best if one[0] > 0), key=lambda one: (-one[0], -one[1].id))[:MOST]
    in_order = sorted(chosen, key=lambda one: (one[1].said_at, one[1].id))
    return tuple(
        Record(message.trace, "excerpt", "person", message.said_at, sentence, {"rareness": round(weight, 3)})
        for weight, message, sentence in in_order
    )


def _best(text: str, holding: Counter[str]) -> tuple[float, str]:
    sentences = [match[0].strip() for match in _SENTENCES.finditer(text)]
    weighed = [(_weight(sentence, holding), sentence) for sentence in sentences]
    return max(weighed, default=(0.0, ""))


def _weight(sentence: str, holding: Counter[str]) -> float:
    words = set(_words(sentence))
    if len(words) < LEAST_TOKENS or len(sentence) > LONGEST or is_question(sentence):
        return 0.0
    rare = sorted((1 / holding[word] for word in words if holding[word]), reverse=True)[:8]
    return sum(rare)


def _words(text: str) -> list[str]:
    return [token for token in index_tokens(text) if not token.startswith(UNIGRAM_MARK)]
