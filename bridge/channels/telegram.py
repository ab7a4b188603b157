"""Telegram's Bot API by long polling. One bot is one account; its number is the part of the token before the colon.

An update is acknowledged by our next poll, so what was polled and not committed comes again. The offset is made of the
batch and never compared with the one before: after an idle week the numbers start anew, maybe lower. Sends have no key
that would make a second one harmless. The token stands in every address, so no address is ever shown or logged.
"""

import asyncio
import hashlib
import re

from core.errors import SettingsError
from core.ids import Account
from core.settings import Telegram
from core.text.split import Unit

from .contract import Batch, Capabilities, ChannelStopped, ChannelTrouble, Health, Outgoing, SendOutcome, Sent
from .reading import Json, Unreadable, needed_number, number_in, object_in, objects_in, text_in
from .telegram_text import Entity, with_entities
from .telegram_updates import Me, read_update
from .transport import Answer, Line, NoAnswer, outcome_of_fault, outcome_of_status

HOLD_S = 50
"""The server's own maximum. Our time to wait is longer, or we would lose the race on every quiet poll."""
SLACK_S = 10
SEND_S = 15.0
LONGEST_WAIT_S = 60.0
LIMIT = 3_900
"""The platform takes 4,096 UTF-16 units after entities; the rest is room for what a later version adds."""
PACE_MS = 1_100
"""About one message a second in a chat."""

_TOKEN = re.compile(r"(\d{1,20}):[A-Za-z0-9_-]{20,}")


class TelegramChannel:
    """`Channel` over one bot. Errors: SettingsError for a token that cannot be one."""

    capabilities = Capabilities(unit=Unit.UTF16, limit=LIMIT, pace_ms=PACE_MS)

    def __init__(self, settings: Telegram, *, hold_s: int = HOLD_S, send_s: float = SEND_S) -> None:
        token = "" if settings.token is None else settings.token.get_secret_value().strip()
        found = _TOKEN.fullmatch(token)
        if found is None:
            raise SettingsError("channels.telegram.token is not a bot's token: copy it from BotFather (number:letters)")
        self.account = Account(f"telegram:{found[1]}")
        self.fingerprint = hashlib.sha256(token.encode()).hexdigest()[:16]
        self._path = f"/bot{token}/"
        self._line = Line("telegram", settings.base_url)
        self._groups, self._hold_s, self._send_s = settings.groups, hold_s, send_s
        self._me: Me | None = None
        self._webhook_removed = False
        self._receiving, self._signed_in, self._detail = False, True, "starting"

    async def close(self) -> None:
        await self._line.close()

    def health(self) -> Health:
        return Health(self._receiving, sending=self._signed_in, signed_in=self._signed_in, detail=self._detail)

    # --- receiving -----------------------------------------------------------------------------------------------

    async def poll(self, cursor: str | None) -> Batch:
        self._me = me = self._me or await self._who_am_i()
        body: Json = {"timeout": self._hold_s, "limit": 100, "allowed_updates": ["message", "edited_message"]}
        if cursor:
            body["offset"] = int(cursor)
        answer = await self._receive("getUpdates", body, self._hold_s + SLACK_S)
        updates = objects_in(answer, "result")
        self._note(receiving=True, signed_in=True, detail=f"@{me.username}")
        numbers = [number for raw in updates if (number := _update_id(raw)) is not None]
        return Batch(
            tuple(read_update(raw, me, groups=self._groups) for raw in updates),
            str(max(numbers) + 1) if numbers else cursor or "",
        )

    async def _who_am_i(self) -> Me:
        answer = await self._receive("getMe", {}, self._send_s)
        try:
            result = object_in(answer, "result") or {}
            return Me(needed_number(result, "id"), text_in(result, "username") or "")
        except Unreadable as why:
            raise self._trouble(f"telegram's answer to getMe is not understood: {why}") from why

    async def _receive(self, method: str, body: Json, timeout_s: float) -> Json:
        """A good answer, or ChannelStopped, or ChannelTrouble."""
        try:
            answer = await self._line.ask("POST", self._path + method, body, timeout_s=timeout_s)
        except NoAnswer as fault:
            self._note(receiving=False, detail=fault.reason)
            raise
        if answer.ok and answer.json is not None and answer.json.get("ok") is True:
            return answer.json
        await self._say_why_not(answer)
        raise self._trouble(f"telegram answered {answer.status}: {self._says(answer)}")

    async def _say_why_not(self, answer: Answer) -> None:
        """Raises for what only the owner can change, and waits as long as the platform asks."""
        if answer.status in (401, 404):
            self._signed_in = False
            raise self._stopped("telegram refuses the token: make a new one with BotFather and set channels.telegram")
        if answer.status == 409 and "webhook" in self._says(answer):
            await self._remove_webhook()
        elif answer.status == 409:
            raise self._stopped(
                "another program polls this telegram bot, and only one may: stop it, or use a bot of its own"
            )
        elif answer.status == 429:
            await asyncio.sleep(min(LONGEST_WAIT_S, (_retry_after_ms(answer) or 1000) / 1000))

    async def _remove_webhook(self) -> None:
        """Once; pending updates stay. Whoever sets it again wants it more than we do."""
        if self._webhook_removed:
            raise self._stopped(
                "a webhook is set for this telegram bot again, so it cannot be polled: take the webhook out of the "
                "other program, or use a bot of its own"
            )
        self._webhook_removed = True
        await self._receive("deleteWebhook", {"drop_pending_updates": False}, self._send_s)
        raise self._trouble("a webhook was set for this telegram bot; it was removed, the updates it kept are polled")

    # --- sending -------------------------------------------------------------------------------------------------

    async def send(self, part: Outgoing) -> SendOutcome:
        text, entities = with_entities(part.text)
        if not text.strip():
            return SendOutcome(Sent.REFUSED, reason="there is nothing to send in this part")
        try:
            answer = await self._post(part, text, entities)
            if entities and answer.status == 400 and "parse" in self._says(answer):
                # A refusal for its entities was certainly not sent, so the same text may go without them.
                answer = await self._post(part, text, [])
        except NoAnswer as fault:
            return outcome_of_fault(fault)
        return self._outcome(answer)

    async def _post(self, part: Outgoing, text: str, entities: list[Entity]) -> Answer:
        body: Json = {"chat_id": int(part.chat), "text": text, "link_preview_options": {"is_disabled": True}}
        if entities:
            body["entities"] = entities
        if part.chat.startswith("-") and part.answers:
            number = part.answers.split("/")[1]
            body["reply_parameters"] = {"message_id": int(number), "allow_sending_without_reply": True}
        return await self._line.ask("POST", self._path + "sendMessage", body, timeout_s=self._send_s)

    def _outcome(self, answer: Answer) -> SendOutcome:
        says = self._says(answer)
        if answer.ok and answer.json is not None and answer.json.get("ok") is True:
            number = _message_id(answer.json)
            if number is None:
                return SendOutcome(Sent.UNKNOWN, reason="telegram said ok without a message id")
            return SendOutcome(Sent.SENT, platform_id=str(number))
        if answer.status in (401, 404):
            self._note(receiving=False, signed_in=False, detail="telegram refuses the token")
            return SendOutcome(Sent.NOT_SENT, reason="telegram refuses the token")
        if answer.status == 429:
            return SendOutcome(
                Sent.NOT_SENT, retry_after_ms=_retry_after_ms(answer), reason="telegram asks to slow down"
            )
        if "migrate_to_chat_id" in _parameters(answer):
            return SendOutcome(Sent.REFUSED, reason="the group became a supergroup with another id: pair it again")
        return outcome_of_status("telegram", answer, says)

    async def show_typing(self, chat: str, reply_token: str | None) -> None:
        """Lasts about five seconds."""
        body: Json = {"chat_id": int(chat), "action": "typing"}
        try:
            await self._line.ask("POST", self._path + "sendChatAction", body, timeout_s=3.0)
        except NoAnswer:
            return

    # --- what is known -------------------------------------------------------------------------------------------

    def _says(self, answer: Answer) -> str:
        """Telegram's own sentence; a proxy that shows the address in an error must not show the token with it."""
        says = (answer.json or {}).get("description")
        return says.replace(self._path[4:-1], "…")[:200] if isinstance(says, str) else ""

    def _note(self, *, receiving: bool, signed_in: bool | None = None, detail: str) -> None:
        self._receiving, self._detail = receiving, detail
        self._signed_in = self._signed_in if signed_in is None else signed_in

    def _trouble(self, reason: str) -> ChannelTrouble:
        self._note(receiving=False, detail=reason)
        return ChannelTrouble(reason)

    def _stopped(self, reason: str) -> ChannelStopped:
        self._note(receiving=False, detail=reason)
        return ChannelStopped(reason)


def _update_id(raw: Json) -> int | None:
    try:
        return number_in(raw, "update_id")
    except Unreadable:
        return None


def _message_id(answer: Json) -> int | None:
    try:
        return number_in(object_in(answer, "result") or {}, "message_id")
    except Unreadable:
        return None


def _parameters(answer: Answer) -> Json:
    found = (answer.json or {}).get("parameters")
    return found if isinstance(found, dict) else {}


def _retry_after_ms(answer: Answer) -> int | None:
    seconds = _parameters(answer).get("retry_after")
    return seconds * 1000 if isinstance(seconds, int) and 0 < seconds < 86_400 else answer.retry_after_ms
