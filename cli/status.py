"""`penfriend status` and `penfriend trace ID`."""

from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import typer

from core.clock import Instant, local_time
from core.settings_files import load_settings

from .bridge_client import ask_bridge
from .output import AsJson, console, show_json, show_table


def register(app: typer.Typer) -> None:
    app.command("status", help="How the bridge stands.")(status)
    app.command("trace", help="Follow one id from update to receipt.")(trace)


def status(as_json: AsJson = False) -> None:
    settings = load_settings()
    facts: dict[str, Any] = ask_bridge(settings, "GET", "/status")  # plain JSON of another program
    if as_json:
        show_json(facts)
        return
    zone = ZoneInfo(settings.persona.timezone)
    until = facts["grant_until_ms"]
    rows = [
        ("messages kept", facts["messages"]),
        ("turns", _counts(facts["turns"])),
        ("parts", _counts(facts["parts"])),
        ("waiting for the site", facts["sync_backlog"]),
        ("conflicts", facts["conflicts"]),
        ("grant until", "none" if until is None else _when(until, zone)),
        ("dropped", _counts(facts["dropped"])),
    ]
    rows += [(f"channel {one['account']}", _health(one)) for one in facts["channels"]]
    rows += [(f"problem: {name}", sentence) for name, sentence in facts["problems"].items()]
    show_table(("", ""), rows, "")


def trace(
    id_: Annotated[str, typer.Argument(metavar="ID", help="The id of an update, a message or a turn.")],
    as_json: AsJson = False,
) -> None:
    settings = load_settings()
    facts: dict[str, Any] = ask_bridge(settings, "GET", f"/trace/{id_}")
    if as_json:
        show_json(facts)
        return
    zone = ZoneInfo(settings.persona.timezone)
    update = facts["update"]
    if update:
        console.print(f"update   {_when(update['received_at_ms'], zone)}  {update['account']}  {update['outcome']}")
    for name, thing in _steps(facts):
        for step in thing["steps"]:
            by = "" if step["actor"] == "bridge" else f" by the {step['actor']}"
            why = f" ({step['reason']})" if step["reason"] else ""
            console.print(
                f"{name:8} {_when(step['at_ms'], zone)}  {step['after']}{by}{why}", highlight=False, markup=False
            )
    for record in facts["site"]:
        at = "waiting" if record["synced_at_ms"] is None else _when(record["synced_at_ms"], zone)
        console.print(f"site     {at}  {record['kind']}", highlight=False)


def _steps(facts: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    things: list[tuple[str, dict[str, Any]]] = [("turn", facts["turn"])] if facts["turn"] else []
    things += [("call", attempt) for attempt in facts["attempts"]]
    things += [("part", part) for reply in facts["replies"] for part in reply["parts"]]
    return things


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in sorted(counts.items())) or "none"


def _health(facts: dict[str, Any]) -> str:
    words = [word.replace("_", " ") for word in ("receiving", "sending", "signed_in") if facts[word]]
    return f"{', '.join(words) or 'down'}; {facts['detail']}"


def _when(at_ms: int, zone: ZoneInfo) -> str:
    moment: datetime = local_time(Instant(at_ms), zone)
    return moment.strftime("%Y-%m-%d %H:%M:%S")
