"""The owner forgets an exchange: its words leave this site at once, and the bridge is asked to do the same.

An exchange is forgotten whole, for a reply quotes what it answers. The instruction `forget` carries `sources`, a JSON
list of the keys of what the person said; the bridge removes what it drew from them and tells us of replies elsewhere.
"""

import json
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from core.clock import Instant
from core.errors import BadInput

from ..store import digests, instructions, sources
from ..store.digests import DigestDraft
from ..store.sources import Source
from . import review


@dataclass(frozen=True)
class Exchange:
    said: tuple[Source, ...]
    digests: tuple[DigestDraft, ...]
    """Made from it, newest first."""

    @property
    def is_forgotten(self) -> bool:
        return all(one.forgotten_at is not None for one in self.said)


def exchange_of(conn: Connection, source: str) -> Exchange | None:
    found = sources.one(conn, source)
    if found is None:
        return None
    said = sources.of_exchange(conn, found)
    made = {draft.id: draft for one in said for draft in digests.made_from(conn, one.id)}
    return Exchange(said, tuple(made[number] for number in sorted(made, reverse=True)))


def forget(conn: Connection, source: str, instruction: str, now: Instant) -> Exchange:
    """Errors: BadInput for an exchange that is not there. One that was forgotten before is left as it is."""
    exchange = exchange_of(conn, source)
    if exchange is None:
        raise BadInput(f"nothing that was said has the key {source[:80]!r}")
    if exchange.is_forgotten:
        return exchange
    for one in exchange.said:
        if one.forgotten_at is None:
            sources.change(conn, replace(one, text="", forgotten_at=now))
            review.forget_source(conn, one.id, now)
    keys = [one.id for one in exchange.said if one.speaker == "person"] or [source]
    instructions.add(conn, instruction, "forget", {"sources": json.dumps(keys)}, now)
    return exchange
