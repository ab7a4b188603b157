"""Matrix events, read. Pure.

An edit is an event of its own with `m.replace`; `m.notice` is what bots say, so nobody answers it; our own events come
back and are left out. What was said before we came into a room is not for us.
"""

from dataclasses import dataclass

from core.ids import ChatId, EventKey, SenderId

from .contract import Poison, Update, UpdateKind
from .reading import (
    Json,
    Unreadable,
    instant_in,
    needed_object,
    needed_text,
    object_in,
    objects_in,
    poison,
    raw_body,
    text_in,
)

MESSAGE, ENCRYPTED, REDACTION, MEMBER = "m.room.message", "m.room.encrypted", "m.room.redaction", "m.room.member"


@dataclass(frozen=True)
class Room:
    """What is known of a room. `group` when more than one other person is in it."""

    id: str
    group: bool


def read_events(events: list[Json], room: Room, me: str) -> list[Update | Poison]:
    """The events that concern us, oldest first."""
    found = []
    for event in since_we_came(events, me):
        if event.get("type") in (MESSAGE, ENCRYPTED, REDACTION) and event.get("sender") != me:
            found.append(_read(event, room, me))
    return found


def since_we_came(events: list[Json], me: str) -> list[Json]:
    for index in range(len(events) - 1, -1, -1):
        if is_our_coming(events[index], me):
            return events[index + 1 :]
    return events


def is_our_coming(event: Json, me: str) -> bool:
    """Our own step from not being in the room to being in it; a changed name is a membership event too."""
    if event.get("type") != MEMBER or event.get("state_key") != me:
        return False
    before = (_loose(event, "unsigned").get("prev_content")) or {}
    now = _loose(event, "content").get("membership")
    return now == "join" and not (isinstance(before, dict) and before.get("membership") == "join")


def _loose(raw: Json, name: str) -> Json:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}


def _read(event: Json, room: Room, me: str) -> Update | Poison:
    try:
        return _update(event, room, me)
    except Unreadable as why:
        return poison(event, why)


def _update(event: Json, room: Room, me: str) -> Update:
    content = needed_object(event, "content")
    kind, target, text = _what(event, content)
    sender = needed_text(event, "sender")
    return Update(
        event_key=EventKey(needed_text(event, "event_id")),
        kind=kind,
        chat=ChatId(room.id),
        sender=SenderId(sender),
        body=raw_body(event),
        text=text,
        sender_name=sender.partition(":")[0].removeprefix("@"),
        said_at=instant_in(event, "origin_server_ts", unit_ms=1),
        target=None if target is None else EventKey(target),
        group=room.group,
        addressed=not room.group or _speaks_to(content, text or "", me),
        from_bot=content.get("msgtype") == "m.notice",
    )


def _what(event: Json, content: Json) -> tuple[UpdateKind, str | None, str | None]:
    """Kind, the event it changes, and the text."""
    if event.get("type") == REDACTION:
        return UpdateKind.DELETION, text_in(event, "redacts") or text_in(content, "redacts"), None
    if event.get("type") == ENCRYPTED:
        return UpdateKind.OTHER, None, None
    relation = object_in(content, "m.relates_to") or {}
    if relation.get("rel_type") == "m.replace":
        new = object_in(content, "m.new_content") or {}
        return UpdateKind.EDIT, text_in(relation, "event_id"), text_in(new, "body")
    text = text_in(content, "body") if content.get("msgtype") in ("m.text", "m.notice") else None
    if text is not None and "m.in_reply_to" in relation:
        text = _without_quote(text)
    return UpdateKind.MESSAGE, None, text


def _without_quote(text: str) -> str:
    """Older clients put what they reply to before the reply, in lines that begin with `>`.

    >>> _without_quote("> <@a:x> hi\\n> there\\n\\nyes")
    'yes'
    """
    lines = text.split("\n")
    while lines and lines[0].startswith("> "):
        lines.pop(0)
    return "\n".join(lines).lstrip("\n") or text


def _speaks_to(content: Json, text: str, me: str) -> bool:
    """In a room with several people: a mention, by the field made for it or by our name in the text."""
    mentioned = _loose(content, "m.mentions").get("user_ids")
    if isinstance(mentioned, list) and me in mentioned:
        return True
    return me.lower() in text.lower()


def inviter_of(invited: Json, me: str) -> str | None:
    """Who asks us into a room, from the stripped state of an invitation."""
    for event in objects_in(_loose(invited, "invite_state"), "events"):
        if event.get("type") == MEMBER and event.get("state_key") == me:
            sender = event.get("sender")
            return sender if isinstance(sender, str) else None
    return None
