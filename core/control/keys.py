"""The keys of the control API in `data/secrets/`: `control-bridge.key` and `control-digest.key`, mode 0600.

One key a line: its name, its secret in base64, and where wanted the seconds since 1970 from which and until which it is
good (`-` for open). While a key is replaced both lines stand. `#` begins a remark.

    bridge-01HF7YAT00 9v3k…= - 1767225600
    bridge-01HG2B1Q00 Zx0p…= 1767139200
"""

import base64
import binascii
import os
import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..clock import Instant
from ..errors import SettingsError
from ..ids import RandomBytes, new_ulid
from .signing import ControlKey, Scope, checked_keys

SCOPES: tuple[Scope, ...] = ("bridge", "digest")
SECRET_BYTES = 32


def key_file(secrets_dir: Path, scope: Scope) -> Path:
    return secrets_dir / f"control-{scope}.key"


def ensure_keys(secrets_dir: Path, now: Instant, random_bytes: RandomBytes = secrets.token_bytes) -> None:
    """Makes the key files that are not there. Programs that start at the same time end with the same keys."""
    for scope in SCOPES:
        if not key_file(secrets_dir, scope).exists():
            write_private(key_file(secrets_dir, scope), key_line(new_key(scope, now, random_bytes)), replace=False)


def load_keys(secrets_dir: Path, scopes: Sequence[Scope] = SCOPES) -> tuple[ControlKey, ...]:
    """The keys of these scopes. Errors: SettingsError for a missing, unreadable or malformed file."""
    return checked_keys(key for scope in scopes for key in _read(key_file(secrets_dir, scope), scope))


def rotate(secrets_dir: Path, scope: Scope, now: Instant, overlap_s: int, random_bytes: RandomBytes) -> ControlKey:
    """Writes a new key before the others; those are good for `overlap_s` more seconds. Gives the new one back."""
    path, now_s = key_file(secrets_dir, scope), now // 1000
    fresh = new_key(scope, now, random_bytes)
    old = [_ending(key, now_s + overlap_s) for key in _read(path, scope) if key.valid_at(now_s)]
    write_private(path, "".join(key_line(key) for key in (fresh, *old)), replace=True)
    return fresh


def new_key(scope: Scope, now: Instant, random_bytes: RandomBytes = secrets.token_bytes) -> ControlKey:
    return ControlKey(f"{scope}-{new_ulid(now, random_bytes)}", scope, random_bytes(SECRET_BYTES), now // 1000 - 60)


def key_line(key: ControlKey) -> str:
    """
    >>> key_line(ControlKey("b1", "bridge", b"x" * 32, None, 1700000000))
    'b1 eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHg= - 1700000000\\n'
    """
    ends = [str(end) if end is not None else "-" for end in (key.not_before_s, key.not_after_s)]
    return " ".join((key.id, base64.b64encode(key.secret).decode(), *ends)) + "\n"


def write_private(path: Path, text: str, *, replace: bool) -> None:
    """Writes a file that only this account may read, whole or not at all. Without `replace` an existing one stays."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        if replace:
            Path(name).replace(path)
        else:
            _link(Path(name), path)
    finally:
        Path(name).unlink(missing_ok=True)


def _link(source: Path, path: Path) -> None:
    """A link is refused when the name is taken: the program that came first wins, and its file is whole."""
    try:
        path.hardlink_to(source)
    except FileExistsError:
        pass


def _ending(key: ControlKey, at_s: int) -> ControlKey:
    end = at_s if key.not_after_s is None else min(at_s, key.not_after_s)
    return ControlKey(key.id, key.scope, key.secret, key.not_before_s, end)


def _read(path: Path, scope: Scope) -> list[ControlKey]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except FileNotFoundError:
        raise SettingsError(
            f"the control key {path} is missing: start the site once, or copy it from the machine where the site runs"
        ) from None
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"the control key {path} cannot be read: {problem}") from problem
    kept = [(number, line) for number, line in enumerate(lines, 1) if line.strip() and not line.startswith("#")]
    if not kept:
        raise SettingsError(f"the control key {path} holds no key: remove the file and start the site again")
    return [_parse(line, scope, f"{path}, line {number}") for number, line in kept]


def _parse(line: str, scope: Scope, where: str) -> ControlKey:
    name, secret, *ends = line.split()[:4] if len(line.split()) > 1 else (line, "")
    try:
        first, last = (None if end == "-" else int(end) for end in (*ends, "-", "-")[:2])
        return ControlKey(name, scope, base64.b64decode(secret, validate=True), first, last)
    except (ValueError, binascii.Error) as problem:
        raise SettingsError(
            f"{where} is no control key ({problem}): write a name, a secret in base64, two times"
        ) from None
