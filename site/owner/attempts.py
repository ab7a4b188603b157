"""How often the owner's password may be tried: 5 times in 10 minutes from one network, 20 times an hour from all.

A try is written before the password is looked at, so that a thousand at once are counted one by one. A live session is
never touched by these limits, nor is a sign-in with a passkey: a stranger who uses them up locks out passwords only.
"""

import ipaddress
from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Instant

from ..store import owners

HERE, HERE_MS = 5, 10 * 60 * 1000
ALL, ALL_MS = 20, 60 * 60 * 1000


@dataclass(frozen=True)
class Allowed:
    """The number of the try, to be told if it succeeds."""

    try_id: int


@dataclass(frozen=True)
class TooMany:
    again_at: Instant


def begin_try(conn: Connection, address: str, now: Instant) -> Allowed | TooMany:
    tries = owners.failed_tries(conn, address, Instant(now - HERE_MS), Instant(now - ALL_MS))
    waits = []
    if tries.from_here >= HERE and tries.oldest_here is not None:
        waits.append(tries.oldest_here + HERE_MS)
    if tries.from_all >= ALL and tries.oldest_all is not None:
        waits.append(tries.oldest_all + ALL_MS)
    if waits:
        return TooMany(Instant(max(waits)))
    return Allowed(owners.add_try(conn, address, now, Instant(now - 2 * ALL_MS)))


def network_of(address: str) -> str:
    """The network an address belongs to: what we write down, and what a limit counts.

    >>> network_of("203.0.113.9"), network_of("2001:db8:1:2:3::4"), network_of("")
    ('203.0.113.0/24', '2001:db8:1:2::/64', 'unknown')
    """
    try:
        found = ipaddress.ip_address(address.split("%")[0])
    except ValueError:
        return "unknown"
    return str(ipaddress.ip_network(f"{found}/{24 if found.version == 4 else 64}", strict=False))
