"""Signing and verifying of control requests between bridge, digest and site (`/control/v1`).

HMAC-SHA256 over `id.timestamp.METHOD.path?query.sha256(body)`, on the raw bytes, before anything is parsed. It is the
shape of Standard Webhooks with method and path added, which that scheme leaves out. Four headers carry it:

    Penfriend-Id         a fresh id for each request, also for a repeated one
    Penfriend-Timestamp  seconds since 1970
    Penfriend-Key        the name of the key; keys overlap while one is replaced
    Penfriend-Signature  `v1=` and 64 hexadecimal digits; several, apart by spaces, where any match passes

That an id is used once is kept by the site's store (a second use is answered 409), not here.
"""

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ..errors import SettingsError, SignatureRefused

Scope = Literal["bridge", "digest"]

ID_HEADER = "Penfriend-Id"
TIMESTAMP_HEADER = "Penfriend-Timestamp"
KEY_HEADER = "Penfriend-Key"
SIGNATURE_HEADER = "Penfriend-Signature"

MAX_SKEW_S = 300
MIN_SECRET_BYTES = 32

# No dot in an id and only digits in a timestamp: the parts of the signed text cannot be cut in another way.
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TIMESTAMP = re.compile(r"[0-9]{1,12}")
_MAX_SIGNATURE_HEADER = 1024


@dataclass(frozen=True, slots=True)
class ControlKey:
    """Valid from `not_before_s` on and until before `not_after_s`, seconds since 1970; None leaves that side open."""

    id: str
    scope: Scope
    secret: bytes = field(repr=False)
    not_before_s: int | None = None
    not_after_s: int | None = None

    def valid_at(self, now_s: int) -> bool:
        begun = self.not_before_s is None or now_s >= self.not_before_s
        return begun and (self.not_after_s is None or now_s < self.not_after_s)


def checked_keys(keys: Iterable[ControlKey]) -> tuple[ControlKey, ...]:
    """The keys, or a SettingsError. A secret under two names would let a request choose its scope by its key header."""
    checked = tuple(keys)
    for key in checked:
        if not _ID.fullmatch(key.id):
            raise SettingsError(f"control key {key.id!r}: a key's name has 1 to 64 of A-Z a-z 0-9 _ -")
        if len(key.secret) < MIN_SECRET_BYTES:
            raise SettingsError(
                f"control key {key.id!r} has {len(key.secret)} bytes: make one of {MIN_SECRET_BYTES} or more"
            )
    if len({key.id for key in checked}) < len(checked) or len({key.secret for key in checked}) < len(checked):
        raise SettingsError("two control keys share a name or a secret: make a new key for each")
    return checked


def current_key(keys: Sequence[ControlKey], scope: Scope, now_s: int) -> ControlKey:
    """The key to sign with: of the valid ones of a scope the one that began last."""
    valid = [key for key in keys if key.scope == scope and key.valid_at(now_s)]
    if not valid:
        raise SettingsError(
            f"no control key with scope {scope!r} is valid now: make one, or check this machine's clock"
        )
    return max(valid, key=lambda key: (key.not_before_s or 0, key.id))


def sign(
    key: ControlKey, request_id: str, now_s: int, method: str, path_with_query: str, body: bytes
) -> dict[str, str]:
    """The four headers of a request. `path_with_query` is exactly what goes over the wire."""
    if not _ID.fullmatch(request_id):
        raise ValueError(f"request id {request_id!r}: 1 to 64 of A-Z a-z 0-9 _ - are needed")
    return {
        ID_HEADER: request_id,
        TIMESTAMP_HEADER: str(now_s),
        KEY_HEADER: key.id,
        SIGNATURE_HEADER: "v1=" + _digest(key, request_id, str(now_s), method, path_with_query, body),
    }


def verify(
    keys: Sequence[ControlKey],
    headers: Mapping[str, str],
    method: str,
    path_with_query: str,
    body: bytes,
    now_s: int,
) -> ControlKey:
    """The key that signed the request, or SignatureRefused (401) with the reason.

    Header names match in any case. Nothing that a stranger puts into a header raises anything else.
    """
    request_id = _header(headers, ID_HEADER, _ID)
    timestamp = _header(headers, TIMESTAMP_HEADER, _TIMESTAMP)
    key = _key_named(keys, _header(headers, KEY_HEADER, _ID), now_s)
    _check_time(int(timestamp), now_s)
    wanted = _digest(key, request_id, timestamp, method, path_with_query, body)
    if not _any_matches(_header(headers, SIGNATURE_HEADER, None), wanted):
        raise SignatureRefused(
            f"the signature does not match {method.upper()} with key {key.id!r}: "
            "check that both sides hold the same secret and that nothing between them changes path, query or body"
        )
    return key


def require_scope(key: ControlKey, scope: Scope) -> None:
    """SignatureRefused with status 403 when the key is good, but not for this."""
    if key.scope != scope:
        raise SignatureRefused(
            f"key {key.id!r} has scope {key.scope!r}, this needs {scope!r}: use that key", status=403
        )


def _digest(key: ControlKey, request_id: str, timestamp: str, method: str, path_with_query: str, body: bytes) -> str:
    body_hash = hashlib.sha256(body).hexdigest()
    signed = f"{request_id}.{timestamp}.{method.upper()}.{path_with_query}.{body_hash}"
    return hmac.new(key.secret, _bytes(signed), hashlib.sha256).hexdigest()


def _bytes(text: str) -> bytes:
    # Servers hand non-ASCII bytes on in several ways, lone surrogates among them; none may break the encoding.
    return text.encode("utf-8", "surrogatepass")


def _header(headers: Mapping[str, str], name: str, shape: re.Pattern[str] | None) -> str:
    found = [value for key, value in headers.items() if key.lower() == name.lower()]
    if not found:
        raise SignatureRefused(f"header {name} is missing: sign the request")
    if len(found) > 1:
        raise SignatureRefused(f"header {name} is given {len(found)} times: send it once")
    if shape is not None and not shape.fullmatch(found[0]):
        raise SignatureRefused(f"header {name} has a value that cannot be: {found[0][:80]!a}")
    return found[0]


def _key_named(keys: Sequence[ControlKey], key_id: str, now_s: int) -> ControlKey:
    key = next((key for key in keys if key.id == key_id), None)
    if key is None:
        raise SignatureRefused(f"no key is named {key_id!r}: use one that this site knows")
    if not key.valid_at(now_s):
        raise SignatureRefused(f"key {key_id!r} is not valid at {now_s}: use the key that replaced it")
    return key


def _check_time(timestamp_s: int, now_s: int) -> None:
    ahead = timestamp_s - now_s
    if abs(ahead) > MAX_SKEW_S:
        where = "ahead of" if ahead > 0 else "behind"
        raise SignatureRefused(
            f"{TIMESTAMP_HEADER} {timestamp_s} is {abs(ahead)} s {where} this clock ({now_s}), "
            f"at most {MAX_SKEW_S} s are allowed: check both clocks"
        )


def _any_matches(header: str, wanted: str) -> bool:
    candidates = header.split(" ") if len(header) <= _MAX_SIGNATURE_HEADER else []
    expected = _bytes("v1=" + wanted)
    # As bytes: compare_digest raises on text that is not ASCII.
    return any(hmac.compare_digest(_bytes(candidate), expected) for candidate in candidates)
