"""The newest exchanges of a conversation, as whole turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from ..store.messages import Message

READ_AT_MOST = 300
"""Messages read to find the exchanges; a conversation with more in its newest turns than this loses the oldest ones."""


@dataclass(frozen=True)
class Exchange:
    """What was said and heard in one turn, oldest first."""

    messages: tuple[Message, ...]


def exchanges_of(newest_first: Sequence[Message], most: int) -> tuple[Exchange, ...]:
    """The newest `most` exchanges, oldest first. A message outside any turn stands alone."""
    in_order = list(reversed(newest_first))
    groups = [Exchange(tuple(group)) for _, group in groupby(in_order, key=_turn_or_itself)]
    if len(newest_first) >= READ_AT_MOST:
        groups = groups[1:]  # its beginning may not have been read, and an exchange goes in whole
    return tuple(groups[-most:])


def _turn_or_itself(message: Message) -> tuple[str, int]:
    return ("turn", message.turn) if message.turn is not None else ("message", message.id)
