"""The seam between whoever needs an answer and whatever gives one. No I/O here.

A client never raises for a fault of the other side: each becomes a `ModelResult`. Only cancellation passes through,
and then `Attempt` knows whether anything had left.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

from .outcomes import Outcome, Verdict
from .request import ModelRequest


class Finish(Enum):
    """How the text ended. It decides what the person gets; `ModelResult.outcome` decides about the money."""

    STOP = "stop"
    LENGTH = "length"
    REFUSED = "refused"
    EMPTY = "empty"
    NONE = "none"
    """No usable answer came."""


@dataclass(frozen=True)
class Usage:
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class ModelResult:
    """`text` may be sent to a person. `evidence` is what came of an unusable answer: it is kept and never sent.

    `detail` is one sentence for the owner, without keys and without anybody's words. An answer may be cut short and
    also lack its usage: then `outcome` is the usage row, and `finish` still says LENGTH.
    """

    outcome: Outcome
    detail: str
    text: str = ""
    finish: Finish = Finish.NONE
    usage: Usage | None = None
    evidence: str = ""
    retry_after_s: float | None = None


@dataclass(frozen=True)
class TextPiece:
    text: str


@dataclass(frozen=True)
class Finished:
    result: ModelResult


ModelEvent: TypeAlias = TextPiece | Finished


@dataclass
class Attempt:
    """Whether the request may have left, also for a caller whose task was cancelled in the middle of it."""

    sent: bool = False

    @property
    def verdict_if_stopped(self) -> Verdict:
        return Verdict.UNKNOWN if self.sent else Verdict.RELEASE


class ModelClient(Protocol):
    async def answer(self, request: ModelRequest, attempt: Attempt | None = None) -> ModelResult: ...

    def stream(self, request: ModelRequest, attempt: Attempt | None = None) -> AsyncGenerator[ModelEvent, None]:
        """Pieces of text as they come, then one `Finished`. Pieces shown before it may turn out to be evidence."""
        ...

    async def aclose(self) -> None: ...
