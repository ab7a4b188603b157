"""`penfriend doctor`: looks for what is wrong and says what to do. Works with the programs running or stopped."""

import asyncio
import sqlite3
import stat
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
import typer

from bridge.channels.contract import Channel
from bridge.channels.registry import open_channels
from core.clock import system_clock
from core.control.keys import key_file, load_keys
from core.control.signing import current_key
from core.errors import PenfriendError
from core.local_token import token_file
from core.model.roles import Role, model_of, source_of
from core.settings import Settings
from core.settings_files import load_settings

from .bridge_client import ask_bridge
from .output import AsJson, show_json, show_table

FIXED_SQLITE = (3, 51, 3)
"""Older ones may corrupt a log that two connections write at once; here only one ever does."""


@dataclass(frozen=True)
class Finding:
    """`state` is ok, note or fault; a fault makes the command end with 1."""

    what: str
    state: str
    says: str


def register(app: typer.Typer) -> None:
    app.command("doctor", help="Look for what is wrong and say what to do.")(doctor)


def doctor(as_json: AsJson = False) -> None:
    settings = load_settings()
    findings = [finding for check in CHECKS for finding in check(settings)]
    if as_json:
        show_json([asdict(finding) for finding in findings])
    else:
        show_table(("", "", ""), [(one.state, one.what, one.says) for one in findings], "")
    if any(finding.state == "fault" for finding in findings):
        raise typer.Exit(1)


def _settings(settings: Settings) -> Iterator[Finding]:
    yield Finding("settings", "ok", f"data in {settings.data_dir}")


def _secrets(settings: Settings) -> Iterator[Finding]:
    for scope in ("bridge", "digest"):
        try:
            current_key(load_keys(settings.secrets_dir, (scope,)), scope, system_clock() // 1000)
            yield Finding(f"control key {scope}", "ok", "valid now")
        except PenfriendError as problem:
            yield Finding(f"control key {scope}", "fault", str(problem))
    for path in (
        key_file(settings.secrets_dir, "bridge"),
        key_file(settings.secrets_dir, "digest"),
        token_file(settings.secrets_dir),
    ):
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield Finding(str(path), "fault", f"other accounts can read it: chmod 600 {path}")


def _models(settings: Settings) -> Iterator[Finding]:
    roles: tuple[Role, ...] = ("chat", "reader", "digest")
    for role in roles:
        try:
            config = model_of(settings, role)
        except PenfriendError as problem:
            yield Finding(f"model {role}", "fault", str(problem))
            continue
        source = source_of(settings, role, "provider")
        if config.provider == "offline":
            yield Finding(
                f"model {role}", "note", f"offline ({source}): it quotes only; set models.default to connect a model"
            )
        elif not config.price_output_per_mtok:
            yield Finding(
                f"model {role}",
                "note",
                f"{config.name} ({source}) has no price: money limits cannot bite; set price_output_per_mtok",
            )
        else:
            yield Finding(f"model {role}", "ok", f"{config.name} ({source})")


def _channels(settings: Settings) -> Iterator[Finding]:
    """What can be seen without connecting. One that cannot be opened keeps the whole bridge from starting."""
    try:
        asyncio.run(_close(open_channels(settings, system_clock)))
    except PenfriendError as problem:
        yield Finding("channels", "fault", str(problem))


async def _close(channels: Sequence[Channel]) -> None:
    for channel in channels:
        await channel.close()


def _programs(settings: Settings) -> Iterator[Finding]:
    for name, url in (("site", settings.control_url), ("bridge", settings.bridge_url)):
        try:
            ready = httpx.get(f"{url}/readyz", trust_env=False, timeout=3)
            sentence = "ready" if ready.is_success else str(ready.json().get("reason", ready.status_code))
            yield Finding(name, "ok" if ready.is_success else "fault", f"{url} {sentence}")
        except (httpx.HTTPError, ValueError) as problem:
            yield Finding(
                name, "note", f"does not answer at {url} ({type(problem).__name__}): start it with `penfriend up`"
            )


def _bridge(settings: Settings) -> Iterator[Finding]:
    try:
        facts: dict[str, Any] = ask_bridge(settings, "GET", "/status")
    except PenfriendError:
        return
    for name, sentence in facts["problems"].items():
        yield Finding(f"bridge: {name}", "fault", sentence)
    for channel in facts["channels"]:
        state = "ok" if channel["receiving"] and channel["signed_in"] else "fault"
        yield Finding(f"channel {channel['account']}", state, channel["detail"])
    yield from _outbox(settings)


def _outbox(settings: Settings) -> Iterator[Finding]:
    """What was not delivered, by its reason: a dead context token and an encrypted room show themselves here."""
    facts: dict[str, Any] = ask_bridge(settings, "GET", "/outbox")
    reasons = Counter((one["state"], one["detail"] or "no reason was given") for one in facts["parts"])
    for (state, why), number in sorted(reasons.items()):
        if state not in ("intent", "held"):
            yield Finding("outbox", "note", f"{number} {state}: {why}; see `penfriend outbox list`")


def _sqlite(_settings: Settings) -> Iterator[Finding]:
    version = sqlite3.sqlite_version
    if sqlite3.sqlite_version_info < FIXED_SQLITE:
        yield Finding(
            "SQLite", "note", f"{version} is older than 3.51.3; one writer each, so its log fault does not bite"
        )
    else:
        yield Finding("SQLite", "ok", version)


def _disk(settings: Settings) -> Iterator[Finding]:
    for name in ("bridge.db", "site.db"):
        path = Path(settings.data_dir) / name
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & 0o077:
            yield Finding(str(path), "fault", f"other accounts can read it: chmod 600 {path}")


CHECKS: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
    _settings,
    _secrets,
    _disk,
    _sqlite,
    _models,
    _channels,
    _programs,
    _bridge,
)
