"""Security headers, outside Litestar: its own middleware does not run for 404, 405 and a refused Host.

Public pages need no nonce (`script-src 'self'`), so they stay cacheable; the theme script is allowed by its hash.
"""

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Message, Receive, Scope, Send

CSP = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' {script_hashes}",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "manifest-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)

FIXED = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"strict-origin-when-cross-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=()"),
)
HSTS = (b"strict-transport-security", b"max-age=31536000")

# What the owner looks at, a preview link among it, is told to no other site.
PRIVATE = ((b"cache-control", b"no-store"), (b"referrer-policy", b"same-origin"))
PRIVATE_PATHS = ("/owner", "/setup", "/control")


def security_headers(app: ASGIApp, *, script_hashes: tuple[str, ...], https: bool) -> ASGIApp:
    """Wraps the whole application; owner and control answers are never stored by a cache, nor told to other sites."""
    policy = CSP.format(script_hashes=" ".join(f"'{value}'" for value in script_hashes)).encode()
    always = [*FIXED, (b"content-security-policy", policy), *([HSTS] if https else [])]
    private = list({**dict(always), **dict(PRIVATE)}.items())

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            await app(scope, receive, send)
            return
        extra = private if scope["path"].startswith(PRIVATE_PATHS) else always
        await app(scope, receive, _adding(send, extra))

    return wrapped


def _adding(send: Send, extra: list[tuple[bytes, bytes]]) -> Send:
    names = {name for name, _ in extra}

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(name, value) for name, value in message.get("headers", []) if name.lower() not in names]
            message = {**message, "headers": [*kept, *extra]}  # type: ignore[assignment,unused-ignore]
        await send(message)

    return sending
