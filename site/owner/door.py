"""What stands before every owner page. No handler can forget it: it is set on the router, not on the routes.

    safe method      a live session, or a redirect to the sign-in page
    unsafe method    one of our own pages sent it, a live session, and the session's own token in the form
                     (or in the header X-CSRF-Token, for scripts)

A form that comes too late (the session ended, the token changed) is shown again with everything that was typed, and
can be sent once more after signing in: an edit is never lost to a timeout.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from litestar import Request, Response
from litestar.exceptions import HTTPException, NotFoundException
from litestar.response import Redirect

from core.clock import Clock
from core.errors import BadInput
from core.store import Store

from ..store import sessions as rows
from ..store.sessions import Session
from . import sessions
from .attempts import network_of
from .origin import SAFE_METHODS, from_our_page
from .pages import DeskPages, chosen_language

AnyRequest = Request[Any, Any, Any]  # Litestar's three parameters are user, auth and state; we use none of them
Hook = Callable[[AnyRequest], Awaitable[Response[Any] | None]]
TOKEN_FIELD, TOKEN_HEADER = "csrf", "x-csrf-token"
SIGN_IN = "/owner/sign-in"


def origin_door(site_url: str) -> Hook:
    """For pages before the sign-in: whatever changes something must come from one of our own pages."""

    async def stand(request: AnyRequest) -> Response[Any] | None:
        _require_origin(request, site_url)
        return None

    return stand


def owner_door(store: Store, clock: Clock, pages: DeskPages) -> Hook:
    site_url = pages.settings.site_url

    async def stand(request: AnyRequest) -> Response[Any] | None:
        _require_origin(request, site_url)
        _require_small_numbers(request)
        session = await _session(store, clock, request)
        if request.method in SAFE_METHODS:
            if session is None:
                return _to_sign_in(request)
        elif session is None or not await _token_given(request, session):
            return await _once_more(request, pages, session)
        request.state.session = session
        return None

    return stand


async def signed_in(request: AnyRequest) -> Session:
    """The session the door found. A dependency: handlers take it as `session`."""
    found = request.state.session
    assert isinstance(found, Session), "the door stands before this route"
    return found


def browser_of(request: AnyRequest) -> sessions.Browser:
    address = request.client.host if request.client else ""
    return sessions.Browser(request.headers.get("user-agent", ""), network_of(address))


async def fields_of(request: AnyRequest) -> dict[str, str]:
    """The text fields of a form, the last of each name. Browsers send line ends as CRLF; we keep LF."""
    form = await request.form()
    return {name: value.replace("\r\n", "\n") for name, value in form.items() if isinstance(value, str)}


def number_in(fields: dict[str, str], name: str) -> int:
    value = fields.get(name, "")
    if not (value.isascii() and value.isdigit() and len(value) <= 18):
        raise BadInput(f"the form's field {name!r} is {value[:40]!r}: a whole number is needed; load the page again")
    return int(value)


def _require_origin(request: AnyRequest, site_url: str) -> None:
    if request.method not in SAFE_METHODS and not from_our_page(request.headers, site_url):
        raise HTTPException(
            status_code=403, detail="this was not sent from a page of this site: open the page itself and try again"
        )


def _require_small_numbers(request: AnyRequest) -> None:
    """A number in an address that no store can hold names nothing."""
    if any(isinstance(value, int) and value >= 2**63 for value in request.path_params.values()):
        raise NotFoundException


async def _session(store: Store, clock: Clock, request: AnyRequest) -> Session | None:
    secret = request.cookies.get(sessions.COOKIE)
    if not secret:
        return None
    now = clock()
    found = await store.read(sessions.find, secret, now)
    if found is not None and now - found.seen_at >= sessions.SEEN_EVERY_MS:
        await store.write(rows.mark_seen, found.id_hash, now)
    return found


async def _token_given(request: AnyRequest, session: Session) -> bool:
    given = request.headers.get(TOKEN_HEADER)
    if given is None:
        given = (await fields_of(request)).get(TOKEN_FIELD, "")
    return sessions.token_matches(session, given)


def _to_sign_in(request: AnyRequest) -> Response[Any]:
    query = request.scope["query_string"].decode("latin-1")
    target = request.scope["path"] + (f"?{query}" if query else "")
    return Redirect(SIGN_IN, status_code=303, query_params={"next": target})


async def _once_more(request: AnyRequest, pages: DeskPages, session: Session | None) -> Response[Any]:
    """401 without a session, 403 with one: what was typed, and a button that sends it again."""
    typed = await fields_of(request) if TOKEN_HEADER not in request.headers else {}
    typed.pop(TOKEN_FIELD, None)
    status = 401 if session is None else 403
    path = request.scope["path"]
    if session is not None:
        return pages.page("once_more.html", session, status=status, typed=typed, path=path)
    language = chosen_language(pages.settings, None, request.headers.get("accept-language", ""))
    return pages.outside("once_more.html", language, status=status, typed=typed, path=path)
