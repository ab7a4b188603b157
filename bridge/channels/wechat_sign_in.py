"""Signing in to WeChat with a QR code: the states of the platform, and what to do in each.

    wait, scaned          go on asking                          expired, verify_code_blocked   a new code, three at most
    need_verifycode       ask the person for the number on      scaned_but_redirect            go on at another host
                          their phone, ask on with it           binded_redirect                bound already: nothing new
    confirmed             the session                           (any fault of the line)        as wait

Showing the code, asking and sleeping are the caller's, so the same runs in a terminal and behind a page.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import quote

from pydantic import SecretStr

from core.clock import Clock
from core.errors import BadInput, ControlUnreachable

from .reading import Json
from .transport import Answer, Line, NoAnswer
from .wechat_session import APP_HEADERS, Session, checked_address, headers_of

MAX_CODES = 3
TOTAL_S = 480
STATUS_S = 35.0
PAUSE_S = 1.0
START_S = 15.0


class Person(Protocol):
    """Whoever holds the phone."""

    def show_code(self, url: str) -> None: ...

    def tell(self, what: str) -> None:
        """`scanned`, `expired`, `blocked` or `redirected`."""
        ...

    async def ask_number(self, *, again: bool) -> str:
        """The number that the phone shows; `again` when the last one was wrong."""
        ...


@dataclass
class SignIn:
    """One try at signing in. `before` is the session to be replaced: the platform wants to know its token."""

    base_url: str
    person: Person
    clock: Clock
    before: Session | None = None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    status_s: float = STATUS_S
    _codes: int = field(default=0, init=False)
    _code: str = field(default="", init=False)
    _number: str = field(default="", init=False)
    _host: str = field(default="", init=False)
    _told: str = field(default="", init=False)

    async def run(self) -> Session | None:
        """The new session, or None when this account is bound to us already.

        Errors: BadInput when time or codes are used up or an address is not the platform's; ControlUnreachable.
        """
        until = self.clock() + TOTAL_S * 1000
        await self._new_code()
        while self.clock() < until:
            status = await self._status()
            match status.get("status"):
                case "confirmed":
                    return self._session(status)
                case "binded_redirect":
                    return None
                case "need_verifycode":
                    self._number = await self.person.ask_number(again=bool(self._number))
                    continue
                case "expired":
                    await self._new_code("expired")
                case "verify_code_blocked":
                    await self._new_code("blocked")
                case "scaned_but_redirect":
                    self._redirect(status)
                case "scaned":
                    self._number = ""
                    self._tell("scanned")
                case _:
                    pass
            await self.sleep(PAUSE_S)
        raise BadInput(f"nobody confirmed the sign-in within {TOTAL_S // 60} minutes: start again")

    async def _new_code(self, why: str = "") -> None:
        if self._codes == MAX_CODES:
            raise BadInput(f"{MAX_CODES} codes were used up without a sign-in: wait a little and start again")
        if why:
            self._tell(why)
        self._codes, self._number, self._told = self._codes + 1, "", ""
        tokens = [] if self.before is None else [self.before.token.get_secret_value()]
        answer = await self._ask("POST", "/ilink/bot/get_bot_qrcode?bot_type=3", {"local_token_list": tokens}, START_S)
        facts = answer.json or {}
        code, picture = facts.get("qrcode"), facts.get("qrcode_img_content")
        if not isinstance(code, str) or not isinstance(picture, str) or not code or not picture:
            raise ControlUnreachable(f"wechat gave no code (status {answer.status}): try again later")
        self._code = code
        self.person.show_code(picture)

    async def _ask(self, method: str, path: str, body: Json | None, timeout_s: float) -> Answer:
        line = Line("wechat", self._host or self.base_url)
        headers = APP_HEADERS if method == "GET" else headers_of(None)
        try:
            return await line.ask(method, path, body, headers=headers, timeout_s=timeout_s)
        except NoAnswer as fault:
            if method == "GET":
                return Answer(0, "", None)
            raise ControlUnreachable(fault.reason) from fault
        finally:
            await line.close()

    async def _status(self) -> Json:
        """Long polling; a fault of the line is as good as `wait`."""
        number = f"&verify_code={quote(self._number, safe='')}" if self._number else ""
        path = f"/ilink/bot/get_qrcode_status?qrcode={quote(self._code, safe='')}{number}"
        answer = await self._ask("GET", path, None, self.status_s)
        return answer.json or {} if answer.ok else {}

    def _redirect(self, status: Json) -> None:
        host = status.get("redirect_host")
        if isinstance(host, str) and host:
            scheme = self.base_url.partition(":")[0]
            self._host = checked_address(f"{scheme}://{host}", self.base_url)
            self._tell("redirected")

    def _session(self, status: Json) -> Session:
        token, bot, user = (status.get(name) for name in ("bot_token", "ilink_bot_id", "ilink_user_id"))
        if not (isinstance(token, str) and token and isinstance(bot, str) and bot and isinstance(user, str)):
            raise BadInput("wechat confirmed the sign-in without a token or an account: start again")
        address = status.get("baseurl")
        base_url = checked_address(address, self.base_url) if isinstance(address, str) and address else self.base_url
        return Session(SecretStr(token), bot, user, base_url)

    def _tell(self, what: str) -> None:
        if what != self._told:
            self._told = what
            self.person.tell(what)
