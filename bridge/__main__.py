"""`python -m bridge`: builds the parts of the gateway, runs it until it is told to stop, and drains."""

import asyncio
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from zoneinfo import ZoneInfo

from aiohttp import web

from core.clock import system_clock
from core.control.client import ControlClient
from core.control.keys import load_keys, write_private
from core.control.signing import current_key
from core.errors import PenfriendError, SettingsError
from core.ids import new_ulid
from core.local_token import ensure_token
from core.logs import log_as_json
from core.model.provider import open_model
from core.model.roles import model_of
from core.parent import stop_with_parent
from core.settings import Settings
from core.settings_files import load_settings
from core.store import Store, open_store

from .answering import Answering
from .channels.registry import open_channels
from .deliver import Delivering
from .gateway import Gateway, find_capabilities
from .grant import GrantKeeper
from .http import create_http
from .instructions import Instructing
from .memory.index import MemoryIndex
from .store.schema import SCHEMA
from .sync import Syncing


def main() -> int:
    log_as_json()
    try:
        settings = load_settings()
        asyncio.run(run(settings))
    except PenfriendError as problem:
        print(f"penfriend bridge: {problem}", file=sys.stderr)
        return problem.exit_code
    return 0


async def run(settings: Settings) -> None:
    token = ensure_token(settings.secrets_dir)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings.bridge_db_url, SCHEMA))
        zone = ZoneInfo(settings.persona.timezone)
        memory = stack.enter_context(MemoryIndex(settings.data_dir / "index" / "memory", store, zone))
        key = current_key(load_keys(settings.secrets_dir, ("bridge",)), "bridge", system_clock() // 1000)
        control = await stack.enter_async_context(ControlClient(settings.control_url, key, system_clock))
        gateway = build(settings, store, memory, control)
        stack.push_async_callback(gateway.answering.model.aclose)
        for channel in gateway.channels:
            stack.push_async_callback(channel.close)
        await gateway.start()
        stack.push_async_callback(await _serve(settings, gateway, token))
        _stop_on_signals(gateway)
        await gateway.run()


def build(settings: Settings, store: Store, memory: MemoryIndex, control: ControlClient) -> Gateway:
    """The parts of a bridge over an open store. Opens no connection."""
    channels, config = open_channels(settings, system_clock), model_of(settings, "chat")
    capabilities = find_capabilities(channels)
    answering = Answering(
        store=store,
        memory=memory,
        settings=settings,
        model=open_model(config),
        config=config,
        clock=system_clock,
        mint=new_ulid,
        capabilities=capabilities,
    )
    delivering = Delivering(store, settings, system_clock, new_ulid, capabilities)
    installation = installation_id(settings.data_dir)
    return Gateway(
        settings=settings,
        store=store,
        memory=memory,
        channels=channels,
        control=control,
        answering=answering,
        delivering=delivering,
        grants=GrantKeeper(store, control, system_clock, new_ulid, installation, settings.persona.language),
        syncing=Syncing(store, control, system_clock),
        instructing=Instructing(store, control, delivering, system_clock),
        clock=system_clock,
        mint=new_ulid,
    )


def installation_id(data_dir: Path) -> str:
    """Names this bridge to the site, for as long as its data lives."""
    path = data_dir / "installation"
    write_private(path, secrets.token_hex(8) + "\n", replace=False)
    return path.read_text("ascii").strip()


async def _serve(settings: Settings, gateway: Gateway, token: str) -> Callable[[], Awaitable[None]]:
    runner = web.AppRunner(create_http(gateway, token), access_log=None, shutdown_timeout=2)
    await runner.setup()
    site = web.TCPSite(runner, settings.bridge.host, settings.bridge.port)
    try:
        await site.start()
    except OSError as taken:
        await runner.cleanup()
        raise SettingsError(
            f"port {settings.bridge.port} on {settings.bridge.host} cannot be used ({taken.strerror}): "
            "stop the program that has it, or set bridge.port"
        ) from taken
    return runner.cleanup


def _stop_on_signals(gateway: Gateway) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, gateway.stopping.set)
    stop_with_parent(lambda: loop.call_soon_threadsafe(gateway.stopping.set))


if __name__ == "__main__":
    sys.exit(main())
