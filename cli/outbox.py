"""`penfriend outbox`: what was not simply delivered, and the owner's word on it."""

from typing import Annotated, Any

import typer

from core.settings_files import load_settings

from .bridge_client import ask_bridge
from .output import AsJson, console, show_json, show_table

app = typer.Typer(help="Replies that were not simply delivered.", no_args_is_help=True)


@app.command("list", help="Every part that is not delivered; those that need you come first.")
def list_(as_json: AsJson = False) -> None:
    facts: dict[str, Any] = ask_bridge(load_settings(), "GET", "/outbox")
    if as_json:
        show_json(facts)
        return
    rows = [(one["part"], one["state"], one["detail"], one["text"][:60]) for one in facts["parts"]]
    show_table(("part", "state", "why", "text"), rows, "Everything is delivered.")


@app.command(help="Say what became of a part: delivered, not_delivered or send_again.")
def resolve(
    part: Annotated[int, typer.Argument(help="The part's number in `outbox list`.")],
    how: Annotated[str, typer.Argument(help="delivered, not_delivered or send_again")],
) -> None:
    answer = ask_bridge(load_settings(), "POST", f"/outbox/{part}", {"how": how})
    console.print(f"part {part} is {answer['state']}")


@app.command(help="Stop answering until `outbox resume`; messages are still kept.")
def pause() -> None:
    ask_bridge(load_settings(), "POST", "/pause")
    console.print("Paused: messages are kept and answered after `penfriend outbox resume`.")


@app.command(help="Answer again.")
def resume() -> None:
    ask_bridge(load_settings(), "POST", "/resume")
    console.print("Answering again.")
