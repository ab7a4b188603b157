"""Answers that a browser may keep and ask about again: an ETag over the bytes, 304 when nothing changed."""

import hashlib
from typing import Any

from litestar import Request, Response
from litestar.datastructures import State

WebRequest = Request[Any, Any, State]  # user and token types of Litestar's sign-in, which public pages do not have

ASK_AGAIN = "public, max-age=0, must-revalidate"
FOR_EVER = "public, max-age=31536000, immutable"


def conditional(request: WebRequest, body: bytes, media_type: str, *, caching: str = ASK_AGAIN) -> Response[bytes]:
    etag = f'"{hashlib.sha256(body).hexdigest()[:20]}"'
    headers = {"ETag": etag, "Cache-Control": caching}
    if etag in known_tags(request.headers.get("if-none-match", "")):
        return Response(b"", status_code=304, headers=headers, media_type=media_type)
    return Response(body, headers=headers, media_type=media_type)


def known_tags(header: str) -> list[str]:
    """The ETags of an If-None-Match header, weak or not."""
    return [tag.strip().removeprefix("W/") for tag in header.split(",")]
