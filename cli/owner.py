"""`penfriend owner`: who owns the site, seen from the machine it runs on."""

import asyncio
import secrets

import typer

from core.clock import system_clock
from core.errors import BadInput
from core.settings_files import load_settings
from website.app import open_parts
from website.owner import claim_link

app = typer.Typer(help="The owner of the site.", no_args_is_help=True)


@app.command(help="Print the one-time link that makes you the owner.")
def claim() -> None:
    path = claim_link.link_file(load_settings())
    if not path.exists():
        raise BadInput("there is no open link: the site has an owner, or never ran. `penfriend owner reset` makes one")
    print(path.read_text("utf-8").strip())


@app.command(help="Make a link, good for an hour, that sets a new password. Stop the site first.")
def reset() -> None:
    settings = load_settings()
    parts = open_parts(settings)
    with parts.store:
        link = asyncio.run(claim_link.offer_reset(parts.store, settings, system_clock, secrets.token_bytes))
    print(link)
