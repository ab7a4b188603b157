"""What every route is given: the settings, the store and the clock of this site. Built once, in `app.open_parts`."""

from dataclasses import dataclass

from core.clock import Clock
from core.ids import RandomBytes
from core.settings import Settings
from core.store import Store


@dataclass(frozen=True)
class Parts:
    settings: Settings
    store: Store
    clock: Clock
    random_bytes: RandomBytes
