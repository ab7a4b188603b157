"""A desk for tests: the real application over a real store, an owner's browser, and signed requests of bridge and digest."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from pydantic import BaseModel

from core.clock import Instant
from core.control.keys import ensure_keys, load_keys
from core.control.messages import SaidRecord, SyncBatch
from core.control.signing import Scope, current_key, sign
from core.settings import Settings
from website.app import create_app, open_parts
from website.owner.claim_link import link_file
from website.owner.start import prepare
from website.parts import Parts

NOON = Instant(1_780_000_000_000)
PASSWORD = "a long walk before breakfast"
OURS = {"origin": "http://desk.test", "sec-fetch-site": "same-origin"}


@dataclass
class Time:
    """A clock that a test turns."""

    now: Instant = NOON

    def __call__(self) -> Instant:
        return self.now

    def pass_ms(self, ms: int) -> None:
        self.now = Instant(self.now + ms)


@dataclass
class DeskWorld:
    parts: Parts
    time: Time
    client: httpx.AsyncClient
    sent: int = 0
    cookies: dict[str, str] = field(default_factory=dict)

    # --- the owner's browser

    async def claim(self) -> httpx.Response:
        token = link_file(self.parts.settings).read_text().strip().rpartition("=")[2]
        return await self.submit("/setup", token=token, password=PASSWORD, again=PASSWORD)

    async def sign_in(self, password: str = PASSWORD, **more: str) -> httpx.Response:
        return await self.submit("/owner/sign-in", password=password, **more)

    async def submit(self, path: str, **fields: str) -> httpx.Response:
        """Posts a form as our own page does."""
        return await self.send(path, OURS, fields)

    async def send(self, path: str, headers: dict[str, str], fields: dict[str, str]) -> httpx.Response:
        """Posts a form with these headers and the session's cookie."""
        return self._taken(await self.client.post(path, data=fields, headers={**headers, **self._cookie()}))

    async def press(self, path: str, **fields: str) -> httpx.Response:
        """The same with the session's token."""
        return await self.submit(path, csrf=await self.token(), **fields)

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return self._taken(await self.client.get(path, headers={**headers, **self._cookie()}))

    async def token(self) -> str:
        found = re.search(r'data-csrf="([0-9a-f]+)"', (await self.get("/owner/pairings")).text)
        assert found, "an owner's page carries the session's token"
        return found[1]

    def _cookie(self) -> dict[str, str]:
        # By hand: httpx does not send a Secure cookie over http, browsers on loopback do.
        return {"cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())} if self.cookies else {}

    def _taken(self, answer: httpx.Response) -> httpx.Response:
        for line in answer.headers.get_list("set-cookie"):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
            if not value or "Max-Age=0" in line:
                del self.cookies[name]
        return answer

    # --- bridge and digest

    async def control(
        self, scope: Scope, path: str, message: BaseModel | bytes = b"", method: str = "POST", request_id: str = ""
    ) -> httpx.Response:
        body = message if isinstance(message, bytes) else message.model_dump_json().encode()
        headers = self.signed(scope, method, path, body, request_id)
        return await self.client.request(method, f"/control/v1{path}", content=body, headers=headers)

    def signed(self, scope: Scope, method: str, path: str, body: bytes, request_id: str = "") -> dict[str, str]:
        self.sent += 1
        now_s = self.time.now // 1000
        key = current_key(load_keys(self.parts.settings.secrets_dir), scope, now_s)
        return sign(key, request_id or f"request-{self.sent}", now_s, method, f"/control/v1{path}", body)

    async def say(self, *said: SaidRecord) -> httpx.Response:
        return await self.control("bridge", "/sync", SyncBatch(records=said))


def a_record(key: str, text: str, **more: object) -> SaidRecord:
    facts: dict[str, object] = {
        "key": key,
        "turn": f"turn-{key}",
        "conversation": "c1",
        "account": "console:local",
        "role": "owner",
        "speaker": "person",
        "text": text,
        "said_at_ms": NOON - 1000,
    }
    return SaidRecord.model_validate({**facts, **more})


@asynccontextmanager
async def a_desk(tmp_path: Path, **settings: object) -> AsyncIterator[DeskWorld]:
    site = {"public_url": "http://desk.test"}
    chosen = Settings.model_validate({"data_dir": tmp_path / "data", "site": site, **settings})
    time = Time()
    parts = open_parts(chosen, clock=time)
    async with parts.store:
        ensure_keys(chosen.secrets_dir, time.now)
        await prepare(parts)
        transport = httpx.ASGITransport(app=create_app(parts))  # type: ignore[arg-type]  # the two spell ASGI's types differently
        async with httpx.AsyncClient(transport=transport, base_url="http://desk.test") as client:
            yield DeskWorld(parts, time, client)
