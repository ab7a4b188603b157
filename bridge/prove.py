"""Clears up unclear sends where the platform can prove them: the same transaction id again, and it says what it has.

Only for channels that state a `resend_window_ms`. A repeated send that is refused proves nothing about the first one, so
such a part stays `unknown`; so does one that is too old. Tries get rarer with time.
"""

from dataclasses import dataclass, field

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.clock import Instant
from core.ids import Account, PartId

from .channels.contract import Channel, Outgoing, SendOutcome, Sent
from .deliver import Delivering, keep_outcome
from .outbox import let_the_rest_go
from .store.conversations import get_conversation
from .store.replies import get_part, get_reply

FIRST_WAIT_MS = 5_000
LONGEST_WAIT_MS = 30 * 60_000

UNCLEAR = sql(
    "SELECT p.id FROM parts p JOIN replies r ON r.id = p.reply_id JOIN conversations c ON c.id = r.conversation_id "
    "WHERE p.state = 'unknown' AND p.text != '' AND c.account = :account AND p.sending_at_ms > :since ORDER BY p.id"
)


@dataclass
class Proving:
    """`again_at` and the wait after it, for each part; lost with the process, which only means an earlier try."""

    waits: dict[PartId, tuple[Instant, int]] = field(default_factory=dict)


async def prove_unknown(proving: Proving, parts: Delivering, channel: Channel) -> int:
    """How many parts are `sent` now. Call it before delivering; it sends at most one try for each unclear part."""
    window, now = channel.capabilities.resend_window_ms, parts.clock()
    if not window or not channel.health().sending:
        return 0
    proved = 0
    for part in await parts.store.read(_unclear, channel.account, Instant(now - window)):
        again_at, wait_ms = proving.waits.get(part, (Instant(0), FIRST_WAIT_MS))
        if now < again_at:
            continue
        proving.waits[part] = (Instant(now + wait_ms), min(wait_ms * 2, LONGEST_WAIT_MS))
        outcome = await channel.send(await parts.store.read(_outgoing, part))
        if outcome.kind is Sent.SENT:
            await parts.store.write(_keep_proof, parts, part, outcome, parts.clock())
            del proving.waits[part]
            proved += 1
    return proved


def _unclear(conn: Connection, account: Account, since: Instant) -> list[PartId]:
    return [PartId(row.id) for row in conn.execute(UNCLEAR, {"account": account, "since": since})]


def _outgoing(conn: Connection, part: PartId) -> Outgoing:
    found = get_part(conn, part)
    conversation = get_conversation(conn, get_reply(conn, found.reply).conversation)
    return Outgoing(conversation.chat, found.text, found.transaction_id, conversation.reply_token)


def _keep_proof(conn: Connection, parts: Delivering, part: PartId, outcome: SendOutcome, now: Instant) -> None:
    before = get_part(conn, part)
    keep_outcome(conn, parts, part, outcome, now, actor="platform")
    let_the_rest_go(conn, before, now, "platform")
