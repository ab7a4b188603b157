"""Refuses unsafe requests that another site made a browser send. No token, so that public pages stay cacheable.

Browsers say where a request comes from in `Sec-Fetch-Site`, older ones in `Origin`. A client that sends neither is no
browser and carries nobody's cookies; what it may do is decided by signatures and sessions.
"""

from urllib.parse import urlsplit

from litestar.datastructures import Headers
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def refuse_cross_site(app: ASGIApp) -> ASGIApp:
    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and scope["method"] not in SAFE and is_foreign(Headers.from_scope(scope)):
            await _refuse(send)
            return
        await app(scope, receive, send)

    return wrapped


def is_foreign(headers: Headers) -> bool:
    """Whether a browser says that the request was not made by a page of this site."""
    fetch_site = headers.get("sec-fetch-site")
    if fetch_site is not None:
        return fetch_site not in ("same-origin", "none")
    origin = headers.get("origin")
    return origin is not None and _host_of(origin) != headers.get("host", "")


def _host_of(origin: str) -> str | None:
    """None for what is no address, such as `null` or `http://[x`: it is nobody's own page."""
    try:
        return urlsplit(origin).netloc or None
    except ValueError:
        return None


async def _refuse(send: Send) -> None:
    body = b'{"type":"about:blank","title":"Forbidden","status":403,"detail":"this request came from another site"}'
    headers = [(b"content-type", b"application/problem+json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 403, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
