"""The webhook: signed JSON in, signed JSON out, for programs of the owner's own. docs/channels.md has a client.

What comes in is answered `kept` only after it was committed, so a program repeats until it hears that; the repetition is
harmless, because a message is named by its own `id`. Both directions are signed like the control API. It listens on a port
of its own, so that it can be shown to a network without the bridge's loopback HTTP.
"""

import asyncio
import hashlib
import json
from collections import deque
from dataclasses import dataclass
from urllib.parse import urlsplit

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.clock import Clock, Instant
from core.control.signing import MIN_SECRET_BYTES, ControlKey, sign, verify
from core.errors import SettingsError, SignatureRefused
from core.ids import Account, ChatId, EventKey, SenderId, new_ulid
from core.settings import Webhook
from core.text.split import Unit

from .contract import Batch, Capabilities, ChannelStopped, Health, Outgoing, SendOutcome, Sent, Update, UpdateKind
from .transport import Answer, Line, NoAnswer, outcome_of_fault, outcome_of_status

KEY_NAME = "webhook"
PATH = "/messages"
MAX_BODY = 256 * 1024
MOST_WAITING = 500
KEPT_S = 30.0
SEND_S = 15.0


class Said(BaseModel):
    """One message. `id` names it for ever: the same id with the same words is the same message."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    id: str = Field(min_length=1, max_length=200)
    chat: str = Field(min_length=1, max_length=200)
    sender: str = Field(min_length=1, max_length=200)
    name: str = Field("", max_length=200)
    text: str | None = Field(None, max_length=200_000)
    at_ms: int | None = Field(None, ge=1, le=253_402_300_799_999)


@dataclass(frozen=True, eq=False)
class _Held:
    """A message whose sender waits for the commit."""

    said: Said
    kept: "asyncio.Future[None]"


class WebhookChannel:
    """`Channel` over one secret. Errors: SettingsError for a secret or an address that cannot be used."""

    account = Account("webhook:own")
    capabilities = Capabilities(unit=Unit.CODE_POINTS, limit=16_000, max_parts=8)

    def __init__(self, settings: Webhook, clock: Clock) -> None:
        secret = b"" if settings.secret is None else settings.secret.get_secret_value().encode()
        if len(secret) < MIN_SECRET_BYTES:
            raise SettingsError(
                f"channels.webhook.secret has {len(secret)} bytes: make one of {MIN_SECRET_BYTES} or more"
            )
        if not settings.base_url:
            raise SettingsError("channels.webhook.base_url is missing: say where replies are to be posted")
        self._key = ControlKey(KEY_NAME, "bridge", secret)
        self.fingerprint = hashlib.sha256(secret).hexdigest()[:16]
        self._settings, self._clock = settings, clock
        self._line = Line("the webhook's receiver", settings.base_url)
        self._path = urlsplit(settings.base_url).path.rstrip("/") or "/"
        self._runner: web.AppRunner | None = None
        self._waiting: deque[_Held] = deque()
        self._taken: list[_Held] = []
        self._given: str | None = None
        self._news = asyncio.Event()
        self._detail = "not listening yet"

    @property
    def port(self) -> int:
        """Where it listens; 0 in the settings means any that is free."""
        assert self._runner is not None, "it listens from the first poll on"
        return int(self._runner.addresses[0][1])

    def health(self) -> Health:
        return Health(self._runner is not None, sending=True, signed_in=True, detail=self._detail)

    async def close(self) -> None:
        for held in (*self._waiting, *self._taken):
            if not held.kept.done():
                held.kept.cancel()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None
        await self._line.close()

    # --- receiving -----------------------------------------------------------------------------------------------

    async def poll(self, cursor: str | None) -> Batch:
        if self._runner is None:
            await self._listen()
        if cursor == self._given:
            self._tell_kept()
        else:  # the last batch could not be kept: it comes again
            self._waiting.extendleft(reversed(self._taken))
            self._taken = []
        while not self._waiting:
            self._news.clear()
            await self._news.wait()
        while self._waiting and len(self._taken) < 100:
            self._taken.append(self._waiting.popleft())
        self._given = new_ulid(self._clock())
        return Batch(tuple(_update(held.said) for held in self._taken), self._given)

    async def _listen(self) -> None:
        app = web.Application(client_max_size=MAX_BODY)
        app.add_routes([web.post(PATH, self._receive)])
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=2)
        await runner.setup()
        host, port = self._settings.host, self._settings.port
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as taken:
            await runner.cleanup()
            self._detail = f"port {port} on {host} cannot be used ({taken.strerror}): set channels.webhook.port"
            raise ChannelStopped(self._detail) from taken
        self._runner = runner
        self._detail = f"listening on {host}:{self.port}"

    def _tell_kept(self) -> None:
        taken, self._taken = self._taken, []
        for held in taken:
            if not held.kept.done():
                held.kept.set_result(None)

    async def _receive(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            verify([self._key], request.headers, "POST", request.path_qs, body, self._clock() // 1000)
            said = Said.model_validate_json(body)
        except SignatureRefused as refused:
            return _refuse(refused.status, str(refused))
        except ValidationError as wrong:
            return _refuse(400, f"not understood: {_first_fault(wrong)}")
        if len(self._waiting) >= MOST_WAITING:
            return _refuse(503, f"{MOST_WAITING} messages wait already: send it again later")
        return await self._until_kept(said)

    async def _until_kept(self, said: Said) -> web.Response:
        held = _Held(said, asyncio.get_running_loop().create_future())
        self._waiting.append(held)
        self._news.set()
        await asyncio.wait({held.kept}, timeout=KEPT_S)
        if held.kept.done() and not held.kept.cancelled():
            return web.json_response({"kept": said.id})
        return _refuse(503, "not kept yet: send it again with the same id")

    # --- sending -------------------------------------------------------------------------------------------------

    async def send(self, part: Outgoing) -> SendOutcome:
        facts = {
            "id": part.transaction_id,
            "chat": part.chat,
            "text": part.text,
            "answers": part.answers,
            "last": part.last,
        }
        body = json.dumps(facts, ensure_ascii=False).encode()
        now = self._clock()
        signed = sign(self._key, new_ulid(now), now // 1000, "POST", self._path, body)
        headers = {"Content-Type": "application/json", **signed}
        try:
            answer = await self._line.ask("POST", "", content=body, headers=headers, timeout_s=SEND_S)
        except NoAnswer as fault:
            return outcome_of_fault(fault)
        return _outcome(answer)


def _update(said: Said) -> Update:
    return Update(
        event_key=EventKey(said.id),
        kind=UpdateKind.MESSAGE,
        chat=ChatId(said.chat),
        sender=SenderId(said.sender),
        body=said.model_dump_json(),
        text=None if said.text is None else said.text.replace("\0", "\ufffd"),
        sender_name=said.name,
        said_at=None if said.at_ms is None else Instant(said.at_ms),
    )


def _outcome(answer: Answer) -> SendOutcome:
    """A receiver that gives the message an id has it; an empty yes is accepted; a page is no answer."""
    if not answer.ok or (answer.body and answer.json is None):
        return outcome_of_status("the webhook's receiver", answer)
    name = (answer.json or {}).get("id")
    if isinstance(name, str | int) and name:
        return SendOutcome(Sent.SENT, platform_id=str(name)[:200])
    return SendOutcome(Sent.ACCEPTED, reason="the receiver took it without giving it an id")


def _first_fault(wrong: ValidationError) -> str:
    fault = wrong.errors(include_input=False, include_url=False, include_context=False)[0]
    return f"{'.'.join(str(step) for step in fault['loc']) or 'body'}: {fault['msg']}"


def _refuse(status: int, why: str) -> web.Response:
    return web.json_response({"detail": why}, status=status)
