"""Which model serves which use, and whether a use has settings of its own. Keys are never shown."""

from dataclasses import dataclass
from typing import Literal

from core.errors import SettingsError
from core.model.roles import Role, model_of, source_of
from core.settings import Settings

from ..store.pool_days import Pool

Share = Literal["dedicated", "shared", "mixed"]
POOL_OF: dict[Role, Pool] = {"chat": "chat", "reader": "readers", "digest": "digest"}
KEYS = ("provider", "base_url", "api_key", "name")


@dataclass(frozen=True)
class ModelUsed:
    """`share`: the use has every key of its own, none, or some. `problem` is why no model can be opened, if so."""

    pool: Pool
    provider: str
    name: str
    address: str
    share: Share
    problem: str = ""


def models_used(settings: Settings) -> tuple[ModelUsed, ...]:
    return tuple(_used(settings, role, pool) for role, pool in POOL_OF.items())


def _used(settings: Settings, role: Role, pool: Pool) -> ModelUsed:
    share = _share(settings, role)
    try:
        config = model_of(settings, role)
    except SettingsError as problem:
        return ModelUsed(pool, "", "", "", share, str(problem))
    return ModelUsed(pool, config.provider, config.name, config.base_url, share)


def _share(settings: Settings, role: Role) -> Share:
    """Of the keys that somebody has set."""
    sources = {source_of(settings, role, key) for key in KEYS} - {"built in"}
    if sources == {"role"}:
        return "dedicated"
    return "mixed" if "role" in sources else "shared"
