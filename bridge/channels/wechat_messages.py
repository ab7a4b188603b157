"""WeChat messages, read. Pure.

Ids are uint64 and arrive as bare numbers; here they are text. The same message may come again after seconds or half an
hour, sometimes under another id: `twin_key` (sender, the platform's creation time, content) finds those.
"""

import hashlib
import json

from core.ids import ChatId, EventKey, SenderId

from .contract import Poison, Update, UpdateKind
from .reading import (
    Json,
    Unreadable,
    instant_in,
    needed_text,
    number_in,
    object_in,
    objects_in,
    poison,
    raw_body,
    text_in,
)

TEXT_ITEM = 1
FROM_BOT = 2
GENERATING = 1


def read_message(raw: Json) -> Update | Poison:
    try:
        return _read(raw)
    except Unreadable as why:
        return poison(raw, why)


def _read(raw: Json) -> Update:
    sender = needed_text(raw, "from_user_id")
    text = _text(raw)
    unfinished = number_in(raw, "message_state") == GENERATING
    group = bool(text_in(raw, "group_id"))
    created = instant_in(raw, "create_time_ms", unit_ms=1)
    return Update(
        event_key=EventKey(_key(raw, sender) + ("/unfinished" if unfinished else "")),
        kind=UpdateKind.MESSAGE,
        chat=ChatId(text_in(raw, "group_id") or sender),
        sender=SenderId(sender),
        body=raw_body(raw),
        text=None if unfinished else text,
        said_at=created,
        twin_key=None if created is None or text is None else _hash([sender, created, text]),
        reply_token=text_in(raw, "context_token"),
        group=group,
        addressed=not group and not unfinished,
        from_bot=number_in(raw, "message_type") == FROM_BOT or sender.endswith("@im.bot"),
    )


def _text(raw: Json) -> str | None:
    """All text items together; None when there is none (pictures, voice and files are not fetched)."""
    texts = []
    for item in objects_in(raw, "item_list"):
        if number_in(item, "type") == TEXT_ITEM:
            texts.append(text_in(object_in(item, "text_item") or {}, "text") or "")
    return "\n".join(texts) if any(text.strip() for text in texts) else None


def _key(raw: Json, sender: str) -> str:
    """The platform's id, else that of the first item, else one made of the content; never one made of chance."""
    number = number_in(raw, "message_id")
    if number:
        return str(number)
    for item in objects_in(raw, "item_list"):
        if found := number_in(item, "msg_id"):
            return f"item/{found}"
    envelope = [raw.get(name) for name in ("create_time_ms", "seq", "client_id", "item_list")]
    return f"made/{_hash([sender, *envelope])}"


def _hash(facts: list[object]) -> str:
    text = json.dumps(facts, ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
