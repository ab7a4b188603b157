"""Which client a configuration means. A provider that speaks another protocol would be a line here."""

from ..clock import Clock, system_clock
from .client import HttpModelClient
from .config import ModelConfig
from .contract import ModelClient
from .offline import OfflineModel


def open_model(config: ModelConfig, *, clock: Clock = system_clock) -> ModelClient:
    """Connects to nothing yet. The caller closes it with `aclose`."""
    if config.provider == "offline":
        return OfflineModel()
    return HttpModelClient(config, clock=clock)
