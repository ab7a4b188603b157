"""Who may talk with the persona: the list, a new code, and an end to one."""

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant
from core.errors import BadInput

from ..owner import pairing
from ..owner.door import AnyRequest, fields_of
from ..owner.pages import DeskPages
from ..owner.pairing import CodeWish, Ids
from ..parts import Parts
from ..store import audit, pairings
from ..store.pairings import Role
from ..store.sessions import Session

PAIRINGS = "/owner/pairings"
ROLES: tuple[Role, ...] = ("owner", "guest")


@get("/pairings")
async def pairings_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], session: NamedDependency[Session]
) -> Response[str]:
    return await _page(parts, desk, session)


async def _page(parts: Parts, desk: DeskPages, session: Session, code: str = "", expires: int = 0) -> Response[str]:
    found = await parts.store.read(pairings.every)
    return desk.page("pairings.html", session, pairings=found, code=code, expires=Instant(expires))


@post("/pairings/code", status_code=200)
async def make_code(
    request: AnyRequest,
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
) -> Response[str]:
    """The code is in the answer and nowhere else: it is shown once."""
    wish = _wish(await fields_of(request))
    code = pairing.new_code(parts.random_bytes)
    expires = await parts.store.write(_make_code, session, code, wish, parts.clock())
    return await _page(parts, desk, session, code, expires)


def _wish(fields: dict[str, str]) -> CodeWish:
    role = next((known for known in ROLES if known == fields.get("role")), None)
    if role is None:
        raise BadInput(f"a code is for an owner or for a guest, not for {fields.get('role', '')[:40]!r}")
    account, chat = fields.get("account", "").strip(), fields.get("chat", "").strip()
    return CodeWish(role, account[:300] or None, chat[:300] or None)


def _make_code(conn: Connection, session: Session, code: str, wish: CodeWish, now: Instant) -> Instant:
    expires = pairing.keep_code(conn, code, wish, now)
    audit.write(conn, audit.Deed("owner", session.address, "made_pairing_code", wish.role), now)
    return expires


@post("/pairings/{binding:str}/revoke", status_code=200)
async def revoke(parts: NamedDependency[Parts], session: NamedDependency[Session], binding: FromPath[str]) -> Redirect:
    ids = pairing.new_ids(parts.clock(), parts.random_bytes)
    if not await parts.store.write(_revoke, session, binding, ids):
        raise NotFoundException
    return Redirect(PAIRINGS, status_code=303)


def _revoke(conn: Connection, session: Session, binding: str, ids: Ids) -> bool:
    done = pairing.revoke(conn, binding, ids)
    if done:
        audit.write(conn, audit.Deed("owner", session.address, "revoked_pairing", binding), ids.now)
    return done


HANDLERS = [pairings_page, make_code, revoke]
