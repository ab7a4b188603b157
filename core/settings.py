"""Every setting, its default and its meaning. The file is `penfriend.toml`; the environment stands above it.

`PENFRIEND_SITE__PORT=9000` sets `site.port`; a secret may also come from a file: `PENFRIEND_MODELS__DEFAULT__API_KEY_FILE`.
An unknown key, a wrong type and an unreadable file are one sentence each, with the cure. docs/settings.md is written
from this file; a test holds the two together. Reading files and the environment is in `settings_files.py`.
"""

from datetime import time
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, model_validator

KIB = 1024


class Group(BaseModel):
    """One table of the settings file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _known_zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as unknown:
        raise ValueError(
            f"{name!r} is no IANA time zone: write one such as Asia/Shanghai or Europe/Berlin"
        ) from unknown
    return name


def _comma_list(value: object) -> object:
    """Lists in the environment are written with commas."""
    return [item.strip() for item in value.split(",") if item.strip()] if isinstance(value, str) else value


Zone = Annotated[str, AfterValidator(_known_zone)]
Port = Annotated[int, Field(ge=0, le=65535)]
Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0)]
Money = Annotated[Decimal, Field(ge=0)]


class Persona(Group):
    name: str = Field("Penfriend", min_length=1, max_length=80, description="What the persona is called.")
    language: Literal["zh", "en"] = Field(
        "en", description="The language of the house: notices, pages and prompts where none is asked for."
    )
    timezone: Zone = Field(
        "Asia/Shanghai", description="The owner's time zone: what today and yesterday mean, and when a budget day ends."
    )


class Model(Group):
    """A role (`chat`, `reader`, `digest`) falls back to `default` key by key, so everything here may be left out."""

    provider: Literal["offline", "openai"] | None = Field(
        None,
        description="`offline` quotes what it remembers and calls nobody; `openai` is any OpenAI-compatible address. Default: offline.",
    )
    base_url: str | None = Field(None, description="Address of the API, such as http://127.0.0.1:8080/v1.")
    api_key: SecretStr | None = Field(None, description="Key for that address.")
    name: str | None = Field(None, description="The model's name as the address knows it.")
    context_tokens: Positive | None = Field(
        None, description="How many tokens the model can read and write in one call. Default: 32768."
    )
    max_output_tokens: Positive | None = Field(
        None, description="The most tokens of one answer; a reservation counts them all. Default: 1024."
    )
    price_input_per_mtok: Money | None = Field(
        None, description="Price of a million input tokens in your currency. Default: 0."
    )
    price_output_per_mtok: Money | None = Field(
        None, description="Price of a million output tokens in your currency. Default: 0."
    )
    connect_timeout_s: Seconds | None = Field(None, description="Seconds until a connection must stand. Default: 10.")
    idle_timeout_s: Seconds | None = Field(None, description="Seconds without a piece of the answer. Default: 60.")
    total_timeout_s: Seconds | None = Field(
        None, description="Seconds for the whole answer, whatever arrives. Default: 180."
    )


class Models(Group):
    default: Model = Model()
    chat: Model = Model()
    reader: Model = Model()
    digest: Model = Model()


class Console(Group):
    enabled: bool = Field(True, description="Chat in the terminal with `penfriend chat`.")


class Telegram(Group):
    enabled: bool = Field(False, description="Poll a Telegram bot.")
    base_url: str = Field("https://api.telegram.org", description="Address of the Bot API.")
    token: SecretStr | None = Field(None, description="The bot's token from BotFather.")
    groups: bool = Field(
        False, description="Whether the bot may speak in groups that the owner opened with a code made for that chat."
    )


class Matrix(Group):
    enabled: bool = Field(False, description="Follow a Matrix account.")
    base_url: str = Field("", description="Address of the homeserver's client API.")
    user: str = Field("", description="The full user id, such as @persona:example.org.")
    device: str = Field("PENFRIEND", description="The device id; keep it, transaction ids belong to it.")
    token: SecretStr | None = Field(None, description="The access token of that device.")
    invited_by: Annotated[tuple[str, ...], BeforeValidator(_comma_list)] = Field(
        (), description="The user ids whose invitations to a room are followed; all others are declined."
    )


class WeChat(Group):
    enabled: bool = Field(False, description="Follow a WeChat iLink account; one signs in with a QR code.")
    base_url: str = Field("https://ilinkai.weixin.qq.com", description="Address of the sign-in service.")


class Webhook(Group):
    enabled: bool = Field(False, description="Take signed JSON from programs of your own.")
    host: str = Field("127.0.0.1", description="Where the webhook listens.")
    port: Port = Field(8422, description="Port of the webhook.")
    base_url: str = Field("", description="Where replies are posted to.")
    secret: SecretStr | None = Field(None, description="The shared secret both directions are signed with.")


class Channels(Group):
    console: Console = Console()
    telegram: Telegram = Telegram()
    matrix: Matrix = Matrix()
    wechat: WeChat = WeChat()
    webhook: Webhook = Webhook()


class Bridge(Group):
    db_url: str = Field("", description="Where the bridge keeps its store. Empty: data_dir/bridge.db.")
    host: str = Field("127.0.0.1", description="Where the bridge's own HTTP listens; keep it on loopback.")
    port: Port = Field(8421, description="Port of the bridge's own HTTP.")
    merge_window_ms: Annotated[int, Field(ge=0, le=60_000)] = Field(
        1500,
        description="Messages of one conversation that arrive within this many milliseconds are answered together.",
    )
    context_bytes: Annotated[int, Field(ge=4096, le=56_000)] = Field(
        56_000, description="The most bytes of one model request's body, system text included."
    )
    recent_turns: Annotated[int, Field(ge=1, le=50)] = Field(
        12, description="The most whole turns of the conversation that go into a request as they were."
    )
    retry_unknown: Literal["never", "once"] = Field(
        "never", description="Whether a model call whose outcome is unknown is tried again, with its own reservation."
    )
    parallel_turns: Annotated[int, Field(ge=1, le=64)] = Field(
        4, description="How many conversations are answered at the same time."
    )
    max_store_bytes: Positive = Field(10_000_000_000, description="Intake stops when the store is larger than this.")
    min_free_bytes: Annotated[int, Field(ge=0)] = Field(
        200_000_000, description="Intake stops when the disk has less room than this."
    )
    max_message_bytes: Positive = Field(
        16 * KIB, description="A longer message is kept but not answered; the sender is told the limit."
    )


class Site(Group):
    db_url: str = Field("", description="Where the site keeps its store. Empty: data_dir/site.db.")
    host: str = Field("127.0.0.1", description="Where the site listens.")
    port: Port = Field(8420, description="Port of the site.")
    public_url: str = Field(
        "", description="The address readers use, such as https://blog.example.org. Empty: the listening address."
    )
    title: str = Field("", max_length=80, description="The name of the site. Empty: the persona's name.")
    reader_context_bytes: Annotated[int, Field(ge=1000, le=56_000)] = Field(
        12_000, description="The most bytes of article text that go into an answer for a reader."
    )
    max_question_bytes: Annotated[int, Field(ge=100, le=16 * KIB)] = Field(
        2_000, description="The longest question a reader can ask, in bytes."
    )


class Control(Group):
    url: str = Field("", description="Where bridge and digest find the site. Empty: the site's listening address.")


class Pool(Group):
    """`money_per_day` in your currency; leave it out for no limit on money."""

    requests_per_minute: Positive = Field(30, description="The most paid requests in a minute.")
    requests_per_day: Positive = Field(1000, description="The most paid requests on one local day.")
    concurrency: Positive = Field(4, description="The most paid requests at the same time.")
    tokens_per_day: Positive = Field(2_000_000, description="The most tokens, read and written, on one local day.")
    money_per_day: Money | None = Field(None, description="The most money on one local day, held and unknown included.")
    output_tokens: Positive = Field(2048, description="The most tokens one answer may have.")


class ChatPool(Pool):
    anomaly_factor: Annotated[float, Field(ge=1)] = Field(
        8.0, description="Paid work stops when today's tokens are this many times the median of the last 14 days."
    )
    anomaly_floor_tokens: Positive = Field(
        300_000, description="Below this many tokens a day nothing counts as an anomaly."
    )
    lease_seconds: Annotated[int, Field(ge=30, le=3600)] = Field(
        600, description="How long a lease of the chat pool lasts; it is renewed at half."
    )
    lease_calls: Positive = Field(20, description="How many calls one lease carries.")
    lease_money: Money = Field(Decimal("2"), description="How much money one lease carries, in your currency.")


class ReaderPool(Pool):
    requests_per_minute: Positive = Field(10, description="The most paid requests in a minute.")
    requests_per_day: Positive = Field(300, description="The most paid requests on one local day.")
    tokens_per_day: Positive = Field(500_000, description="The most tokens, read and written, on one local day.")
    money_per_day: Money | None = Field(
        Decimal("1"), description="The most money on one local day, held and unknown included."
    )
    output_tokens: Positive = Field(700, description="The most tokens one answer may have.")


class DigestPool(Pool):
    requests_per_minute: Positive = Field(4, description="The most paid requests in a minute.")
    requests_per_day: Positive = Field(20, description="The most paid requests on one local day.")
    concurrency: Positive = Field(1, description="The most paid requests at the same time.")
    tokens_per_day: Positive = Field(400_000, description="The most tokens, read and written, on one local day.")
    money_per_day: Money | None = Field(
        Decimal("1"), description="The most money on one local day, held and unknown included."
    )


class Budgets(Group):
    currency: str = Field(
        "USD",
        min_length=1,
        max_length=8,
        description="The currency of all prices and limits; a name, nothing is converted.",
    )
    chat: ChatPool = ChatPool()
    readers: ReaderPool = ReaderPool()
    digest: DigestPool = DigestPool()


class Digest(Group):
    at: Annotated[tuple[time, ...], BeforeValidator(_comma_list)] = Field(
        (time(21, 30),), min_length=1, max_length=24, description="The local times of the daily digest."
    )
    timezone: Zone = Field("Asia/Shanghai", description="The zone of those times.")
    missed: Literal["run", "tell"] = Field(
        "run", description="Whether a slot missed while nothing ran is made up for once, or only told in the inbox."
    )
    max_turns: Annotated[int, Field(ge=1, le=50)] = Field(50, description="The most turns of one draft.")
    max_bytes: Annotated[int, Field(ge=1000, le=18_432)] = Field(
        18_432, description="The most bytes of talk in one draft."
    )
    max_batches: Annotated[int, Field(ge=1, le=20)] = Field(3, description="The most drafts of one slot.")


class Settings(Group):
    data_dir: Path = Field(Path("data"), description="Where stores, secrets, indexes and backups live.")
    persona: Persona = Persona()
    models: Models = Models()
    channels: Channels = Channels()
    bridge: Bridge = Bridge()
    site: Site = Site()
    control: Control = Control()
    budgets: Budgets = Budgets()
    digest: Digest = Digest()

    @model_validator(mode="after")
    def _channels_have_what_they_need(self) -> Self:
        for name, secret in (("telegram", "token"), ("matrix", "token"), ("webhook", "secret")):
            channel = getattr(self.channels, name)
            if channel.enabled and getattr(channel, secret) is None:
                raise ValueError(
                    f"channels.{name}.{secret} is missing: set PENFRIEND_CHANNELS__{name.upper()}__{secret.upper()} "
                    f"(or …_{secret.upper()}_FILE), or take channels.{name} out of penfriend.toml"
                )
        return self

    @property
    def secrets_dir(self) -> Path:
        return self.data_dir / "secrets"

    @property
    def bridge_db_url(self) -> str:
        return self.bridge.db_url or f"sqlite:///{self.data_dir / 'bridge.db'}"

    @property
    def site_db_url(self) -> str:
        return self.site.db_url or f"sqlite:///{self.data_dir / 'site.db'}"

    @property
    def site_url(self) -> str:
        return self.site.public_url.rstrip("/") or f"http://{self.site.host}:{self.site.port}"

    @property
    def control_url(self) -> str:
        return self.control.url.rstrip("/") or f"http://{self.site.host}:{self.site.port}"

    @property
    def bridge_url(self) -> str:
        return f"http://{self.bridge.host}:{self.bridge.port}"

    @property
    def site_title(self) -> str:
        return self.site.title or self.persona.name
