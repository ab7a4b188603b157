"""Who may talk with the persona: codes that pair one sender once, and the bindings they make.

A code is 8 characters of a 32-letter alphabet without look-alikes (40 bits), kept as a hash, good for ten minutes. A
code that is not made for a chat pairs a direct conversation only: it never opens a group. Attempts are counted by the
bridge, which sees who tries.
"""

import hashlib
from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Instant
from core.control.messages import Binding, PairingAnswer, PairingClaim
from core.errors import BadInput
from core.ids import RandomBytes, new_ulid

from ..store import instructions, pairing_codes, pairings
from ..store.pairings import Pairing, Place, Role

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 8
CODE_LIFE_MS = 10 * 60 * 1000

CONSOLE = Place("console:local", "console", "owner")


@dataclass(frozen=True)
class CodeWish:
    """For whom a code is made. Without `account` it is good on any; without `chat` in any direct conversation."""

    role: Role = "owner"
    account: str | None = None
    chat: str | None = None


@dataclass(frozen=True)
class Ids:
    """What a transaction may need of chance and time, given from outside so that its body can run twice."""

    id: str
    now: Instant


def new_ids(now: Instant, random_bytes: RandomBytes) -> Ids:
    return Ids(new_ulid(now, random_bytes), now)


def new_code(random_bytes: RandomBytes) -> str:
    """
    >>> new_code(lambda n: bytes(range(n)))
    'ABCDEFGH'
    """
    return "".join(CODE_LETTERS[byte % len(CODE_LETTERS)] for byte in random_bytes(CODE_LENGTH))


def code_hash(code: str) -> str:
    """Of the code as people type it: case, spaces and dashes do not matter.

    >>> code_hash("abcd-efgh") == code_hash(" ABCDEFGH ")
    True
    """
    plain = "".join(letter for letter in code.upper() if letter.isalnum())
    return hashlib.sha256(plain.encode()).hexdigest()


def keep_code(conn: Connection, code: str, wish: CodeWish, now: Instant) -> Instant:
    """Keeps the hash of a new code. Gives the instant it expires."""
    if wish.chat is not None and wish.account is None:
        raise BadInput("a code for one chat needs the account the chat is in")
    expires = Instant(now + CODE_LIFE_MS)
    pairing_codes.add(conn, pairing_codes.Code(code_hash(code), wish.role, wish.account, wish.chat, now, expires))
    return expires


def claim_code(conn: Connection, claim: PairingClaim, ids: Ids) -> PairingAnswer:
    """The binding that the code gives to whoever sent it, or why it gives none. The same claim again: the same binding."""
    code = pairing_codes.by_hash(conn, code_hash(claim.code))
    place = Place(claim.account, claim.chat, claim.sender)
    if code is None:
        return PairingAnswer(reason="unknown")
    if code.used_at is not None:
        return _told_again(conn, place, code.used_at)
    if code.expires_at <= ids.now:
        return PairingAnswer(reason="expired")
    if code.account not in (None, claim.account) or code.chat not in (None, claim.chat):
        return PairingAnswer(reason="elsewhere")
    if claim.group and code.chat is None:
        return PairingAnswer(reason="not_for_groups")
    if not pairing_codes.use(conn, code.code_hash, ids.now):
        return PairingAnswer(reason="used")
    return PairingAnswer(binding=as_binding(_bind(conn, place, code.role, claim.name, ids)))


def _told_again(conn: Connection, place: Place, used_at: Instant) -> PairingAnswer:
    """A bridge that lost our answer asks again; somebody else's second use of the code is refused."""
    made = pairings.live_at(conn, place)
    if made is not None and made.made_at == used_at:
        return PairingAnswer(binding=as_binding(made))
    return PairingAnswer(reason="used")


def _bind(conn: Connection, place: Place, role: Role, name: str, ids: Ids) -> Pairing:
    """A live binding of the same place makes room for the new one: the code says what the sender is now."""
    before = pairings.live_at(conn, place)
    if before is not None:
        pairings.revoke(conn, before.id, ids.now)
    made = Pairing(ids.id, place, role, name[:200], ids.now, None)
    pairings.add(conn, made)
    return made


def revoke(conn: Connection, pairing: str, ids: Ids) -> bool:
    """Ends a binding here and asks the bridges to end it at once. False when there is none."""
    if not pairings.revoke(conn, pairing, ids.now):
        return False
    instructions.add(conn, ids.id, "revoke", {"binding": pairing}, ids.now)
    return True


def pair_console_owner(conn: Connection, ids: Ids) -> bool:
    """On the first start the owner's own console is paired. One that the owner revoked stays so."""
    if pairings.was_ever_at(conn, CONSOLE):
        return False
    pairings.add(conn, Pairing(ids.id, CONSOLE, "owner", "console", ids.now, None))
    return True


def as_binding(pairing: Pairing) -> Binding:
    return Binding(
        id=pairing.id,
        account=pairing.place.account,
        chat=pairing.place.chat,
        sender=pairing.place.sender,
        role=pairing.role,
        name=pairing.name,
    )
