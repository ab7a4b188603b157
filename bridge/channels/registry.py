"""Which channels there are. A new one is a file beside this one, a line here, a fake and the contract tests."""

from core.clock import Clock
from core.settings import Settings

from .console import ConsoleChannel
from .contract import Channel
from .matrix import MatrixChannel
from .telegram import TelegramChannel
from .webhook import WebhookChannel
from .wechat import WeChatChannel


def open_channels(settings: Settings, clock: Clock) -> list[Channel]:
    """The enabled ones, in a fixed order. Opening a channel sends nothing yet."""
    channels: list[Channel] = []
    if settings.channels.console.enabled:
        channels.append(ConsoleChannel(clock))
    if settings.channels.telegram.enabled:
        channels.append(TelegramChannel(settings.channels.telegram))
    if settings.channels.matrix.enabled:
        channels.append(MatrixChannel(settings.channels.matrix))
    if settings.channels.wechat.enabled:
        channels.append(WeChatChannel(settings.secrets_dir, settings.channels.wechat.base_url))
    if settings.channels.webhook.enabled:
        channels.append(WebhookChannel(settings.channels.webhook, clock))
    return channels
