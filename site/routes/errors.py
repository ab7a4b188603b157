"""What a request gets that cannot be answered: a page for people, problem+json (RFC 9457) for programs."""

import json
import logging
from http import HTTPStatus

from litestar import Response
from litestar.exceptions import HTTPException
from litestar.types import ExceptionHandlersMap

from ..conditional import WebRequest
from ..pages import HTML, Pages, View
from ..words import WORDS

log = logging.getLogger(__name__)

PROBLEM = "application/problem+json"


def error_handlers(pages: Pages) -> ExceptionHandlersMap:
    def on_http(request: WebRequest, problem: HTTPException) -> Response[bytes]:
        return _answer(pages, request, problem.status_code, problem.detail, problem.headers)

    def on_fault(request: WebRequest, fault: Exception) -> Response[bytes]:
        log.error("%s %s failed", request.method, _route(request), exc_info=fault)
        return _answer(pages, request, HTTPStatus.INTERNAL_SERVER_ERROR, "", None)

    def on_depth(request: WebRequest, _too_deep: RecursionError) -> Response[bytes]:
        # Litestar's JSON reader gives up on nesting with this, which is the sender's fault and not ours.
        return _answer(pages, request, HTTPStatus.BAD_REQUEST, "the JSON is nested too deep", None)

    return {HTTPException: on_http, RecursionError: on_depth, Exception: on_fault}


def wants_page(request: WebRequest) -> bool:
    """People's browsers name HTML; programs of ours name JSON; whoever names neither gets the page."""
    accepts = request.headers.get("accept", "")
    if request.scope["path"].startswith("/control"):
        return False
    return "text/html" in accepts or "json" not in accepts


def _answer(
    pages: Pages, request: WebRequest, status: int, detail: str, headers: dict[str, str] | None
) -> Response[bytes]:
    extra = {**(headers or {}), "Vary": "Accept", "Cache-Control": "no-store"}
    if wants_page(request):
        return Response(_page(pages, request, status), status_code=status, media_type=HTML, headers=extra)
    phrase = HTTPStatus(status).phrase
    problem = {"type": "about:blank", "title": phrase, "status": status, "detail": detail or phrase}
    body = json.dumps(problem, ensure_ascii=False).encode()
    return Response(body, status_code=status, media_type=PROBLEM, headers=extra)


def _page(pages: Pages, request: WebRequest, status: int) -> bytes:
    view = View.of(request, pages.house)
    words = WORDS[view.language]
    heading, hint = words.refused, words.refused_hint
    if status == HTTPStatus.NOT_FOUND:
        heading, hint = words.not_found, words.not_found_hint
    elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        heading, hint = words.failed, words.failed_hint
    return pages.render("error.html", view, status=status, heading=heading, hint=hint).encode()


def _route(request: WebRequest) -> str:
    """The pattern of the address, never the address: a question may stand in it."""
    return str(request.scope.get("path_template", "?"))
