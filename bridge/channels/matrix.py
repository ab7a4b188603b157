"""Matrix over the client API: one account, one fixed device, unencrypted rooms.

`since` is ours alone: a batch that was not kept is asked for again. A gap (`limited`) is filled before the batch is given
on, because the next `since` would skip it. A send is a PUT under a transaction id that the server remembers for this
device, so an unclear one may be repeated within twelve hours and stays one event.
"""

import hashlib
import json
from urllib.parse import quote

from core.errors import SettingsError
from core.ids import Account
from core.settings import Matrix
from core.text.split import Unit

from .contract import (
    Batch,
    Capabilities,
    ChannelStopped,
    ChannelTrouble,
    Health,
    Outgoing,
    Poison,
    SendOutcome,
    Sent,
    Update,
)
from .matrix_events import MEMBER, Room, inviter_of, is_our_coming, read_events
from .reading import Json, objects_in
from .transport import Answer, Line, NoAnswer, outcome_of_fault, outcome_of_status

HOLD_S = 30.0
SLACK_S = 10.0
CALL_S = 15.0
RESEND_WINDOW_MS = 12 * 3_600_000
"""Servers forget transaction ids after a day; half of it is safe."""
PAGE = 100
MOST_PAGES = 50
"""Of a gap: 5,000 events. What is older than that is not fetched."""

NOTHING: Json = {"types": []}
FILTER = json.dumps(
    {
        "presence": NOTHING,
        "account_data": NOTHING,
        "room": {"ephemeral": NOTHING, "account_data": NOTHING, "timeline": {"limit": 50}},
    }
)


class MatrixChannel:
    """`Channel` over one account. Errors: SettingsError for settings that cannot be used."""

    capabilities = Capabilities(
        unit=Unit.BYTES, limit=16_000, max_parts=8, pace_ms=200, resend_window_ms=RESEND_WINDOW_MS
    )

    def __init__(self, settings: Matrix, *, hold_s: float = HOLD_S) -> None:
        token = "" if settings.token is None else settings.token.get_secret_value()
        if not settings.user.startswith("@") or ":" not in settings.user or not settings.base_url:
            raise SettingsError("channels.matrix needs base_url and the full user id, such as @persona:example.org")
        self.account = Account(f"matrix:{settings.user}")
        # A place in the stream is good for every token of the account: a new one must not skip what was missed.
        self.fingerprint = hashlib.sha256(f"{settings.base_url} {settings.user}".encode()).hexdigest()[:16]
        self._settings, self._hold_s = settings, hold_s
        self._headers = {"Authorization": f"Bearer {token}"}
        self._line = Line("matrix", settings.base_url)
        self._groups: dict[str, bool] = {}
        self._known = False
        self._receiving, self._signed_in, self._detail = False, True, "starting"

    async def close(self) -> None:
        await self._line.close()

    def health(self) -> Health:
        return Health(self._receiving, sending=self._signed_in, signed_in=self._signed_in, detail=self._detail)

    # --- receiving -----------------------------------------------------------------------------------------------

    async def poll(self, cursor: str | None) -> Batch:
        if not self._known:
            await self._check_who_we_are()
        hold_s = self._hold_s if cursor else 0
        since = f"&since={quote(cursor, safe='')}" if cursor else ""
        path = f"/sync?timeout={int(hold_s * 1000)}&filter={quote(FILTER, safe='')}{since}"
        answer = await self._get(path, hold_s + SLACK_S)
        place = answer.get("next_batch")
        if not isinstance(place, str) or not place:
            raise self._trouble("matrix answered sync without next_batch")
        rooms = _object(answer, "rooms")
        await self._follow_invitations(_object(rooms, "invite"))
        updates: list[Update | Poison] = []
        if cursor:  # without a place there is only history, which is not answered
            for room, facts in _object(rooms, "join").items():
                updates += await self._updates_of(room, facts if isinstance(facts, dict) else {}, cursor)
        self._receiving, self._signed_in, self._detail = True, True, self._settings.user
        return Batch(tuple(updates), place)

    async def _check_who_we_are(self) -> None:
        """A token of another device would make every repeated send a second message."""
        answer = await self._get("/account/whoami", CALL_S)
        user, device = answer.get("user_id"), answer.get("device_id")
        if user != self._settings.user or device != self._settings.device:
            raise self._stopped(
                f"the matrix token belongs to {user} on device {device}, the settings say {self._settings.user} on "
                f"{self._settings.device}: set channels.matrix.user and .device to those, or sign in again"
            )
        self._known = True

    async def _updates_of(self, room: str, facts: Json, since: str) -> list[Update | Poison]:
        timeline = _object(facts, "timeline")
        events = objects_in(timeline, "events")
        if timeline.get("limited") is True:
            events = await self._fill_gap(room, timeline.get("prev_batch"), since) + events
        if any(event.get("type") == MEMBER for event in [*events, *objects_in(_object(facts, "state"), "events")]):
            self._groups.pop(room, None)
        return read_events(events, Room(room, await self._is_group(room)), self._settings.user)

    async def _fill_gap(self, room: str, place: object, since: str) -> list[Json]:
        """What lies between `since` and the timeline, oldest first; not further back than our coming into the room."""
        older: list[Json] = []
        for _ in range(MOST_PAGES):
            if not isinstance(place, str):
                break
            where = f"dir=b&from={quote(place, safe='')}&to={quote(since, safe='')}&limit={PAGE}"
            answer = await self._get(f"/rooms/{quote(room, safe='')}/messages?{where}", CALL_S)
            page = objects_in(answer, "chunk")
            older += page
            place = answer.get("end")
            if not page or any(is_our_coming(event, self._settings.user) for event in page):
                break
        return older[::-1]

    async def _is_group(self, room: str) -> bool:
        if room not in self._groups:
            answer = await self._get(f"/rooms/{quote(room, safe='')}/joined_members", CALL_S)
            self._groups[room] = len(_object(answer, "joined")) > 2
        return self._groups[room]

    async def _follow_invitations(self, invitations: Json) -> None:
        """Joins where a listed person asks us in and declines elsewhere. Before the place is kept, so none is missed."""
        for room, facts in invitations.items():
            inviter = inviter_of(facts if isinstance(facts, dict) else {}, self._settings.user)
            welcome = inviter is not None and inviter in self._settings.invited_by
            path = f"/rooms/{quote(room, safe='')}/{'join' if welcome else 'leave'}"
            answer = await self._ask("POST", path, {}, CALL_S)
            if answer.status == 429 or answer.status >= 500:
                raise self._trouble(f"matrix answered {answer.status} to an invitation")

    async def _get(self, path: str, timeout_s: float) -> Json:
        answer = await self._ask("GET", path, None, timeout_s)
        if answer.ok and answer.json is not None:
            return answer.json
        if answer.status == 401:
            self._signed_in = False
            raise self._stopped("matrix refuses the token: sign the device in again and set channels.matrix.token")
        raise self._trouble(f"matrix answered {answer.status} {_code(answer)}".rstrip())

    async def _ask(self, method: str, path: str, body: Json | None, timeout_s: float) -> Answer:
        try:
            return await self._line.ask(
                method, f"/_matrix/client/v3{path}", body, headers=self._headers, timeout_s=timeout_s
            )
        except NoAnswer as fault:
            self._receiving, self._detail = False, fault.reason
            raise

    # --- sending -------------------------------------------------------------------------------------------------

    async def send(self, part: Outgoing) -> SendOutcome:
        room = quote(part.chat, safe="")
        try:
            if closed := await self._closed(room):
                return closed
            path = f"/rooms/{room}/send/m.room.message/{quote(part.transaction_id, safe='')}"
            answer = await self._ask("PUT", path, {"msgtype": "m.notice", "body": part.text}, CALL_S)
        except NoAnswer as fault:
            return outcome_of_fault(fault)
        return self._outcome(answer)

    async def _closed(self, room: str) -> SendOutcome | None:
        """Asked before every send: the server would take a plain text into an encrypted room. Nothing has left yet."""
        try:
            answer = await self._ask("GET", f"/rooms/{room}/state/m.room.encryption", None, CALL_S)
        except NoAnswer as fault:
            return SendOutcome(Sent.NOT_SENT, reason=fault.reason)
        if answer.status == 404:
            return None
        if answer.ok:
            return SendOutcome(
                Sent.REFUSED, reason="the room is encrypted, which is not supported: talk in a room without encryption"
            )
        return self._refused(answer) or SendOutcome(
            Sent.NOT_SENT, reason=f"matrix answered {answer.status} when asked whether the room is encrypted"
        )

    def _outcome(self, answer: Answer) -> SendOutcome:
        event = (answer.json or {}).get("event_id")
        if answer.ok and isinstance(event, str) and event:
            return SendOutcome(Sent.SENT, platform_id=event)
        return self._refused(answer) or outcome_of_status("matrix", answer, _code(answer))

    def _refused(self, answer: Answer) -> SendOutcome | None:
        """What is certainly not sent."""
        if answer.status == 401:
            self._receiving, self._signed_in, self._detail = False, False, "matrix refuses the token"
            return SendOutcome(Sent.NOT_SENT, reason="matrix refuses the token")
        if answer.status == 429:
            asked = (answer.json or {}).get("retry_after_ms")
            wait_ms = asked if isinstance(asked, int) and 0 < asked < 86_400_000 else answer.retry_after_ms
            return SendOutcome(Sent.NOT_SENT, retry_after_ms=wait_ms, reason="matrix asks to slow down")
        if answer.status == 403:
            return SendOutcome(Sent.REFUSED, reason="matrix forbids it: the persona is not in that room (any more)")
        return None

    async def show_typing(self, chat: str, reply_token: str | None) -> None:
        """Best effort."""
        path = f"/rooms/{quote(chat, safe='')}/typing/{quote(self._settings.user, safe='')}"
        try:
            await self._line.ask(
                "PUT",
                f"/_matrix/client/v3{path}",
                {"typing": True, "timeout": 20_000},
                headers=self._headers,
                timeout_s=3.0,
            )
        except NoAnswer:
            return

    # --- what is known -------------------------------------------------------------------------------------------

    def _trouble(self, reason: str) -> ChannelTrouble:
        self._receiving, self._detail = False, reason
        return ChannelTrouble(reason)

    def _stopped(self, reason: str) -> ChannelStopped:
        self._receiving, self._detail = False, reason
        return ChannelStopped(reason)


def _object(raw: Json, name: str) -> Json:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _code(answer: Answer) -> str:
    code = (answer.json or {}).get("errcode")
    return code[:60] if isinstance(code, str) else ""
