"""The token that lets this account's own commands talk with the running bridge over loopback."""

import secrets
from pathlib import Path

from .control.keys import write_private
from .errors import SettingsError


def token_file(secrets_dir: Path) -> Path:
    return secrets_dir / "bridge.token"


def ensure_token(secrets_dir: Path) -> str:
    path = token_file(secrets_dir)
    if not path.exists():
        write_private(path, secrets.token_urlsafe(32) + "\n", replace=False)
    return read_token(secrets_dir)


def read_token(secrets_dir: Path) -> str:
    path = token_file(secrets_dir)
    try:
        return path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(
            f"{path} cannot be read ({problem}): start the bridge once with `penfriend up`"
        ) from problem
