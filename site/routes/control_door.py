"""The door of the control API: lets in what is signed, once, and does its work in one transaction."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, TypeVarTuple

from litestar import Request
from pydantic import BaseModel
from sqlalchemy import Connection

from core.clock import Instant
from core.control.keys import SCOPES, key_file, load_keys
from core.control.signing import ID_HEADER, ControlKey, Scope, require_scope, verify

from ..parts import Parts
from ..store import control_requests

Args = TypeVarTuple("Args")
T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
AnyRequest = Request[Any, Any, Any]  # Litestar's three parameters are user, auth and state; we use none of them
KeyStamp = tuple[tuple[int, int], ...]


class KeyRing:
    """The keys in `data/secrets/`, read again when their files change, so that one can be replaced while we run."""

    def __init__(self, secrets_dir: Path) -> None:
        self._dir = secrets_dir
        self._stamp: KeyStamp = ()
        self._keys: tuple[ControlKey, ...] = ()

    def keys(self) -> tuple[ControlKey, ...]:
        """Errors: SettingsError when a file is missing or malformed."""
        stamp = tuple(_stamp(key_file(self._dir, scope)) for scope in SCOPES)
        if stamp != self._stamp:
            self._keys, self._stamp = load_keys(self._dir), stamp
        return self._keys


def _stamp(path: Path) -> tuple[int, int]:
    if not path.exists():
        return (0, 0)
    found = path.stat()
    return (found.st_mtime_ns, found.st_size)


class Door:
    """Lets in what is signed, once, and does its work in one transaction."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._ring = KeyRing(parts.settings.secrets_dir)

    async def open(self, request: AnyRequest, scope: Scope) -> bytes:
        """The body of a request that a key of this scope signed. Errors: SignatureRefused (401, 403)."""
        body = await request.body()
        now_s = self._parts.clock() // 1000
        key = verify(self._ring.keys(), request.headers, request.method, _target(request), body, now_s)
        require_scope(key, scope)
        return body

    async def message(self, request: AnyRequest, scope: Scope, shape: type[M]) -> M:
        return shape.model_validate_json(await self.open(request, scope))

    async def write(self, request: AnyRequest, fn: Callable[[Connection, *Args], T], *args: *Args) -> T:
        """Runs `fn` in the transaction that uses up the request's id. Errors: SignatureRefused (409) for a replay."""
        return await self._parts.store.write(_once, request.headers[ID_HEADER], self._parts.clock(), fn, args)


def _once(
    conn: Connection, request_id: str, now: Instant, fn: Callable[[Connection, *Args], T], args: tuple[*Args]
) -> T:
    control_requests.use_once(conn, request_id, now)
    return fn(conn, *args)


def _target(request: AnyRequest) -> str:
    """Path and query exactly as they came over the wire."""
    path: bytes = request.scope.get("raw_path") or request.scope["path"].encode()
    query: bytes = request.scope["query_string"]
    return (path + (b"?" + query if query else b"")).decode("latin-1")
