"""Pairings for the command line, over the control API with the bridge's key: list, a new code, an end to one.

The bridge's key may do this because the bridge decides by the same list who is let in. Every deed is in the audit.
"""

from litestar import get, post
from litestar.di import NamedDependency
from litestar.params import FromPath
from sqlalchemy import Connection

from core.clock import Instant
from core.control import messages
from core.errors import ControlRefused

from ..owner import pairing
from ..parts import Parts
from ..store import audit, pairings
from .control_door import AnyRequest, Door

HERE = "local"


@get("/pairings")
async def give_pairings(request: AnyRequest, door: NamedDependency[Door]) -> messages.Pairings:
    await door.open(request, "bridge")
    return await door.write(request, list_pairings)


def list_pairings(conn: Connection) -> messages.Pairings:
    return messages.Pairings(pairings=tuple(pairing.as_binding(one) for one in pairings.live(conn)))


@post("/pairings/codes", status_code=200)
async def give_code(
    request: AnyRequest, parts: NamedDependency[Parts], door: NamedDependency[Door]
) -> messages.PairingCode:
    wish = await door.message(request, "bridge", messages.PairingWish)
    code = pairing.new_code(parts.random_bytes)
    return await door.write(request, make_code, wish, code, parts.clock())


def make_code(conn: Connection, wish: messages.PairingWish, code: str, now: Instant) -> messages.PairingCode:
    expires = pairing.keep_code(conn, code, pairing.CodeWish(wish.role, wish.account, wish.chat), now)
    audit.write(conn, audit.Deed("cli", HERE, "made_pairing_code", wish.role), now)
    return messages.PairingCode(code=code, expires_at_ms=expires)


@post("/pairings/{binding:str}/revoke", status_code=204)
async def end_pairing(
    request: AnyRequest, parts: NamedDependency[Parts], door: NamedDependency[Door], binding: FromPath[str]
) -> None:
    await door.open(request, "bridge")
    ids = pairing.new_ids(parts.clock(), parts.random_bytes)
    if not await door.write(request, revoke_pairing, binding, ids):
        raise ControlRefused(f"there is no pairing {binding[:60]!r}: see `penfriend pair list`", 404)


def revoke_pairing(conn: Connection, binding: str, ids: pairing.Ids) -> bool:
    done = pairing.revoke(conn, binding, ids)
    if done:
        audit.write(conn, audit.Deed("cli", HERE, "revoked_pairing", binding), ids.now)
    return done
