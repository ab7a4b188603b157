"""`penfriend pair`: who may talk with the persona, and signing in to WeChat.

With the site running its control API is asked; with the site stopped its store is opened here, under its lock.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, TypeVar

import segno
import typer

from bridge.channels.wechat_session import Session, keep_session, load_session
from bridge.channels.wechat_sign_in import SignIn
from core.clock import system_clock
from core.control.client import ControlClient
from core.control.keys import load_keys
from core.control.messages import Binding, PairingCode, PairingWish
from core.control.signing import current_key
from core.errors import BadInput, ControlUnreachable, SettingsError
from core.settings import Settings
from core.settings_files import load_settings
from website.app import open_parts
from website.owner import pairing
from website.parts import Parts
from website.routes import control_pairings

from .output import AsJson, console, show_json, show_table

app = typer.Typer(help="Who may talk with the persona.", no_args_is_help=True)

T = TypeVar("T")

TOLD = {
    "scanned": "Scanned. Confirm it on the phone.",
    "expired": "That code is too old; here is a new one.",
    "blocked": "Too many wrong numbers; here is a new code.",
    "redirected": "The platform sends us to another of its addresses.",
}


@app.command("new", help="Make a code, good once for ten minutes. Send it to the persona from the chat it is to know.")
def new_code(
    guest: Annotated[bool, typer.Option("--guest", help="For a guest: answered, never digested.")] = False,
    account: Annotated[str | None, typer.Option(help="Only in this account, such as telegram:7301.")] = None,
    chat: Annotated[str | None, typer.Option(help="Only in this chat of the account; a group needs it.")] = None,
    as_json: AsJson = False,
) -> None:
    wish = PairingWish(role="guest" if guest else "owner", account=account, chat=chat)
    made = _do(lambda control: control.pairing_code(wish), lambda parts: _make(parts, wish))
    if as_json:
        show_json(made.model_dump())
        return
    console.print(f"{made.code[:4]}-{made.code[4:]}", highlight=False)
    console.print("Good once, for ten minutes. Send it to the persona from the chat it is to know.")


@app.command("list", help="Everybody who may talk with the persona.")
def list_(as_json: AsJson = False) -> None:
    found = _do(_listed, _list_here)
    if as_json:
        show_json([one.model_dump() for one in found])
        return
    rows = [(one.id, one.role, one.account, one.name or one.sender, one.chat) for one in found]
    show_table(("pairing", "role", "account", "who", "chat"), rows, "Nobody is paired.")


@app.command(help="End a pairing at once.")
def revoke(binding: Annotated[str, typer.Argument(help="Its name in `pair list`.")]) -> None:
    _do(lambda control: control.revoke_pairing(binding), lambda parts: _revoke_here(parts, binding))
    console.print(f"{binding} is revoked.", highlight=False)


@app.command(help="Sign in to WeChat with the phone that will talk with the persona.")
def wechat() -> None:
    settings = load_settings()
    before = _session_before(settings)
    found = asyncio.run(SignIn(settings.channels.wechat.base_url, _Terminal(), system_clock, before).run())
    if found is None:
        console.print("This account is connected already; nothing was changed.")
        return
    keep_session(settings.secrets_dir, found)
    console.print("Signed in. A running bridge takes it up within a minute.")
    if not settings.channels.wechat.enabled:
        console.print("WeChat is still switched off: set channels.wechat.enabled = true.")
    console.print("Then send the persona a code of `penfriend pair new` from that chat.")


class _Terminal:
    """`Person` at this terminal."""

    def show_code(self, url: str) -> None:
        segno.make(url, error="l").terminal(compact=True)
        console.print(f"Scan it with WeChat, or open {url}", highlight=False, soft_wrap=True)

    def tell(self, what: str) -> None:
        console.print(TOLD[what])

    async def ask_number(self, *, again: bool) -> str:
        wrong = "That was not it. " if again else ""
        return await asyncio.to_thread(input, f"{wrong}The number on the phone: ")


def _session_before(settings: Settings) -> Session | None:
    """A broken file is no reason not to sign in anew."""
    try:
        return load_session(settings.secrets_dir)
    except SettingsError:
        return None


def _do(ask: Callable[[ControlClient], Awaitable[T]], here: Callable[[Parts], Awaitable[T]]) -> T:
    return asyncio.run(_ask_or_do(load_settings(), ask, here))


async def _ask_or_do(
    settings: Settings, ask: Callable[[ControlClient], Awaitable[T]], here: Callable[[Parts], Awaitable[T]]
) -> T:
    key = current_key(load_keys(settings.secrets_dir, ("bridge",)), "bridge", system_clock() // 1000)
    try:
        async with ControlClient(settings.control_url, key, system_clock) as control:
            return await ask(control)
    except ControlUnreachable:
        parts = open_parts(settings)
        with parts.store:
            return await here(parts)


async def _make(parts: Parts, wish: PairingWish) -> PairingCode:
    code = pairing.new_code(parts.random_bytes)
    return await parts.store.write(control_pairings.make_code, wish, code, parts.clock())


async def _listed(control: ControlClient) -> Sequence[Binding]:
    return await control.pairings()


async def _list_here(parts: Parts) -> Sequence[Binding]:
    return (await parts.store.read(control_pairings.list_pairings)).pairings


async def _revoke_here(parts: Parts, binding: str) -> None:
    ids = pairing.new_ids(parts.clock(), parts.random_bytes)
    if not await parts.store.write(control_pairings.revoke_pairing, binding, ids):
        raise BadInput(f"there is no pairing {binding!r}: see `penfriend pair list`")
