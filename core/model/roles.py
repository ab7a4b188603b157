"""Which model answers for a role: its own settings, then those of `models.default`, then the built-in ones, key by key."""

from typing import Literal

from core.errors import SettingsError
from core.settings import Model, Settings

from .config import ModelConfig

Role = Literal["chat", "reader", "digest"]


def model_for(settings: Settings, role: Role) -> ModelConfig:
    """Errors: SettingsError that names the table of the settings file, when the parts make no usable model."""
    own: Model = getattr(settings.models, role)
    chosen = {
        key: value
        for key in Model.model_fields
        if (value := _first(getattr(own, key), getattr(settings.models.default, key))) is not None
    }
    try:
        return ModelConfig(**chosen)
    except SettingsError as problem:
        raise SettingsError(f"models.{role} (or models.default): {problem}") from problem


def _first(own: object, default: object) -> object:
    return default if own is None else own
