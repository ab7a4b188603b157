"""A real PostgreSQL server that the tests start, use and stop themselves: loopback only, thrown away at the end."""

import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psycopg
import pytest

DEBIAN = Path("/usr/lib/postgresql")
START_TIMEOUT_S = 20.0
_OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "deadlock_timeout": "50ms",
    "fsync": "off",  # what survives a power cut is PostgreSQL's own promise, tested by its makers
    "shared_buffers": "16MB",
    "max_connections": "40",
}
_INITDB = ("-U", "tests", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")


class Cluster:
    def __init__(self) -> None:
        self._programs = find_programs()
        self._uid, self._gid = _account()
        self._folder = Path(tempfile.mkdtemp(prefix="penfriend-postgres-"))
        if self._uid is not None:
            os.chown(self._folder, self._uid, self._gid or 0)
        self.port = _free_port()
        self._names = itertools.count(1)
        self._server: subprocess.Popen[bytes] | None = None

    def url(self, schema: str = "public") -> str:
        return (
            f"postgresql+psycopg://tests:secret@127.0.0.1:{self.port}/postgres"
            f"?application_name={schema}&options=-csearch_path%3D{schema}"
        )

    def new_store(self) -> str:
        """The address of an empty place of its own: a schema, which is made a hundred times faster than a database."""
        schema = f"store_{next(self._names)}"
        with self._connect() as conn:
            conn.execute(f"CREATE SCHEMA {schema}".encode())
        return self.url(schema)

    def end_backends(self, url: str) -> int:
        """Kills every connection to that store, as an administrator would; their number."""
        schema = url.rpartition("%3D")[2]
        with self._connect() as conn:
            ended = conn.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", (schema,)
            )
            return len(ended.fetchall())

    def _connect(self) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(self.url().replace("+psycopg", ""), autocommit=True, connect_timeout=2)

    def start(self) -> None:
        options = [part for name, value in _OPTIONS.items() for part in ("-c", f"{name}={value}")]
        with (self._folder / "log").open("ab") as log:
            self._server = subprocess.Popen(
                [self._programs / "postgres", "-D", self._folder / "data", "-p", str(self.port), *options],
                stdout=log,
                stderr=log,
                cwd=self._folder,
                start_new_session=True,  # Ctrl-C in the tests' terminal is ours to pass on
                user=self._uid,
                group=self._gid,
                extra_groups=None if self._uid is None else [],
            )
        self._wait_until_ready()

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends it in order (connections are cut), SIGQUIT like a crash."""
        assert self._server is not None
        self._server.send_signal(how)
        self._server.wait(timeout=START_TIMEOUT_S)
        self._server = None

    def __enter__(self) -> Self:
        self._initialise()
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server:
            self.stop(signal.SIGQUIT)
        shutil.rmtree(self._folder)

    def _initialise(self) -> None:
        done = subprocess.run(
            [self._programs / "initdb", "-D", self._folder / "data", *_INITDB],
            capture_output=True,
            text=True,
            cwd=self._folder,
            user=self._uid,
            group=self._gid,
            extra_groups=None if self._uid is None else [],
        )
        if done.returncode:
            pytest.fail(f"initdb made no cluster: {done.stderr}", pytrace=False)

    def _wait_until_ready(self) -> None:
        assert self._server is not None
        until = time.monotonic() + START_TIMEOUT_S
        while time.monotonic() < until and self._server.poll() is None:
            try:
                self._connect().close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return
        pytest.fail(f"PostgreSQL did not start: {(self._folder / 'log').read_text()[-2000:]}", pytrace=False)


def find_programs(debian: Path = DEBIAN, path: str | None = None) -> Path:
    """The newest installed server's folder of programs: Debian's, or the one on the PATH."""
    found = sorted(debian.glob("*/bin/postgres"), key=lambda program: float(program.parts[-3]))
    on_path = shutil.which("postgres", path=path)
    if not found and not on_path:
        pytest.fail(
            "these tests need a real PostgreSQL server and found none: apt-get install postgresql", pytrace=False
        )
    return found[-1].parent if found else Path(str(on_path)).parent


def _account() -> tuple[int | None, int | None]:
    """PostgreSQL refuses to run as root: user and group it runs under then, or None for our own."""
    if os.geteuid() != 0:
        return None, None
    accounts = {entry.pw_name: entry for entry in pwd.getpwall()}
    account = accounts.get("postgres") or accounts["nobody"]
    return account.pw_uid, account.pw_gid


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
