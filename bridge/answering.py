"""The parts that answering needs, put together once in `__main__`."""

from collections.abc import Callable
from dataclasses import dataclass

from core.clock import Clock, Instant
from core.model.config import ModelConfig
from core.model.contract import ModelClient
from core.settings import Settings
from core.store import Store

from .channels.contract import Capabilities
from .memory.index import MemoryIndex

Mint = Callable[[Instant], str]


@dataclass(frozen=True)
class Answering:
    """The parts that answering needs. `capabilities` finds those of an account, to split a reply for it."""

    store: Store
    memory: MemoryIndex
    settings: Settings
    model: ModelClient
    config: ModelConfig
    clock: Clock
    mint: Mint
    capabilities: Callable[[str], Capabilities]
