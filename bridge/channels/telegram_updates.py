"""Telegram's updates, read: which chat, who, what, and whether a group speaks to us. Pure.

`update_id` is only the cursor, because it restarts at random after an idle week; what makes a message itself is its chat
and `message_id`. An edit keeps the `message_id` and adds its date. Offsets of entities count UTF-16 units.
"""

from dataclasses import dataclass

from core.ids import ChatId, EventKey, SenderId

from .contract import Poison, Update, UpdateKind
from .reading import (
    Json,
    Unreadable,
    instant_in,
    needed_number,
    needed_object,
    number_in,
    object_in,
    objects_in,
    poison,
    raw_body,
    text_in,
)


@dataclass(frozen=True)
class Me:
    """Our own account, as getMe tells it."""

    id: int
    username: str


def read_update(raw: Json, me: Me, *, groups: bool) -> Update | Poison:
    """`groups` is whether the owner lets the bot speak in groups at all; without it a group's text is not even read."""
    try:
        edited = object_in(raw, "edited_message")
        message = edited if edited is not None else object_in(raw, "message")
        if message is None:
            raise Unreadable("an update of a kind that was not asked for")
        return _read_message(raw, message, me, edited=edited is not None, groups=groups)
    except Unreadable as why:
        return poison(raw, why)


def _read_message(raw: Json, message: Json, me: Me, *, edited: bool, groups: bool) -> Update:
    chat, sender = needed_object(message, "chat"), needed_object(message, "from")
    chat_id, number = needed_number(chat, "id"), needed_number(message, "message_id")
    group = chat.get("type") != "private"
    key = f"{chat_id}/{number}"
    readable = groups or not group
    return Update(
        event_key=EventKey(f"{key}/edit-{number_in(message, 'edit_date') or 0}" if edited else key),
        kind=UpdateKind.EDIT if edited else UpdateKind.MESSAGE,
        chat=ChatId(str(chat_id)),
        sender=SenderId(str(needed_number(sender, "id"))),
        body=raw_body(raw) if readable else "{}",
        text=_without_our_name(message, me) if readable else None,
        sender_name=_name(sender),
        said_at=instant_in(message, "date", unit_ms=1000),
        target=EventKey(key) if edited else None,
        group=group,
        addressed=not group or (groups and _speaks_to(message, me)),
        from_bot=sender.get("is_bot") is True,
    )


def _name(sender: Json) -> str:
    return " ".join(part for part in (text_in(sender, "first_name"), text_in(sender, "last_name")) if part)


def _speaks_to(message: Json, me: Me) -> bool:
    """In a group: a mention of us, a reply to us, or a command that names us."""
    answered = object_in(message, "reply_to_message") or {}
    if number_in(object_in(answered, "from") or {}, "id") == me.id:
        return True
    name = f"@{me.username}".lower()
    for kind, text, entity in _entities(message):
        if kind == "mention" and text.lower() == name:
            return True
        if kind == "bot_command" and text.lower().endswith(name):
            return True
        if kind == "text_mention" and number_in(object_in(entity, "user") or {}, "id") == me.id:
            return True
    return False


def _without_our_name(message: Json, me: Me) -> str | None:
    """`/pair@our_bot CODE` is `/pair CODE`."""
    text = text_in(message, "text")
    if text is None:
        return None
    for kind, command, entity in _entities(message):
        if kind == "bot_command" and entity.get("offset") == 0 and command.lower().endswith(f"@{me.username}".lower()):
            return text.replace(command, command[: -len(me.username) - 1], 1)
    return text


def _entities(message: Json) -> list[tuple[str, str, Json]]:
    """Kind, text and entity; the text is cut out in UTF-16 units."""
    text = text_in(message, "text") or ""
    units = text.encode("utf-16-le")
    found = []
    for entity in objects_in(message, "entities"):
        start, length = number_in(entity, "offset") or 0, number_in(entity, "length") or 0
        if start >= 0 and length > 0:
            cut = units[2 * start : 2 * (start + length)].decode("utf-16-le", "replace")
            found.append((str(entity.get("type")), cut, entity))
    return found
