"""Writes docs/commands.md from the commands themselves: `python -m cli.commands_doc`."""

from collections.abc import Iterator
from pathlib import Path

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from bridge.commands import COMMANDS

from .main import app

Command = TyperCommand | TyperGroup

PAGE = Path("docs/commands.md")

HEAD = """# Commands

Written by `python -m cli.commands_doc` from the commands themselves; change it there.

Exit codes: 0 done, 1 failed, 2 a setting or an input is wrong, 3 the store, 4 the site or the bridge cannot be reached,
5 a document. `--json` prints the same facts for programs.
"""

CHAT = """
## In the chat

These work in every messenger; no model sees them and they are not remembered.

"""


def page() -> str:
    sections = [_section(path, command) for path, command in commands()]
    rows = [f"- `/{name}`: {en}（{zh}）" for name, (_, zh, en) in COMMANDS.items()]
    return HEAD + "".join(sections) + CHAT + "\n".join(rows) + "\n"


def commands() -> Iterator[tuple[str, Command]]:
    """Every command that does something, with its words: `outbox list`."""
    top = typer.main.get_command(app)
    assert isinstance(top, TyperGroup)
    yield from _below(top, "penfriend")


def _below(command: Command, path: str) -> Iterator[tuple[str, Command]]:
    if isinstance(command, TyperGroup):
        for name in sorted(command.commands):
            below = command.commands[name]
            assert isinstance(below, TyperCommand | TyperGroup)
            yield from _below(below, f"{path} {name}")
    else:
        yield path, command


def _section(path: str, command: Command) -> str:
    rows = [f"- `{_spelling(one)}`: {getattr(one, 'help', None) or ''}".rstrip(": ") for one in command.params]
    options = "\n".join(rows) + "\n" if rows else ""
    return f"\n## {path}\n\n{command.help or ''}\n\n{options}"


def _spelling(parameter: object) -> str:
    if isinstance(parameter, TyperOption):
        return " ".join(parameter.opts)
    assert isinstance(parameter, TyperArgument)
    return (parameter.metavar or parameter.name or "").upper()


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
