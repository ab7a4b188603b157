"""`penfriend pack --dry-run TEXT`: what the model would be told if you said this now, and why. Nothing is sent or kept."""

import asyncio
import json
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from bridge.compose import Composed, compose_for, explained, imagine_situation
from bridge.memory.naming import talking_place
from bridge.memory.pack import DoesNotFit
from core.clock import Instant, local_time, system_clock
from core.errors import BadInput
from core.model.roles import model_of
from core.settings import Settings
from core.settings_files import load_settings

from .memory_door import readable
from .output import AsJson, console, show_json, show_table


def register(app: typer.Typer) -> None:
    app.command("pack", help="Show what an answer would be made from, and why; nothing is sent or kept.")(pack)


def pack(
    text: Annotated[str, typer.Argument(help="What you would say.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Required: this command never asks a model.")] = False,
    chat: Annotated[str | None, typer.Option("--chat", help="In this chat instead of the newest.")] = None,
    body: Annotated[bool, typer.Option("--body", help="Print the whole request as it would be sent.")] = False,
    as_json: AsJson = False,
) -> None:
    if not dry_run:
        raise BadInput("pack only shows what would be sent: write `penfriend pack --dry-run TEXT`")
    settings = load_settings()
    composed = asyncio.run(_compose(settings, text, chat))
    if body:
        print(composed.request.body.decode())
    elif as_json:
        show_json(_facts(composed))
    else:
        _show(composed, ZoneInfo(settings.persona.timezone))


async def _compose(settings: Settings, text: str, chat: str | None) -> Composed:
    now = system_clock()
    async with readable(settings) as memory:
        place = memory.read_now(talking_place, chat)
        situation = memory.read_now(imagine_situation, place, text, now)
        composed = await compose_for(memory, memory, settings, model_of(settings, "chat"), situation, now)
    if isinstance(composed, DoesNotFit):
        raise BadInput(f"this does not fit into one request: {composed.bytes} bytes, the limit is {composed.limit}")
    return composed


def _facts(composed: Composed) -> dict[str, object]:
    record: dict[str, object] = json.loads(composed.record)
    return {**record, "records": _records(composed), "recent": _recent(composed)}


def _records(composed: Composed) -> list[dict[str, object]]:
    material = composed.material
    records = (*material.preferences, *material.related, *material.excerpts)
    return [
        {**row, "text": record.text} for row, record in zip(explained(composed.packed, material), records, strict=True)
    ]


def _recent(composed: Composed) -> list[dict[str, object]]:
    exchanges = composed.packed.material.exchanges
    return [
        {"who": message.speaker, "said_at_ms": message.said_at, "text": message.text}
        for exchange in exchanges
        for message in exchange.messages
    ]


def _show(composed: Composed, zone: ZoneInfo) -> None:
    record = json.loads(composed.record)
    console.print(f"{record['bytes']} bytes of at most {record['limit']}", highlight=False)
    rows = [(_when(row, zone), "recent", str(row["who"]), "", "told", str(row["text"])) for row in _recent(composed)]
    rows += [
        (
            _when(row, zone),
            str(row["kind"]).replace("_", " "),
            str(row["who"]),
            _why(row["why"]),
            str(row["because"]),
            str(row["text"]),
        )
        for row in _records(composed)
    ]
    show_table(("said", "as", "who", "score", "", "words"), rows, "Nothing is remembered that could go in.")
    if record["nothing_found"]:
        console.print("Nothing earlier was found about it, and the model is told so.")


def _why(why: object) -> str:
    return ", ".join(f"{name} {value:.1f}" for name, value in why.items()) if isinstance(why, dict) else ""


def _when(row: dict[str, object], zone: ZoneInfo) -> str:
    return f"{local_time(Instant(int(str(row['said_at_ms']))), zone):%Y-%m-%d %H:%M}"
