"""What a person can ask of the bridge itself, inside the chat. No model sees a command, and no command is remembered.

A command runs inside the transaction that accepts it, so it takes effect once, whatever crashes.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from sqlalchemy import Connection

from core.clock import Instant, local_time

from .memory.forget import forget_last_exchange
from .notices import Language
from .store.context_records import last_context
from .store.conversations import Conversation, set_paused, set_private
from .store.grants import find_grant
from .store.replies import count_parts
from .store.sync_records import sync_backlog
from .store.turns import count_turns


@dataclass(frozen=True)
class CommandContext:
    conversation: Conversation
    language: Language
    now: Instant
    zone: str

    def say(self, zh: str, en: str) -> str:
        return zh if self.language == "zh" else en


Command = Callable[[Connection, CommandContext, str], str]

_COMMAND = re.compile(r"/([a-z]+)(?:\s+(.*))?", re.DOTALL)


def run_command(conn: Connection, context: CommandContext, text: str) -> str | None:
    """The answer to a command, or None when the text is talk: a path or an unknown word after a slash is talk."""
    found = _COMMAND.fullmatch(text.strip())
    if found is None or found[1] not in COMMANDS:
        return None
    command, _, _ = COMMANDS[found[1]]
    return command(conn, context, (found[2] or "").strip())


def _help(_conn: Connection, context: CommandContext, _rest: str) -> str:
    rows = [f"/{name}  {context.say(zh, en)}" for name, (_, zh, en) in COMMANDS.items()]
    return "\n".join(rows)


def _status(conn: Connection, context: CommandContext, _rest: str) -> str:
    turns, parts, backlog = count_turns(conn), count_parts(conn), sync_backlog(conn)
    waiting = sum(turns.get(phase, 0) for phase in ("ready", "composing", "calling", "waiting_grant"))
    unknown = turns.get("unknown", 0) + parts.get("unknown", 0)
    grant = find_grant(conn)
    until = "–" if grant is None else _clock(Instant(grant.expires_at_ms), context)
    states = [context.say("私密", "private")] if context.conversation.private else []
    states += [context.say("已暂停", "paused")] if context.conversation.paused else []
    shown = f" ({', '.join(states)})" if states else ""
    return context.say(
        f"我在{shown}。等着回答 {waiting} 条，结果未知 {unknown} 条，待同步 {backlog} 条。授权到 {until}。",
        f"I am here{shown}. Waiting for an answer: {waiting}; outcome unknown: {unknown}; waiting for the site: {backlog}. "
        f"Grant until {until}.",
    )


def _why(conn: Connection, context: CommandContext, _rest: str) -> str:
    body = last_context(conn, context.conversation.id)
    if body is None:
        return context.say("这里还没有回答过。", "Nothing was answered here yet.")
    record = json.loads(body)
    head = context.say(
        f"上一条回答看到了 {len(record['exchanges'])} 轮最近的话，请求 {record['bytes']} 字节（上限 {record['limit']}）。",
        f"The last answer saw {len(record['exchanges'])} recent exchanges; its request had {record['bytes']} bytes "
        f"(limit {record['limit']}).",
    )
    rows = [_remembered(row, context) for row in record["records"]]
    if record["nothing_found"]:
        rows.append(context.say("没有找到更早的相关的话。", "Nothing older was found about it."))
    if record["left_out"]:
        rows.append(
            context.say(f"放不下的：{len(record['left_out'])} 条。", f"Left out for size: {len(record['left_out'])}.")
        )
    return "\n".join([head, *rows])


def _remembered(row: dict[str, object], context: CommandContext) -> str:
    """`· 2026-03-09 21:15 you, stated manner, 3.2 (words 2.1, session 1.1): told`."""
    at = _clock(Instant(int(str(row["said_at_ms"]))), context)
    who = {"person": context.say("你", "you"), "persona": context.say("我", "me")}.get(str(row["who"]), "?")
    kind = str(row["kind"]).replace("_", " ")
    because = {
        "told": context.say("用了", "told"),
        "no room": context.say("放不下", "no room"),
    }.get(str(row.get("because")), context.say("已在别处", "already elsewhere in the request"))
    return f"· {at} {who} · {kind}{_score(row['why'])} · {because}"


def _score(why: object) -> str:
    if not isinstance(why, dict) or "score" not in why:
        return ""
    parts = ", ".join(f"{name} {value:.1f}" for name, value in why.items() if name != "score")
    return f" · {why['score']:.1f} ({parts})"


def _forget(conn: Connection, context: CommandContext, _rest: str) -> str:
    gone = forget_last_exchange(conn, context.conversation, context.now)
    if gone.messages == 0:
        return context.say("没有可以忘记的话。", "There is nothing to forget.")
    return context.say(
        f"忘记了最近的一轮（{gone.messages} 条，回复 {gone.replies} 条）：原文、回复、偏好和上下文记录里都不再有，索引正在重建，"
        f"站点的 {gone.sources} 条来源跟着删。备份里的要到备份过期才消失。",
        f"The last exchange is forgotten ({gone.messages} messages, {gone.replies} replies): gone from raw texts, replies, "
        f"preferences and context records; the index is being rebuilt, {gone.sources} sources at the site follow. "
        "Backups keep it until they expire.",
    )


def _pause(conn: Connection, context: CommandContext, _rest: str) -> str:
    set_paused(conn, context.conversation.id, True)
    return context.say(
        "停下了。你的话我照样记着，/resume 之后再回答。", "Paused. Your words are kept and answered after /resume."
    )


def _resume(conn: Connection, context: CommandContext, _rest: str) -> str:
    set_paused(conn, context.conversation.id, False)
    return context.say("接着聊。", "Going on.")


def _private(conn: Connection, context: CommandContext, rest: str) -> str:
    if rest.lower() in ("off", "关"):
        set_private(conn, context.conversation.id, None)
        return context.say(
            "私密结束。之后的话会照常同步，也会进日记草稿。",
            "Private talk ends. What follows is synced and digested as usual.",
        )
    set_private(conn, context.conversation.id, context.now)
    return context.say(
        "从现在起的话只留在这里：不同步，也不进日记草稿。/private off 结束。",
        "What follows stays here: neither synced nor digested. /private off ends it.",
    )


def _clock(at: Instant, context: CommandContext) -> str:
    return local_time(at, ZoneInfo(context.zone)).strftime("%Y-%m-%d %H:%M")


COMMANDS: dict[str, tuple[Command, str, str]] = {
    "help": (_help, "能做什么", "what there is"),
    "status": (_status, "现在怎样", "how things stand"),
    "why": (_why, "上一条回答看到了什么", "what the last answer was made from"),
    "forget": (_forget, "忘记最近的一轮", "forget the last exchange"),
    "pause": (_pause, "先不回答", "stop answering for now"),
    "resume": (_resume, "接着回答", "go on answering"),
    "private": (_private, "接下来的话不同步（/private off 结束）", "what follows is not synced (/private off ends it)"),
}
