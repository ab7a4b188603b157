"""Whether a request left: what httpx's trace tells of one request, for faults, deadlines and cancellations alike.

Until httpx starts to send the head nothing has left, and a fault before that is "not sent" for certain. From then on
only the other side knows. Used by the model client and by the channels; both open a connection for each request, because
a kept one that the other side has just closed would turn "not sent" into "unknown".
"""

from collections.abc import Callable, Mapping

import httpcore


class PlainToTheWorld(Exception):
    """A name in an http:// address led out of the owner's networks."""


class Departure:
    """Watches one request. `may_be_plain` judges the address that a request without TLS has connected to."""

    def __init__(self, may_be_plain: Callable[[str], bool] | None = None) -> None:
        self.left = False
        self._may_be_plain = may_be_plain
        self._connection: httpcore.AsyncNetworkStream | None = None

    async def watch(self, event: str, info: Mapping[str, object]) -> None:
        """For httpx's `trace`. An event is the layer, what is done, and `started`, `complete` or `failed`."""
        if event == "connection.connect_tcp.complete":
            self._take_connection(info["return_value"])
        elif event.endswith("send_request_headers.started"):
            self.left = True

    async def close_connection(self) -> None:
        """For a request that was broken off: httpcore leaves the socket open when that is inside the TLS handshake."""
        if self._connection is not None:
            await self._connection.aclose()

    def _take_connection(self, connection: object) -> None:
        """Looking at the connected address leaves no gap between a checked name and a used one."""
        assert isinstance(connection, httpcore.AsyncNetworkStream)
        self._connection = connection
        host = connection.get_extra_info("server_addr")[0]
        if self._may_be_plain is not None and not self._may_be_plain(host):
            raise PlainToTheWorld(host)
