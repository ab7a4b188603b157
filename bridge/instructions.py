"""Carries out what the owner asked for on the site: kept first, done once, reported until the site has heard."""

import json
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy import text as sql

from core.clock import Clock, Instant
from core.control.client import ControlClient
from core.control.messages import Instruction
from core.errors import BadInput
from core.ids import PartId, Trace
from core.store import Store

from .deliver import Delivering
from .memory.forget import forget_sources
from .memory.preferences import edit_preference, undo_preference
from .outbox import resolution, resolve_part
from .store.bindings import revoke_binding
from .store.breakers import clear_breaker
from .store.conversations import list_conversations, set_paused

TAKE = sql(
    "INSERT INTO instructions (id, kind, body, received_at_ms) VALUES (:id, :kind, :body, :now) ON CONFLICT (id) DO NOTHING"
)
FIND = sql("SELECT done_at_ms, result FROM instructions WHERE id = :id")
DONE = sql("UPDATE instructions SET done_at_ms = :now, result = :result WHERE id = :id")
REPORTED = sql("UPDATE instructions SET reported_at_ms = :now WHERE id = :id")


@dataclass(frozen=True)
class Instructing:
    store: Store
    control: ControlClient
    delivering: Delivering
    clock: Clock


async def carry_out_next(parts: Instructing, wait_s: int) -> int:
    """Waits up to `wait_s` seconds for instructions and carries each out; returns how many. Errors: ControlError, StoreError."""
    instructions = await parts.control.instructions(wait_s)
    for instruction in instructions:
        result = await parts.store.write(carry_out, parts, instruction, parts.clock())
        await parts.control.instruction_done(instruction.id, result)
        await parts.store.write(_reported, instruction.id, parts.clock())
    return len(instructions)


def carry_out(conn: Connection, parts: Instructing, instruction: Instruction, now: Instant) -> str:
    """Effect and result in one transaction; an instruction that comes again gives the result of the first time."""
    row = {"id": instruction.id, "kind": instruction.kind, "body": json.dumps(instruction.body), "now": now}
    conn.execute(TAKE, row)
    known = conn.execute(FIND, {"id": instruction.id}).one()
    if known.done_at_ms is not None:
        return str(known.result)
    try:
        result = _effect(conn, parts, instruction, now)
    except (BadInput, KeyError, ValueError) as problem:
        result = f"not done: {problem}"
    conn.execute(DONE, {"id": instruction.id, "now": now, "result": result})
    return result


def _effect(conn: Connection, parts: Instructing, instruction: Instruction, now: Instant) -> str:
    body = instruction.body
    match instruction.kind:
        case "resolve_part":
            how = resolution(body["how"])
            return f"part is {resolve_part(conn, parts.delivering, PartId(int(body['part'])), how, now)}"
        case "pause" | "resume":
            for conversation in list_conversations(conn):
                set_paused(conn, conversation.id, instruction.kind == "pause")
            return "done"
        case "clear_breaker":
            return "cleared" if clear_breaker(conn, body["subject"]) else f"{body['subject']!r} was not stopped"
        case "forget":
            done = forget_sources(conn, _texts(body["sources"]), now)
            return f"forgotten: {done.messages} messages, {done.replies} replies"
        case "edit_preference":
            preference, text = int(body["preference"]), body.get("text")
            if text is None:
                undo_preference(conn, preference, now)
            else:
                edit_preference(conn, preference, text, now, Trace(f"edit-{instruction.id}"))
            return "done"
        case "revoke":
            revoke_binding(conn, body["binding"], now)
            return "done"
        case _:
            return f"not done: this bridge does not know how to {instruction.kind.replace('_', ' ')}; update it"


def _texts(array: str) -> list[str]:
    found = json.loads(array)
    if not isinstance(found, list):
        raise BadInput("sources must be a JSON array of keys")
    return [str(one) for one in found]


def _reported(conn: Connection, instruction: str, now: Instant) -> None:
    conn.execute(REPORTED, {"id": instruction, "now": now})
