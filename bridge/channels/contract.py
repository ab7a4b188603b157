"""What a channel is: it yields updates with a cursor, sends one part, and says what its sends mean.

A channel keeps nothing and decides nothing. It does not dedupe, retry, pace or split; the bridge does, from the
capabilities the channel states. Every channel passes the tests in tests/test_channel_contract.py against its fake.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from core.clock import Instant
from core.ids import Account, ChatId, EventKey, SenderId
from core.text.split import Unit


@dataclass(frozen=True)
class Capabilities:
    """What the platform allows and what its yes is worth.

    `limit` counts `unit`s of one part after formatting. `parts_per_inbound` and `reply_window_ms` are None where the
    platform has no such rule. `resend_window_ms` > 0 means: the same transaction id within that time is sent once.
    `expire_ms` is the age at which an undelivered part is no longer worth sending.
    """

    unit: Unit
    limit: int
    max_parts: int = 8
    pace_ms: int = 0
    parts_per_inbound: int | None = None
    reply_window_ms: int | None = None
    resend_window_ms: int = 0
    expire_ms: int = 24 * 3_600_000
    twins: bool = False


class UpdateKind(StrEnum):
    MESSAGE = "message"
    EDIT = "edit"
    DELETION = "deletion"
    OTHER = "other"


@dataclass(frozen=True)
class Update:
    """One thing the platform told us. `body` is its raw JSON; `text` is None for what is not text.

    `said_at` is the platform's own time, None where it gives none. `twin_key` groups deliveries of one message under
    different keys (WeChat). For an edit or a deletion, `target` is the event key of the message it changes.
    `reply_token`: what the platform wants back with an answer.
    `addressed`: in a group, whether the message speaks to us.
    """

    event_key: EventKey
    kind: UpdateKind
    chat: ChatId
    sender: SenderId
    body: str
    text: str | None = None
    sender_name: str = ""
    said_at: Instant | None = None
    target: EventKey | None = None
    twin_key: str | None = None
    reply_token: str | None = None
    group: bool = False
    addressed: bool = True
    from_bot: bool = False


@dataclass(frozen=True)
class Poison:
    """An update the channel could not read: set aside with its reason, so that the batch goes on."""

    event_key: EventKey
    body: str
    reason: str


@dataclass(frozen=True)
class Batch:
    """What one poll brought, and the cursor that is committed together with it."""

    updates: tuple[Update | Poison, ...]
    cursor: str


@dataclass(frozen=True)
class Outgoing:
    """One part on its way. `transaction_id` stays the same for ever, also over restarts.

    `answers` is the key of the update it answers; `last` says that no part of the same reply follows.
    """

    chat: ChatId
    text: str
    transaction_id: str
    reply_token: str | None = None
    answers: str | None = None
    last: bool = True


class Sent(StrEnum):
    """What a send came to. Only `NOT_SENT` may be tried again by itself."""

    SENT = "sent"
    ACCEPTED = "accepted"
    REFUSED = "refused"
    NOT_SENT = "not_sent"
    DEFERRED = "deferred"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class SendOutcome:
    """`platform_id` is there with `SENT` and only then; `retry_after_ms` may be there with `NOT_SENT`.

    `reason` is for the owner: never a token, an address with a token in it, or the text.
    """

    kind: Sent
    platform_id: str | None = None
    retry_after_ms: int | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        assert (self.kind is Sent.SENT) == (self.platform_id is not None), "`sent` needs the platform's own id"


@dataclass(frozen=True)
class Health:
    """Three facts that are never merged: a channel may receive while it cannot send."""

    receiving: bool
    sending: bool
    signed_in: bool
    detail: str = ""


class ChannelStopped(Exception):
    """The channel cannot go on without the owner (signed out, second poller, revoked token); the text says what to do."""


class ChannelTrouble(OSError):
    """Something that passes by itself: the poll is repeated after a while. The text never shows a token."""


class Channel(Protocol):
    """`account` names our identity on the platform; `fingerprint` changes when an old cursor is of no use any more,
    which is with the credential, unless the platform's cursors outlive it."""

    account: Account
    capabilities: Capabilities
    fingerprint: str

    async def poll(self, cursor: str | None) -> Batch:
        """Waits for updates after `cursor` (None on the first start, when history is not answered).

        Raises ChannelStopped when only the owner can help, and ChannelTrouble for what passes.
        """
        ...

    async def send(self, part: Outgoing) -> SendOutcome:
        """Sends one part once. Never raises for a fault of the platform or the line: every one of them is an outcome."""
        ...

    async def close(self) -> None: ...

    def health(self) -> Health: ...


@runtime_checkable
class ShowsTyping(Protocol):
    """A channel that can show that an answer is on its way. It raises nothing: the signal is worth no trouble."""

    async def show_typing(self, chat: str, reply_token: str | None) -> None: ...
