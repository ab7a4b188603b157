"""Finds what a person explicitly states about themselves or asks for, in their own message. Pure; rules in `statement_rules.py`.

A statement is a verbatim piece of the message: its sentence, or several where a sentence alone would be half of what was
said (a correction over two sentences, a `she` whose name stands before). Questions, hypotheticals, quoted and reported
speech, denials, the past and passing moods are no statements.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from core.text.normalise import normalise
from core.text.tokens import UNIGRAM_MARK, index_tokens

from .sessions import is_question
from .statement_rules import RULES, Kind, Rule

LONGEST_MESSAGE = 4000
"""Characters; a longer message is pasted text, which nobody states of themselves."""

LONGEST_SENTENCE = 300
MOST_STATEMENTS = 8


@dataclass(frozen=True)
class Statement:
    """`topic` is what later statements replace it by. `corrects` is what it takes back, to be looked for among earlier
    ones; with `only_with` it counts only when that is found."""

    kind: Kind
    topic: str
    quote: str
    corrects: str = ""
    only_with: bool = False


def statements_of(text: str) -> tuple[Statement, ...]:
    """At most eight, in reading order.

    >>> [(s.kind, s.topic, s.quote) for s in statements_of("今天好累。叫我小林就好！Do you like tea? I like tea.")]
    [('name', 'name', '叫我小林就好！'), ('taste', 'about:tea', 'I like tea.')]
    """
    if len(text) > LONGEST_MESSAGE:
        return ()
    spans = [match.span() for match in _SENTENCES.finditer(text) if match[0].strip()]
    found: dict[tuple[Kind, str], Statement] = {}
    for number, (start, end) in enumerate(spans):
        for statement in _of_sentence(text, spans, number) if end - start <= LONGEST_SENTENCE else ():
            found[statement.kind, statement.topic] = statement
    return tuple(found.values())[-MOST_STATEMENTS:]


def _of_sentence(text: str, spans: list[tuple[int, int]], number: int) -> Iterator[Statement]:
    start, end = spans[number]
    if is_question(text[start:end]):
        return
    sentence, stated = _plain(text[start:end]), False
    for rule in RULES:
        for match in rule.pattern.finditer(sentence):
            if not _is_stated(sentence, match) or (rule.kind == "correction" and stated and not rule.corrects):
                continue
            if (topic := _topic(rule, match)) is not None:
                stated = True
                yield _statement(rule, topic, match, _quote(text, spans, number, sentence))
    if not stated and number + 1 < len(spans) and end - start < 40:
        yield from _over_two(text, spans, number)


def _over_two(text: str, spans: list[tuple[int, int]], number: int) -> Iterator[Statement]:
    """`不是三号。是四号。` and `Not May 3. It's May 4.`: half of it would say the opposite."""
    (start, _), (_, end) = spans[number], spans[number + 1]
    both = _plain(text[start:end])
    if _NOT_FIRST.match(both) and end - start <= LONGEST_SENTENCE:
        for rule in (rule for rule in RULES if rule.kind == "correction" and rule.corrects):
            if (match := rule.pattern.search(both)) and (topic := _topic(rule, match)) is not None:
                yield _statement(rule, topic, match, text[start:end].strip())
                return


def _statement(rule: Rule, topic: str, match: re.Match[str], quote: str) -> Statement:
    old = _subject(match["old"]) if rule.corrects else ""
    marked = bool(_MARKED.search(match.string))
    return Statement(rule.kind, topic, quote, old, rule.only_with and not marked)


def _plain(sentence: str) -> str:
    """As the rules read it. What is quoted is somebody's words, unless it is as short as a name."""
    return normalise(_QUOTED.sub(_name_or_nothing, sentence).replace("’", "'")).strip()


def _name_or_nothing(match: re.Match[str]) -> str:
    inside = match[0][1:-1]
    return inside if len(inside) <= 12 and not re.search(r"我|[,，。!?！？]|\b[Ii]\b", inside) else " … "


def _is_stated(sentence: str, match: re.Match[str]) -> bool:
    before = sentence[: match.start()]
    clause = re.split(r"[,，;；]", sentence[: match.end()])[-1]
    whole_clause = before.rpartition(",")[2] + match[0]
    if not match[0].startswith("我") and match.re in _ELIDED and not _OF_ME.search(before):
        return False
    return not (
        _IF.search(sentence[: match.end()])
        or _REPORTED.search(before)
        or _DENIED.search(before + match[0][:6])
        or _PAST.search(clause if "我" in clause else whole_clause)
        or _PASSING.search(clause)
    )


def _topic(rule: Rule, match: re.Match[str]) -> str | None:
    """None when nothing is left of what the topic is made from: `我不吃了`."""
    name = re.search(r"\{(\w+)\}", rule.topic)
    if name is None:
        return rule.topic
    subject = _subject(match[name[1]] or "")
    return rule.topic.replace(name[0], subject) if subject else None


def _subject(text: str) -> str:
    """
    >>> [_subject(text) for text in ("my sister's birthday is May 3", "我妹妹的生日是5月3号", "Black Coffees", "别用表情了")]
    ['birthday sister', '我妹妹的生日', 'black coffe', '用表情']
    """
    head = (
        re.split(r" (?:is|are|was|will be) |(?<![老总还])是|在(?=.{2})|为(?=\d)", text.strip(), maxsplit=1)[0] or text
    )
    head = re.sub(r"^(?:别|不要|请|都|再|老是?|总是?|my |the |an? )+|[了吧啊呢哦的呀嘛]+$", "", head.strip())
    words = [token for token in index_tokens(head) if not token.startswith(UNIGRAM_MARK)]
    return head.strip() if not head.isascii() else " ".join(sorted(words))


def _quote(text: str, spans: list[tuple[int, int]], number: int, sentence: str) -> str:
    start, end = spans[number]
    if number and _POINTS_BACK.search(sentence) and end - spans[number - 1][0] <= LONGEST_SENTENCE:
        start = spans[number - 1][0]
    return text[start:end].strip()


_SENTENCES = re.compile(r"(?:[^.。!！?？;；\n…]|\.(?=\S))+[.。!！?？;；\n…]*[”」』\"]?")
_QUOTED = re.compile(r"“[^”]*”|「[^」]*」|『[^』]*』|\"[^\"]*\"|《[^》]*》")
_IF = re.compile(
    r"如果|假如|要是|假设|万一|倘若|除非|就算|哪怕|比如|例如|也许|可能我|假装|想象"
    r"|\b(?:if|unless|suppose|imagine|would|could|might|pretend|hypothetically|for example|let's say|maybe|perhaps)\b"
)
_REPORTED = re.compile(
    r"(?:[他她们妈爸妹姐弟哥婆公师板事友生家人谁里婶姨叔])[^,，。我]{0,6}(?:说|讲|问|觉得|认为|写|唱|告诉)|据说|听说|俗话|台词|歌词"
    r"|\b(?!i\b|i'm\b)[\w']+ (?:says?|said|thinks?|told|asks?|asked|claims?|wrote|writes|believes?|sings?)\b|\baccording to\b"
)
_DENIED = re.compile(
    r"没(?:有)?说|不是说|不代表|不等于|谁说|难道|并非|不觉得|不认为|不敢说"
    r"|\b(?:didn't say|did not say|never said|not saying|not that|doesn't mean|don't think|who said|not true|don't know)\b"
)
_PAST = re.compile(r"以前|曾经|小时候|当年|从前|过去|那时|\b(?:used to|back then|when i was|as a (?:kid|child)|once)\b")
_PASSING = re.compile(
    r"今天|今晚|今早|昨天|刚才|刚刚|这次|这会儿|此刻|一时|\b(?:today|tonight|right now|at the moment|this (?:morning|week|time))\b"
)
_MARKED = re.compile(
    r"不对|错了|更正|纠正|其实|我(?:的|叫|是|妹|姐|妈|爸|家|女|儿|喜欢)|生日|名字|\b(?:actually|meant|correction|sorry|no,)\b"
)
_NOT_FIRST = re.compile(r".{0,12}不是|(?:no, )?(?:it's |it is )?not\b")
_POINTS_BACK = re.compile(r"[他她它]|\b(?:he|she|they|him|her|them|it|his|hers|their)\b")
_ELIDED = frozenset(rule.pattern for rule in RULES if rule.kind in ("taste", "diet") and "我|" in rule.pattern.pattern)
_OF_ME = re.compile(r"^[^他她它您你]*我[^他她它您你]*$")
"""What stands before a clause without a subject, when it goes on about the speaker."""
