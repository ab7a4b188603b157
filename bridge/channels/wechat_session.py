"""A WeChat sign-in: what it gave, where it is kept, and the requests that carry it.

The session lies in `data/secrets/wechat.json` (0600). The bridge reads it before each poll, so a new sign-in is taken up
without a restart. Addresses that come over the network are believed only on the platform's own domain.
"""

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from core.control.keys import write_private
from core.errors import BadInput, SettingsError

from .transport import Answer, Json, Line

DOMAIN = ".weixin.qq.com"
APP_ID = "bot"
PROTOCOL = "2.4.9"
"""The published client whose protocol this speaks; the platform refuses requests that do not name one."""
APP_VERSION = str(2 << 16 | 4 << 8 | 9)
AGENT = "Penfriend/0.1"

CALL_S = 15.0


@dataclass(frozen=True)
class Session:
    """`user` is the person who scanned: the only one who can write to this bot."""

    token: SecretStr
    bot: str
    user: str
    base_url: str

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.token.get_secret_value().encode()).hexdigest()[:16]


class _Kept(BaseModel):
    model_config = ConfigDict(extra="forbid")
    token: str = Field(min_length=1)
    bot: str
    user: str
    base_url: str


def session_file(secrets_dir: Path) -> Path:
    return secrets_dir / "wechat.json"


def load_session(secrets_dir: Path) -> Session | None:
    """None before the first sign-in. Raises SettingsError for a file that holds something else."""
    path = session_file(secrets_dir)
    try:
        kept = _Kept.model_validate_json(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError, ValidationError) as problem:
        raise SettingsError(
            f"{path} is no WeChat sign-in ({type(problem).__name__}): sign in again with `penfriend pair wechat`"
        ) from None
    return Session(SecretStr(kept.token), kept.bot, kept.user, kept.base_url)


def keep_session(secrets_dir: Path, session: Session) -> None:
    facts = {
        "token": session.token.get_secret_value(),
        "bot": session.bot,
        "user": session.user,
        "base_url": session.base_url,
    }
    write_private(session_file(secrets_dir), json.dumps(facts) + "\n", replace=True)


def checked_address(url: str, configured: str) -> str:
    """The address, when it is the platform's own or lies on the host of `channels.wechat.base_url`. Else BadInput.

    >>> checked_address("https://ilink2.weixin.qq.com/", "https://ilinkai.weixin.qq.com")
    'https://ilink2.weixin.qq.com'
    """
    try:
        parts, ours = urlsplit(url), urlsplit(configured)
        own = parts.scheme == "https" and (parts.hostname or "").endswith(DOMAIN) and parts.port in (None, 443)
        same = (parts.scheme, parts.hostname, parts.port) == (ours.scheme, ours.hostname, ours.port)
    except ValueError:
        own = same = False
    if not (own or same) or "@" in url or "?" in url or "#" in url:
        raise BadInput(f"the platform named the address {url[:100]!r}, which is not its own: nothing was sent there")
    return url.rstrip("/")


def headers_of(token: SecretStr | None) -> dict[str, str]:
    """All of them: requests without the `iLink-` ones are answered as if the session were dead."""
    number = str(secrets.randbits(32)).encode()
    headers = {
        "AuthorizationType": "ilink_bot_token",
        "X-WECHAT-UIN": base64.b64encode(number).decode(),
        **APP_HEADERS,
    }
    if token is not None:
        headers["Authorization"] = f"Bearer {token.get_secret_value()}"
    return headers


APP_HEADERS = {"iLink-App-Id": APP_ID, "iLink-App-ClientVersion": APP_VERSION}


class SignedLine:
    """Requests of one session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._line = Line("wechat", session.base_url)

    async def call(self, method: str, facts: Json, *, timeout_s: float = CALL_S) -> Answer:
        """`method` is what stands after `ilink/bot/`. Raises NoAnswer."""
        body = {**facts, "base_info": {"channel_version": PROTOCOL, "bot_agent": AGENT}}
        headers = headers_of(self.session.token)
        return await self._line.ask("POST", f"/ilink/bot/{method}", body, headers=headers, timeout_s=timeout_s)

    async def close(self) -> None:
        await self._line.close()


def code_in(answer: Json) -> int:
    """0 for success: the platform leaves `ret` and `errcode` out as often as it sends 0.

    >>> code_in({}), code_in({"ret": 0, "errcode": -14})
    (0, -14)
    """
    for name in ("errcode", "ret"):
        value = answer.get(name)
        if isinstance(value, int) and value != 0:
            return value
    return 0
