"""From text to the tokens of the lexical index, the same for chat memory and for articles, zh and en alike.

Chinese, Japanese and Korean runs become overlapping pairs of characters, plus single characters marked with
`UNIGRAM_MARK` so that a query can weigh them low; other words are stemmed English without function words; digits stand
alone. A token holds no white space and starts with a letter, a digit or the mark. Ranking is not here.
"""

import re
import threading
import unicodedata
from collections.abc import Iterator

import Stemmer

from .normalise import normalise
from .words import CHINESE_STOP, ENGLISH_STOP, IRREGULAR, QUESTION_PHRASES

UNIGRAM_MARK = "_"
UNIGRAM_WEIGHT = 0.3
"""Weight of a marked single character in a query, beside 1 for every other token."""

_CJK = "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_PIECES = re.compile(
    rf"(?P<cjk>[{_CJK}]+)|(?P<digits>\d+(?:,\d{{3}})*)|(?P<word>[^\W\d_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)?)"
)
_PHRASES = re.compile("|".join(QUESTION_PHRASES))
_ACCENTS = re.compile("[\u0300-\u036f]")
_LONGEST = 64
"""Characters of a word that are kept: nobody asks for the tail of a base64 blob, and a term has a size limit."""

_mine = threading.local()


def index_tokens(text: str) -> list[str]:
    """Tokens of a text that is to be found, in order, with repetitions.

    >>> index_tokens("She bought 1,200 Apples! 我爱黑咖啡")
    ['buy', '1200', 'appl', '我爱', '爱黑', '黑咖', '咖啡', '_我', '_爱', '_黑', '_咖', '_啡']
    """
    return list(_tokens(normalise(text)))


def query_tokens(text: str) -> list[str]:
    """Tokens of a question, each once; what only makes it a question is left out.

    >>> query_tokens("你喜歡什麼咖啡？ What coffee did you like?")
    ['你喜', '喜欢', '_喜', '_欢', '咖啡', '_咖', '_啡', 'coffe', 'like']
    """
    asked = _PHRASES.sub(" ", normalise(text))
    return [token for token in dict.fromkeys(_tokens(asked)) if not CHINESE_STOP.issuperset(token.lstrip(UNIGRAM_MARK))]


def query_weights(text: str) -> dict[str, float]:
    """The tokens of a question, each with its weight in the sum of scores.

    >>> query_weights("茶 tea")
    {'_茶': 0.3, 'tea': 1.0}
    """
    return {token: UNIGRAM_WEIGHT if token[0] == UNIGRAM_MARK else 1.0 for token in query_tokens(text)}


def _tokens(text: str) -> Iterator[str]:
    for piece in _PIECES.finditer(text):
        run = piece[0]
        if piece.lastgroup == "cjk":
            yield from (run[at : at + 2] for at in range(len(run) - 1))
            yield from (UNIGRAM_MARK + character for character in run)
        elif piece.lastgroup == "digits":
            yield run.replace(",", "")[:_LONGEST]
        elif token := _stem(run):
            yield token


def _stem(word: str) -> str:
    word = re.split("['’]", word, maxsplit=1)[0][:_LONGEST]
    if not word.isascii():
        word = _without_accents(word)
    if word in ENGLISH_STOP:
        return ""
    stemmed: str = _stemmer().stemWord(IRREGULAR.get(word, word))
    return stemmed


def _without_accents(word: str) -> str:
    """`café` and `cafe` are one word; only marks of Latin, Greek and Cyrillic letters are taken off."""
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word)))


def _stemmer() -> Stemmer.Stemmer:
    """One for each thread: it keeps a cache that is not locked."""
    if not hasattr(_mine, "stemmer"):
        _mine.stemmer = Stemmer.Stemmer("english")
    stemmer: Stemmer.Stemmer = _mine.stemmer
    return stemmer
