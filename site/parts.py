"""What every route is given: the settings, the store and the clock of this site. Built once, in `app.open_parts`."""

from collections.abc import Callable
from dataclasses import dataclass

from core.clock import Clock
from core.ids import RandomBytes
from core.settings import Settings
from core.store import Store


def never() -> bool:
    return False


@dataclass(frozen=True)
class Parts:
    """`leaving` says that the server was told to stop, so that what waits for news stops waiting."""

    settings: Settings
    store: Store
    clock: Clock
    random_bytes: RandomBytes
    leaving: Callable[[], bool] = never
