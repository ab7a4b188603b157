"""A whole Penfriend in a folder of its own, run as real processes the way a person runs it."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[1]
START_WAIT_S = 60


class Installation:
    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.site_port, self.bridge_port = free_port(), free_port()
        own = {
            "PENFRIEND_SITE__PORT": str(self.site_port),
            "PENFRIEND_BRIDGE__PORT": str(self.bridge_port),
            "PENFRIEND_BRIDGE__MERGE_WINDOW_MS": "50",
            "PYTHONPATH": str(ROOT),
        }
        outer = {name: value for name, value in os.environ.items() if not name.startswith("PENFRIEND_")}
        self.env = {**outer, **own, **settings}

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.site_port}"

    @property
    def bridge(self) -> str:
        return f"http://127.0.0.1:{self.bridge_port}"

    @property
    def log(self) -> Path:
        return self.folder / "up.log"

    def run(self, *arguments: str, check: bool = True, timeout: float = 60) -> "subprocess.CompletedProcess[str]":
        """One `penfriend` command."""
        done = subprocess.run(
            [sys.executable, "-m", "cli", *arguments],
            cwd=self.folder,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        assert not check or done.returncode == 0, f"penfriend {arguments}: {done.stdout}{done.stderr}\n{self.tail()}"
        return done

    def say(self, text: str) -> str:
        return self.run("chat", "--once", text).stdout

    @contextmanager
    def up(self) -> Iterator["subprocess.Popen[bytes]"]:
        """`penfriend up`, ready; ended like a person ends it, with the signal of Ctrl-C."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "cli", "up"],
                cwd=self.folder,
                env=self.env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            self.wait_ready(process)
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)

    def wait_ready(self, process: "subprocess.Popen[bytes]") -> None:
        end = time.monotonic() + START_WAIT_S
        while time.monotonic() < end:
            assert process.poll() is None, f"penfriend up ended with {process.returncode}:\n{self.tail()}"
            if answers(f"{self.site}/readyz") and answers(f"{self.bridge}/readyz"):
                return
            time.sleep(0.1)
        raise AssertionError(f"not ready after {START_WAIT_S} s:\n{self.tail()}")

    def pid_of(self, program: str) -> int:
        """The newest pid that the supervisor told of a program."""
        found = re.findall(rf"{program} started \(pid=(\d+)\)", self.log.read_text())
        assert found, f"{program} was never started:\n{self.tail()}"
        return int(found[-1])

    def claim_link(self) -> str:
        return self.run("owner", "claim").stdout.strip()

    def tail(self) -> str:
        return self.log.read_text()[-3000:] if self.log.exists() else ""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False, timeout=2).is_success
    except httpx.HTTPError:
        return False
