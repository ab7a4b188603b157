"""`penfriend bridge | site | digest`: one of the three programs in the foreground."""

import sys
from typing import Annotated

import typer

import bridge.__main__
import digest.__main__
import website.__main__


def register(app: typer.Typer) -> None:
    app.command("bridge", help="Run the chat gateway in the foreground.")(run_bridge)
    app.command("site", help="Run the website in the foreground.")(run_site)
    app.command("digest", help="Run the digest worker in the foreground, or once with --once.")(run_digest)


def run_bridge() -> None:
    sys.exit(bridge.__main__.main())


def run_site() -> None:
    sys.exit(website.__main__.main())


def run_digest(
    once: Annotated[bool, typer.Option("--once", help="Make one digest of what was said, now, and end.")] = False,
    source: Annotated[list[str] | None, typer.Option(help="Only these sources; may be given more than once.")] = None,
) -> None:
    arguments = ["--once"] * once + [word for one in source or [] for word in ("--source", one)]
    sys.exit(digest.__main__.main(arguments))
