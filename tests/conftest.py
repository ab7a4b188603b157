"""What every test gets: no network beyond this machine, and one PostgreSQL server for those that ask."""

import ipaddress
import socket
import sys
from collections.abc import Iterator

import pytest

from tests.postgres import Cluster
from tests.synapse import Synapse


def _refuse_far_away(event: str, args: tuple[object, ...]) -> None:
    if event == "socket.connect" and not _is_here(args[1]):
        raise AssertionError(f"a test reached for {args[1]!r}: only this machine's loopback is allowed")
    if event == "socket.getaddrinfo" and not _is_here((args[0],)):
        raise AssertionError(f"a test looked up {args[0]!r}: only this machine's loopback is allowed")


def _is_here(address: object) -> bool:
    if not isinstance(address, tuple):
        return True  # a socket of the file system
    host = address[0].decode() if isinstance(address[0], bytes) else address[0]
    if host in (None, "", "localhost", socket.gethostname()) or str(host).endswith(".localhost"):
        return True  # RFC 6761: names under .localhost never leave this machine
    try:
        return ipaddress.ip_address(str(host)).is_loopback
    except ValueError:
        return False


sys.addaudithook(_refuse_far_away)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    with Synapse(tmp_path_factory.mktemp("synapse")) as server:
        yield server
