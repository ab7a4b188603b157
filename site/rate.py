"""How often one address may ask: a sliding window in memory. Money has limits of its own, in the ledger."""

from collections import OrderedDict, deque

from core.clock import Instant

MOST_ADDRESSES = 10_000


class RateLimit:
    """`limit` calls within `window_ms` for each address; the longest silent addresses are forgotten first."""

    def __init__(self, limit: int, window_ms: int) -> None:
        self._limit = limit
        self._window_ms = window_ms
        self._calls: OrderedDict[str, deque[Instant]] = OrderedDict()

    def allows(self, address: str, now: Instant) -> bool:
        """Counts the call when it is allowed.

        >>> limit = RateLimit(1, 1000)
        >>> limit.allows("a", Instant(0)), limit.allows("a", Instant(999)), limit.allows("a", Instant(1000))
        (True, False, True)
        """
        calls = self._calls.setdefault(address, deque())
        self._calls.move_to_end(address)
        while calls and calls[0] <= now - self._window_ms:
            calls.popleft()
        if len(calls) >= self._limit:
            return False
        calls.append(now)
        while len(self._calls) > MOST_ADDRESSES:
            self._calls.popitem(last=False)
        return True
