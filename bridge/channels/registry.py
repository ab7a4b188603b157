"""Which channels there are. A new one is a file beside this one, a line here, a fake and the contract tests."""

from core.clock import Clock
from core.settings import Settings

from .console import ConsoleChannel
from .contract import Channel
from .telegram import TelegramChannel


def open_channels(settings: Settings, clock: Clock) -> list[Channel]:
    """The enabled ones, in a fixed order. Opening a channel sends nothing yet."""
    channels: list[Channel] = []
    if settings.channels.console.enabled:
        channels.append(ConsoleChannel(clock))
    if settings.channels.telegram.enabled:
        channels.append(TelegramChannel(settings.channels.telegram))
    return channels
