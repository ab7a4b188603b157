"""Rendered public pages, kept as bytes until the next edition. Outside Litestar, so that a kept page costs next to nothing.

Only what says of itself that it is public is kept: 200, no query, `Cache-Control: public` with an ETag. Such a page
depends on its address, its language and the edition alone; a text that is withdrawn begins an edition, so it is gone
with the next request.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from litestar.datastructures import Headers
from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from .conditional import ASK_AGAIN, known_tags
from .store.editions import EditionWatch

MOST_PAGES = 500
MOST_BYTES = 200_000
"""Of one page; with MOST_PAGES it bounds the memory at 100 MB, whatever addresses somebody thinks of."""

Key = tuple[str, str]


@dataclass
class Kept:
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    status: int = 0

    @property
    def etag(self) -> str:
        return dict(self.headers).get(b"etag", b"").decode()

    @property
    def may_be_kept(self) -> bool:
        caching = dict(self.headers).get(b"cache-control", b"").decode()
        return self.status == 200 and bool(self.etag) and caching == ASK_AGAIN and len(self.body) <= MOST_BYTES


def keep_pages(app: ASGIApp, editions: EditionWatch) -> ASGIApp:
    pages: OrderedDict[Key, Kept] = OrderedDict()
    edition = -1

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal edition
        if scope["type"] != ScopeType.HTTP or scope["method"] != "GET" or scope["query_string"]:
            await app(scope, receive, send)
            return
        if (now := await editions.current()) != edition:
            pages.clear()
            edition = now
        key = (scope.get("state", {}).get("language", ""), scope["path"])
        kept = pages.get(key)
        if kept is not None:
            pages.move_to_end(key)
            await _answer(kept, scope, send)
            return

        def keep(made: Kept) -> None:
            # A page begun before an edition and ended after it may be either one's.
            if edition == now:
                _keep(pages, key, made)

        await app(scope, receive, _keeping(send, keep))

    return wrapped


def _keep(pages: OrderedDict[Key, Kept], key: Key, made: Kept) -> None:
    pages[key] = made
    if len(pages) > MOST_PAGES:
        pages.popitem(last=False)


def _keeping(send: Send, keep: Callable[[Kept], None]) -> Send:
    made = Kept()

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            made.status, made.headers = message["status"], list(message["headers"])
        elif message["type"] == "http.response.body" and len(made.body) <= MOST_BYTES:
            made.body += message.get("body", b"")
            if not message.get("more_body", False) and made.may_be_kept:
                keep(made)
        await send(message)

    return sending


async def _answer(kept: Kept, scope: Scope, send: Send) -> None:
    asked = Headers.from_scope(scope).get("if-none-match", "")  # type: ignore[arg-type,unused-ignore]
    status, headers, body = kept.status, kept.headers, kept.body
    if kept.etag in known_tags(asked):
        status, body = 304, b""
        headers = [(name, value) for name, value in headers if name not in (b"content-length", b"content-type")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
