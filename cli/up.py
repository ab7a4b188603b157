"""`penfriend up`: everything on one machine. Makes what is missing, starts the three programs, says where they are."""

import os
import shlex
import shutil
import socket
import sys
import threading
import time
from pathlib import Path

import honcho.manager
import httpx
import typer
from honcho.environ import parse_procfile

from core.clock import system_clock
from core.control.keys import ensure_keys
from core.errors import SettingsError
from core.local_token import ensure_token
from core.parent import SUPERVISOR
from core.settings import Settings
from core.settings_files import load_settings
from website.owner.claim_link import link_file

from .content import import_sample_once
from .output import console

DRAIN_S = 40
"""Above the longest drain of a program, which is the bridge's."""

READY_WAIT_S = 60
PROCFILE = """\
site: exec {python} -m website
bridge: exec {python} -m bridge
digest: exec {python} -m digest
"""


def register(app: typer.Typer) -> None:
    app.command("up", help="Start bridge, site and digest together.")(up)


def up() -> None:
    settings = load_settings()
    prepare(settings)
    check_ports(settings)
    manager = honcho.manager.Manager()
    honcho.manager.KILL_WAIT = DRAIN_S
    env = {**os.environ, "PYTHONUNBUFFERED": "1", SUPERVISOR: str(os.getpid())}
    for name, command in programs().items():
        manager.add_process(name, command, env=env)
    threading.Thread(target=greet, args=(settings,), daemon=True).start()
    manager.loop()
    # Ctrl-C is how one stops it: everything ended as asked.
    sys.exit(0 if manager.returncode in (0, 130, 143) else manager.returncode or 0)


def prepare(settings: Settings) -> None:
    """Folders, keys and sample articles; a second start finds them and does nothing."""
    settings.secrets_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    settings.data_dir.chmod(0o700)
    ensure_keys(settings.secrets_dir, system_clock())
    ensure_token(settings.secrets_dir)
    import_sample_once(settings)


def programs() -> dict[str, str]:
    """The lines of the Procfile here, or the same ones where there is none; `exec`, so that signals reach the program."""
    path = Path("Procfile")
    text = path.read_text("utf-8") if path.exists() else PROCFILE
    python = shlex.quote(sys.executable)
    lines = parse_procfile(text.replace("{python}", python)).processes
    return {name: command.replace("exec python ", f"exec {python} ", 1) for name, command in lines.items()}


def check_ports(settings: Settings) -> None:
    """Before anything starts: a taken port is one sentence, not three half-started programs."""
    for name, host, port in (
        ("site", settings.site.host, settings.site.port),
        ("bridge", settings.bridge.host, settings.bridge.port),
    ):
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as taken:
                raise SettingsError(
                    f"port {port} on {host} cannot be used ({taken.strerror}): stop the program that has it, "
                    f"or set {name}.port (PENFRIEND_{name.upper()}__PORT)"
                ) from taken


def greet(settings: Settings) -> None:
    """When site and bridge answer, says where they are and what to do first."""
    if not (_ready(f"{settings.control_url}/readyz") and _ready(f"{settings.bridge_url}/readyz")):
        return
    lines = ["", f"  Site     {settings.site_url}"]
    if link_file(settings).exists():
        lines.append(f"  Owner    {link_file(settings).read_text('utf-8').strip()}")
        lines.append("           (a one-time link: it makes you the owner)")
    lines += [f"  Chat     {_command()} chat", "  Stop     Ctrl-C", ""]
    console.print("\n".join(lines), highlight=False, markup=False, soft_wrap=True)


def _command() -> str:
    if shutil.which("penfriend"):
        return "penfriend"
    own = Path(sys.executable).with_name("penfriend")
    return os.path.relpath(own) if own.exists() else f"{sys.executable} -m cli"


def _ready(url: str) -> bool:
    end = time.monotonic() + READY_WAIT_S
    while time.monotonic() < end:
        try:
            if httpx.get(url, trust_env=False, timeout=2).is_success:
                return True
        except httpx.HTTPError:
            pass
        time.sleep(0.2)
    return False
