"""Replies whose delivery is in doubt, messages that came twice with different words, and what waits for a bridge.

The owner's word travels to the bridge as an instruction; what became of it is shown here when the bridge has said so.
"""

from dataclasses import dataclass
from typing import Literal

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant
from core.errors import BadInput

from ..owner.door import AnyRequest, fields_of, number_in
from ..owner.pages import DeskPages
from ..owner.pairing import Ids, new_ids
from ..parts import Parts
from ..store import audit, instructions, synced
from ..store.instructions import Asked
from ..store.sessions import Session
from ..store.synced import Synced

OUTBOX = "/owner/outbox"
Word = Literal["delivered", "not_delivered", "send_again"]
WORDS: tuple[Word, ...] = ("delivered", "not_delivered", "send_again")


@dataclass(frozen=True)
class Outbox:
    in_doubt: tuple[Synced, ...]
    conflicts: tuple[Synced, ...]
    asked: tuple[Asked, ...]


def look(conn: Connection) -> Outbox:
    return Outbox(synced.parts_in_doubt(conn), synced.of_kind(conn, "conflict"), instructions.newest(conn, 20))


@get("/outbox")
async def outbox_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], session: NamedDependency[Session]
) -> Response[str]:
    return desk.page("outbox.html", session, outbox=await parts.store.read(look), words=WORDS)


@post("/outbox/resolve", status_code=200)
async def resolve(request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session]) -> Redirect:
    """The bridge refuses what no longer fits: a part that was proved delivered meanwhile stays delivered."""
    fields = await fields_of(request)
    how = next((word for word in WORDS if word == fields.get("how")), None)
    if how is None:
        raise BadInput(
            f"say whether it is delivered, not_delivered or to send_again, not {fields.get('how', '')[:40]!r}"
        )
    ids = new_ids(parts.clock(), parts.random_bytes)
    await parts.store.write(_resolve, session, number_in(fields, "part"), how, ids)
    return Redirect(OUTBOX, status_code=303)


def _resolve(conn: Connection, session: Session, part: int, how: Word, ids: Ids) -> None:
    instructions.add(conn, ids.id, "resolve_part", {"part": str(part), "how": how}, ids.now)
    audit.write(conn, audit.Deed("owner", session.address, "resolved_part", f"part {part}", how), ids.now)


@post("/outbox/conflicts/aside", status_code=200)
async def put_aside(request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session]) -> Redirect:
    """The owner has seen that a message came twice with different words; both are kept by the bridge."""
    key = (await fields_of(request)).get("key", "")
    if not await parts.store.write(_put_aside, session, key, parts.clock()):
        raise BadInput(f"no conflict has the key {key[:80]!r}: it was put aside before")
    return Redirect(OUTBOX, status_code=303)


def _put_aside(conn: Connection, session: Session, key: str, now: Instant) -> bool:
    done = synced.remove(conn, "conflict", key)
    if done:
        audit.write(conn, audit.Deed("owner", session.address, "put_conflict_aside", key[:80]), now)
    return done


@post("/outbox/{wish:str}", status_code=200)
async def pause_or_resume(
    request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session]
) -> Redirect:
    """Stops the persona's answering everywhere, or lets it go on."""
    wish = request.path_params["wish"]
    if wish not in ("pause", "resume"):
        raise BadInput(f"the bridge can pause or resume, not {str(wish)[:40]!r}")
    ids = new_ids(parts.clock(), parts.random_bytes)
    await parts.store.write(_tell, session, "pause" if wish == "pause" else "resume", ids)
    return Redirect(OUTBOX, status_code=303)


def _tell(conn: Connection, session: Session, wish: Literal["pause", "resume"], ids: Ids) -> None:
    instructions.add(conn, ids.id, wish, {}, ids.now)
    audit.write(conn, audit.Deed("owner", session.address, wish), ids.now)


HANDLERS = [outbox_page, resolve, put_aside, pause_or_resume]
