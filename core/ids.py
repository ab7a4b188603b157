"""Names of things. Each kind is its own type, so that a chat id never lands where a message id belongs.

A `Trace` is minted when an update is accepted and goes with it to the receipt, through both programs. It is a ULID:
26 characters of Crockford base 32, 48 bits of time and 80 of chance, so traces sort by time and never collide.
"""

import secrets
from collections.abc import Callable
from typing import NewType

from .clock import Instant

Account = NewType("Account", str)
"""One signed-in identity on one platform, written `channel:identity`, such as `telegram:7301`."""

ChatId = NewType("ChatId", str)
"""A conversation as the platform names it."""

SenderId = NewType("SenderId", str)
"""A person as the platform names them."""

EventKey = NewType("EventKey", str)
"""What makes an update unique inside its account; TEXT, because platforms count up to 2**64."""

EventId = NewType("EventId", int)
ConversationId = NewType("ConversationId", int)
MessageId = NewType("MessageId", int)
TurnId = NewType("TurnId", int)
AttemptId = NewType("AttemptId", str)
ReplyId = NewType("ReplyId", int)
PartId = NewType("PartId", int)

Trace = NewType("Trace", str)
LeaseId = NewType("LeaseId", str)
BindingId = NewType("BindingId", str)
SourceId = NewType("SourceId", str)
ClaimId = NewType("ClaimId", str)

Slug = NewType("Slug", str)
BlockId = NewType("BlockId", str)

RandomBytes = Callable[[int], bytes]

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_ulid(now: Instant, random_bytes: RandomBytes = secrets.token_bytes) -> str:
    """
    >>> new_ulid(Instant(1_700_000_000_000), lambda n: bytes(n))
    '01HF7YAT000000000000000000'
    """
    number = (now << 80) | int.from_bytes(random_bytes(10), "big")
    return "".join(_CROCKFORD[(number >> shift) & 31] for shift in range(125, -1, -5))
