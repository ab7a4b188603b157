"""The language a page is shown in, told by its address alone, so that every page can be cached.

`/posts` is in the language of the house; the other one has a prefix, `/zh/posts` or `/en/posts`. An article's own
language is another matter: it stands in `lang` on its text. The prefix is taken off before the routes see it.
"""

from typing import Literal, get_args

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

Language = Literal["zh", "en"]

LANGUAGES: tuple[Language, ...] = get_args(Language)

# These have no language, and a second address for a private page would only be one more to guard.
UNPREFIXED = ("/owner", "/setup", "/control", "/static", "/media", "/assistant", "/healthz", "/readyz", "/metrics")


def other_language(language: Language) -> Language:
    return "en" if language == "zh" else "zh"


def localised(path: str, language: Language, house: Language) -> str:
    """
    >>> localised("/posts", "zh", "en"), localised("/", "zh", "en"), localised("/posts", "en", "en")
    ('/zh/posts', '/zh/', '/posts')
    """
    return path if language == house else f"/{language}{path}"


def split_language(path: str) -> tuple[Language | None, str]:
    """The prefix of a path, if it has one, and the path without it.

    >>> split_language("/zh/posts"), split_language("/zh"), split_language("/zhang")
    (('zh', '/posts'), ('zh', '/'), (None, '/zhang'))
    """
    for language in LANGUAGES:
        if path == f"/{language}" or path.startswith(f"/{language}/"):
            rest = path.removeprefix(f"/{language}") or "/"
            return (None, path) if rest.startswith(UNPREFIXED) else (language, rest)
    return None, path


def language_in_path(app: ASGIApp, house: Language) -> ASGIApp:
    """Puts `language` into the request's state. The house's own prefix leads to the address without one."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        language, path = split_language(scope["path"])
        if language == house:
            await _redirect(send, scope["raw_path"].removeprefix(f"/{house}".encode()) or b"/", scope["query_string"])
            return
        state = {**scope.get("state", {}), "language": language or house, "path": path}
        await app({**scope, "path": path, "state": state}, receive, send)  # type: ignore[misc,unused-ignore]

    return wrapped


async def _redirect(send: Send, path: bytes, query: bytes) -> None:
    # "//host" would leave the site.
    target = b"/" + path.lstrip(b"/") + (b"?" + query if query else b"")
    headers = [(b"location", target), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 301, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
