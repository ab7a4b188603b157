"""WeChat through Tencent's iLink bot API: one person, who scanned the code, talks with one bot.

What the platform promises is little, and none of it is made more here. It lets go of messages when it hands them over,
so those in flight at the moment of a crash are lost. Its yes to a send means accepted; without an id it stays at that.
A send needs the token of the person's latest message, and only so many are taken for each (`docs/channels.md`).
"""

import asyncio
from pathlib import Path

from core.errors import PenfriendError
from core.ids import Account
from core.text.split import Unit

from .contract import Batch, Capabilities, ChannelStopped, ChannelTrouble, Health, Outgoing, SendOutcome, Sent
from .reading import Json, objects_in
from .transport import Answer, NoAnswer, outcome_of_fault, outcome_of_status
from .wechat_messages import read_message
from .wechat_session import Session, SignedLine, checked_address, code_in, load_session

ACCOUNT = Account("wechat:persona")
"""One sign-in at a time; the name stays the same over sign-ins, so that what waits in the outbox stays."""

STALE = -14
NO_CONTEXT = -2
HOLD_S = 35.0
SLACK_S = 10.0
"""Our time to wait is longer than the server's hold, or we would lose the race on every quiet poll."""
LONGEST_HOLD_S = 120.0
NOTICE_S = 3.0

SIGN_IN = "sign in with `penfriend pair wechat`"
SIGNED_OUT = f"WeChat is signed out (another program may have taken the account): {SIGN_IN}"


class WeChatChannel:
    """`Channel` over one sign-in, which may be made, lost and made again while this runs."""

    account = ACCOUNT
    capabilities = Capabilities(
        unit=Unit.CODE_POINTS,
        limit=1_800,
        max_parts=8,
        pace_ms=1_500,
        parts_per_inbound=10,
        reply_window_ms=24 * 3_600_000,
        twins=True,
    )

    def __init__(self, secrets_dir: Path, configured_url: str, *, hold_s: float = HOLD_S) -> None:
        self._secrets_dir, self._configured_url = secrets_dir, configured_url
        self._hold_s = hold_s
        self._line: SignedLine | None = None
        self._old_lines: list[SignedLine] = []
        self._stale = ""
        self._started = ""
        self._in_flight: asyncio.Task[Answer] | None = None
        self._tickets: dict[str, str] = {}
        self._receiving, self._detail, self._unconfirmed = False, "starting", 0
        self.fingerprint = "signed-out"
        try:
            self._take_up()
        except PenfriendError as problem:  # a broken session must not keep the other channels from starting
            self._detail = str(problem)

    def health(self) -> Health:
        signed_in = self._line is not None and not self._is_stale()
        detail = self._detail
        if signed_in and self._unconfirmed:
            detail += f"; the last {self._unconfirmed} sends were accepted without a receipt"
        return Health(self._receiving and signed_in, sending=signed_in, signed_in=signed_in, detail=detail)

    async def close(self) -> None:
        await self._let_go()
        started, self._started = self._started, ""
        if self._line is not None and started == self.fingerprint and not self._is_stale():
            await self._quietly(self._line, "msg/notifystop", {})
        for line in (*self._old_lines, *([] if self._line is None else [self._line])):
            await line.close()

    # --- the sign-in ---------------------------------------------------------------------------------------------

    def _take_up(self) -> SignedLine | None:
        """The session as it is on disk now."""
        session = self._load()
        if session is None:
            self._detail = SIGN_IN
            return None
        if self._line is None or self._line.session != session:
            if self._line is not None:
                self._old_lines.append(self._line)
            self._line, self.fingerprint = SignedLine(session), session.fingerprint
            self._tickets, self._detail = {}, "signed in"
        return self._line

    def _load(self) -> Session | None:
        session = load_session(self._secrets_dir)
        if session is not None:
            checked_address(session.base_url, self._configured_url)
        return session

    def _is_stale(self) -> bool:
        return self._stale == self.fingerprint

    def _sign_out(self) -> None:
        self._stale, self._detail = self.fingerprint, SIGNED_OUT

    # --- receiving -----------------------------------------------------------------------------------------------

    async def poll(self, cursor: str | None) -> Batch:
        """The cursor names the session it belongs to: one of another session is of no use."""
        line = await self._signed_line()
        mark = f"{self.fingerprint} "
        place = cursor.removeprefix(mark) if cursor and cursor.startswith(mark) else ""
        if self._started != self.fingerprint:
            await self._quietly(line, "msg/notifystart", {})
            self._started = self.fingerprint
        answer = await self._get_updates(line, place)
        self._receiving, self._detail = True, "signed in"
        new = answer.get("get_updates_buf")
        return Batch(
            tuple(read_message(raw) for raw in objects_in(answer, "msgs")),
            mark + (new if isinstance(new, str) and new else place),
        )

    async def _signed_line(self) -> SignedLine:
        before = self._line
        try:
            line = self._take_up()
        except PenfriendError as problem:
            raise self._stopped(str(problem)) from None
        if line is not before:
            await self._let_go()
        if line is None:
            raise self._stopped(f"WeChat is not signed in: {SIGN_IN}")
        if self._is_stale():
            raise self._stopped(SIGNED_OUT)
        return line

    async def _get_updates(self, line: SignedLine, place: str) -> Json:
        answer = await self._poll_once(line, place)
        if code_in(answer) == STALE:
            # Seen to help once after a server-side change; a second refusal is final, and nobody knocks on.
            await self._quietly(line, "msg/notifystart", {})
            answer = await self._poll_once(line, place)
        if code_in(answer) == STALE:
            self._sign_out()
            raise self._stopped(SIGNED_OUT)
        if code := code_in(answer):
            raise self._trouble(f"wechat answered getupdates with {code}")
        self._follow_hold(answer)
        return answer

    async def _poll_once(self, line: SignedLine, place: str) -> Json:
        """A poll that is broken off goes on and its answer is taken by the next one: the platform would not repeat it."""
        if self._in_flight is None:
            asking = line.call("getupdates", {"get_updates_buf": place}, timeout_s=self._hold_s + SLACK_S)
            self._in_flight = asyncio.create_task(asking)
        in_flight = self._in_flight
        try:
            answer = await asyncio.shield(in_flight)
        except NoAnswer as fault:
            if fault.timed_out:
                return {}
            self._receiving, self._detail = False, fault.reason
            raise
        finally:
            if in_flight.done():
                self._in_flight = None
        if not answer.ok or answer.json is None:
            raise self._trouble(f"wechat answered getupdates with status {answer.status}")
        return answer.json

    async def _let_go(self) -> None:
        in_flight, self._in_flight = self._in_flight, None
        if in_flight is not None:
            in_flight.cancel()
            await asyncio.gather(in_flight, return_exceptions=True)

    def _follow_hold(self, answer: Json) -> None:
        hold_ms = answer.get("longpolling_timeout_ms")
        if isinstance(hold_ms, int) and hold_ms > 0:
            self._hold_s = min(LONGEST_HOLD_S, hold_ms / 1000)

    # --- sending -------------------------------------------------------------------------------------------------

    async def send(self, part: Outgoing) -> SendOutcome:
        if self._line is None or self._is_stale():
            return SendOutcome(Sent.NOT_SENT, reason=SIGNED_OUT)
        if not part.reply_token:
            return SendOutcome(Sent.DEFERRED, reason="the platform takes answers only after the person has written")
        message = {
            "from_user_id": "",
            "to_user_id": part.chat,
            "client_id": part.transaction_id,
            "message_type": 2,
            "message_state": 2,
            "item_list": [{"type": 1, "text_item": {"text": part.text}}],
            "context_token": part.reply_token,
        }
        try:
            answer = await self._line.call("sendmessage", {"msg": message})
        except NoAnswer as fault:
            return outcome_of_fault(fault)
        return self._outcome(answer)

    def _outcome(self, answer: Answer) -> SendOutcome:
        if not answer.ok or answer.json is None:
            return outcome_of_status("wechat", answer)
        code, says = code_in(answer.json), str(answer.json.get("errmsg", ""))[:100]
        if code == STALE:
            self._sign_out()
            return SendOutcome(Sent.NOT_SENT, reason=SIGNED_OUT)
        if code == NO_CONTEXT:
            reason = f"wechat takes no more answers to that message ({says or 'no reason given'})"
            return SendOutcome(Sent.DEFERRED, reason=f"{reason}: it waits for the person's next one")
        if code:
            return SendOutcome(Sent.REFUSED, reason=f"wechat refused it with {code} ({says})")
        number = answer.json.get("message_id")
        if not number:
            self._unconfirmed += 1
            return SendOutcome(Sent.ACCEPTED, reason="accepted without an id: whether it is shown is not known")
        self._unconfirmed = 0
        return SendOutcome(Sent.SENT, platform_id=str(number))

    async def show_typing(self, chat: str, reply_token: str | None) -> None:
        """Best effort: says nothing of what comes of it."""
        line = self._line
        if line is None or self._is_stale() or not reply_token:
            return
        if chat not in self._tickets:
            facts: Json = {"ilink_user_id": chat, "context_token": reply_token}
            ticket = (await self._quietly(line, "getconfig", facts)).get("typing_ticket")
            if not isinstance(ticket, str) or not ticket:
                return
            self._tickets[chat] = ticket
        facts = {"ilink_user_id": chat, "typing_ticket": self._tickets[chat], "status": 1}
        await self._quietly(line, "sendtyping", facts)

    async def _quietly(self, line: SignedLine, method: str, facts: Json) -> Json:
        """For calls whose failure changes nothing."""
        try:
            answer = await line.call(method, facts, timeout_s=NOTICE_S)
        except NoAnswer:
            return {}
        return answer.json or {}

    def _trouble(self, reason: str) -> ChannelTrouble:
        self._receiving, self._detail = False, reason
        return ChannelTrouble(reason)

    def _stopped(self, reason: str) -> ChannelStopped:
        self._receiving, self._detail = False, reason
        return ChannelStopped(reason)
