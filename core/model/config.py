"""Which model is asked, where, with which limits and prices. Built by the settings; reads nothing itself."""

import ipaddress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal
from urllib.parse import urlsplit

from pydantic import SecretStr

from ..errors import SettingsError
from .outcomes import ProviderPolicy

Provider = Literal["offline", "openai"]

_PRIVATE = tuple(
    ipaddress.ip_network(text)
    for text in ("127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")
)


@dataclass(frozen=True)
class ModelConfig:
    """Prices are currency units for a million tokens. `base_url` is what stands before `/chat/completions`.

    Raises SettingsError, which names the key under `models.<role>` and never shows the API key.
    """

    provider: Provider = "offline"
    base_url: str = ""
    api_key: SecretStr = field(default_factory=lambda: SecretStr(""))
    name: str = ""
    context_tokens: int = 32_768
    max_output_tokens: int = 1_024
    price_input_per_mtok: Decimal = Decimal(0)
    price_output_per_mtok: Decimal = Decimal(0)
    connect_timeout_s: float = 10.0
    idle_timeout_s: float = 60.0
    total_timeout_s: float = 180.0
    policy: ProviderPolicy = field(default_factory=ProviderPolicy)

    def __post_init__(self) -> None:
        if self.provider not in ("offline", "openai"):
            raise SettingsError(f'provider is {self.provider!r}: write "offline" or "openai"')
        _check_limits(self)
        if self.provider == "openai":
            check_base_url(self.base_url)
            _check_name_and_key(self)

    @property
    def completions_url(self) -> str:
        return self.base_url.rstrip("/") + "/chat/completions"

    @property
    def speaks_plainly(self) -> bool:
        """Whether the request travels without TLS."""
        return self.base_url.lower().startswith("http://")


def check_base_url(base_url: str) -> None:
    """Refuse an address that would carry the key or a private chat in clear text to the world."""
    try:
        parts = urlsplit(base_url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise SettingsError("base_url is not an address: write it like https://api.example.com/v1") from None
    if parts.scheme not in ("http", "https") or not host or base_url != base_url.strip():
        raise SettingsError("base_url must begin with https:// (or http://) and name a host")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError(f"base_url for {host} must hold no password, query or fragment: the key goes into api_key")
    if parts.scheme == "http" and _is_address(host) and not is_private_address(host):
        raise SettingsError(f"base_url uses http:// to {host}, which is not a private address: use https://")


def is_private_address(text: str) -> bool:
    """Loopback and the owner's own networks; link-local is not among them, because clouds keep secrets there.

    >>> is_private_address("192.168.1.9"), is_private_address("169.254.169.254"), is_private_address("8.8.8.8")
    (True, False, False)
    """
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = getattr(address, "ipv4_mapped", None)
    return any((mapped or address) in network for network in _PRIVATE)


def _is_address(host: str) -> bool:
    """Names and odd spellings (`0x8.8.8.8`) are judged by the client, at the address it has connected to."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True


def _check_limits(config: ModelConfig) -> None:
    for key in ("context_tokens", "max_output_tokens", "connect_timeout_s", "idle_timeout_s", "total_timeout_s"):
        if not getattr(config, key) > 0:
            raise SettingsError(f"{key} is {getattr(config, key)}: it must be more than 0")
    for key in ("price_input_per_mtok", "price_output_per_mtok"):
        price = getattr(config, key)
        if not price.is_finite() or price < 0:
            raise SettingsError(f"{key} is {price}: it must be 0 or more")
    if config.max_output_tokens >= config.context_tokens:
        raise SettingsError(
            f"max_output_tokens ({config.max_output_tokens}) leaves no room for input: "
            f"it must be less than context_tokens ({config.context_tokens})"
        )


def _check_name_and_key(config: ModelConfig) -> None:
    if not config.name.strip():
        raise SettingsError("name is empty: write the model's name as the provider spells it")
    key = config.api_key.get_secret_value()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SettingsError("api_key holds a space, a line break or a letter that no key has: copy it again")
