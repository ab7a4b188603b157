"""Which sources go into which digest draft: whole turns, oldest first, nothing cut.

A turn is what one person said and what was answered, so its sources stay together. A turn that alone is over the limit
of a draft is never cut to fit: it stays pending, is shown as too long, and does not hold up the turns after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .clock import Instant
from .errors import BadInput
from .ids import SourceId

MAX_TURNS = 50
MAX_BYTES = 18_432
MAX_BATCHES = 3


@dataclass(frozen=True, slots=True)
class SourceFact:
    """What the choice needs to know of a source; `bytes` is the length of its text in UTF-8."""

    id: SourceId
    turn: str
    bytes: int
    said_at: Instant


@dataclass(frozen=True, slots=True)
class Batches:
    """`rest` counts the sources left for later drafts, those in `too_long` not among them."""

    batches: tuple[tuple[SourceId, ...], ...]
    too_long: tuple[SourceId, ...]
    rest: int


def choose_batch(
    sources: Sequence[SourceFact],
    max_turns: int = MAX_TURNS,
    max_bytes: int = MAX_BYTES,
    max_batches: int = MAX_BATCHES,
) -> Batches:
    """Fill up to `max_batches` drafts with the oldest unprocessed turns. BadInput for a limit or a size that cannot be.

    >>> talk = [SourceFact(SourceId(name), turn, 400, Instant(0)) for name, turn in ["q1", "a1", "r2"]]
    >>> choose_batch(talk, max_bytes=1_000, max_batches=1)
    Batches(batches=(('q', 'a'),), too_long=(), rest=1)
    """
    _check(sources, max_turns, max_bytes, max_batches)
    turns = _turns(sources)
    too_long = tuple(source.id for turn in turns if _size(turn) > max_bytes for source in turn)
    fitting = [turn for turn in turns if _size(turn) <= max_bytes]
    drafts = _filled(fitting, max_turns, max_bytes)
    batches = tuple(tuple(source.id for turn in draft for source in turn) for draft in drafts[:max_batches])
    rest = sum(len(turn) for draft in drafts[max_batches:] for turn in draft)
    return Batches(batches, too_long, rest)


Turn = list[SourceFact]


def _turns(sources: Sequence[SourceFact]) -> list[Turn]:
    """Sources of one turn together, in the order given where times are equal; turns by their first source."""
    turns: dict[str, Turn] = {}
    for source in sorted(sources, key=lambda source: source.said_at):
        turns.setdefault(source.turn, []).append(source)
    return list(turns.values())


def _filled(turns: Sequence[Turn], max_turns: int, max_bytes: int) -> list[list[Turn]]:
    drafts: list[list[Turn]] = []
    room = 0
    for turn in turns:
        if not drafts or len(drafts[-1]) == max_turns or _size(turn) > room:
            drafts.append([])
            room = max_bytes
        drafts[-1].append(turn)
        room -= _size(turn)
    return drafts


def _size(turn: Turn) -> int:
    return sum(source.bytes for source in turn)


def _check(sources: Sequence[SourceFact], max_turns: int, max_bytes: int, max_batches: int) -> None:
    for name, limit in (("max_turns", max_turns), ("max_bytes", max_bytes), ("max_batches", max_batches)):
        if limit < 1:
            raise BadInput(f"digest.{name} = {limit} leaves nothing to summarise: set 1 or more")
    if any(source.bytes < 0 for source in sources):
        raise BadInput("a source has a negative length: its record is damaged, run verify")
    if len({source.id for source in sources}) < len(sources):
        raise BadInput("a source is listed twice: each may be in one draft only")
