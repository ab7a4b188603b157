"""What can be wrong with a model's digest, and how the model (for its one repair) and the owner are told."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class ProblemKind(StrEnum):
    TOO_LONG = "too_long"
    MALFORMED = "malformed"
    HIDDEN_CHARACTER = "hidden_character"
    UNKNOWN_SOURCE = "unknown_source"
    UNHEARD = "unheard"
    WRONG_SPEAKER = "wrong_speaker"
    BORROWED_WORDS = "borrowed_words"
    OPEN_QUOTE = "open_quote"
    QUOTE = "quote"
    NUMBER = "number"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Problem:
    """`where` is a path such as `facts[2]`, `value` what stands there."""

    kind: ProblemKind
    where: str
    value: str


@dataclass(frozen=True, slots=True)
class Problems:
    problems: tuple[Problem, ...]

    def reasons(self, language: Literal["zh", "en"]) -> list[str]:
        """One sentence a problem, for the repair request and for the owner's report."""
        return [problem_text(problem, language) for problem in self.problems]


_TEXTS: dict[ProblemKind, tuple[str, str]] = {
    ProblemKind.TOO_LONG: (
        "输出有 {value} 字节，超过上限，请写短一些",
        "the output has {value} bytes, too many: be shorter",
    ),
    ProblemKind.MALFORMED: ("不符合格式：{value}", "not in the asked form: {value}"),
    ProblemKind.HIDDEN_CHARACTER: (
        "含有不可见的控制字符 {value}，请去掉",
        "hidden control character {value}: leave it out",
    ),
    ProblemKind.UNKNOWN_SOURCE: ("来源 {value} 不在这一批里", "source {value} is not in this batch"),
    ProblemKind.UNHEARD: (
        "来源 {value} 是没有送达的回复，不能引用",
        "source {value} is a reply that was never received",
    ),
    ProblemKind.WRONG_SPEAKER: ("没有一个来源是 {value} 说的", "none of its sources was said by the {value}"),
    ProblemKind.BORROWED_WORDS: (
        "这是人格说的话，不是主人说的：{value}",
        "the persona said this, not the owner: {value}",
    ),
    ProblemKind.OPEN_QUOTE: ("引号没有配对：{value}", "a quotation mark has no partner: {value}"),
    ProblemKind.QUOTE: ("来源里没有这句引文：{value}", "the sources do not hold this quote: {value}"),
    ProblemKind.NUMBER: ("来源里没有数字 {value}", "the sources do not hold the number {value}"),
    ProblemKind.NAME: ("来源里没有名称 {value}", "the sources do not hold the name {value}"),
}


def problem_text(problem: Problem, language: Literal["zh", "en"]) -> str:
    """
    >>> problem_text(Problem(ProblemKind.NUMBER, "facts[0]", "12"), "en")
    'facts[0]: the sources do not hold the number 12'
    """
    zh, en = _TEXTS[problem.kind]
    return f"{problem.where}: {(zh if language == 'zh' else en).format(value=problem.value)}"
