"""`penfriend memory export`: everything that was said, as the generic JSONL that `memory import` reads."""

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import TextIO
from zoneinfo import ZoneInfo

from sqlalchemy import select

from bridge.memory.naming import conversations_named
from bridge.store.schema import conversations, messages
from core.clock import Instant, local_time
from core.errors import BadInput
from core.settings import Settings
from core.store.stream import stream

from .memory_door import readable

ROWS = (
    select(
        conversations.c.account,
        conversations.c.chat,
        messages.c.imported_key,
        messages.c.trace,
        messages.c.speaker,
        messages.c.name,
        messages.c.said_at_ms,
        messages.c.text,
    )
    .join(conversations, conversations.c.id == messages.c.conversation_id)
    .where(messages.c.deleted_at_ms.is_(None))
    .order_by(messages.c.conversation_id, messages.c.said_at_ms, messages.c.id)
)


async def export_chats(settings: Settings, file: Path | None, chat: str | None) -> int:
    """How many messages were written. An import's chat keeps its name; a channel's is written `account/chat`."""
    async with readable(settings) as memory:
        wanted = {(one.account, one.chat) for one in memory.read_now(conversations_named, chat)}
    if file is None:
        return await _write(settings, sys.stdout, wanted)
    try:
        with file.open("w", encoding="utf-8") as out:
            return await _write(settings, out, wanted)
    except OSError as problem:
        raise BadInput(f"{file} cannot be written: {problem.strerror}") from problem


async def _write(settings: Settings, out: TextIO, wanted: Collection[tuple[str, str]]) -> int:
    zone, number = ZoneInfo(settings.persona.timezone), 0
    async with stream(settings.bridge_db_url, ROWS) as rows:
        async for account, chat, key, trace, speaker, name, said_at, text in rows:
            if (account, chat) not in wanted:
                continue
            line = {
                "chat": chat if str(account).startswith("import") else f"{account}/{chat}",
                "id": key or trace,
                "who": speaker,
                "name": name,
                "at": local_time(Instant(int(str(said_at))), zone).isoformat(timespec="milliseconds"),
                "text": text,
            }
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            number += 1
    return number
