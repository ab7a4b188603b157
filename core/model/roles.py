"""The model of a role from the settings: each key that the role leaves out is the default model's."""

from typing import Any, Literal

from core.errors import SettingsError
from core.settings import Model, Settings

from .config import ModelConfig

Role = Literal["chat", "reader", "digest"]


def model_of(settings: Settings, role: Role) -> ModelConfig:
    """Raises SettingsError that names the key under `models.<role>` or `models.default`."""
    merged = {**_given(settings.models.default), **_given(getattr(settings.models, role))}
    try:
        return ModelConfig(**merged)
    except SettingsError as problem:
        raise SettingsError(f"models.{role} (or models.default): {problem}") from problem


def _given(model: Model) -> dict[str, Any]:  # one value for each field of ModelConfig, of that field's type
    return {key: getattr(model, key) for key in Model.model_fields if getattr(model, key) is not None}


def source_of(settings: Settings, role: Role, key: str) -> Literal["role", "default", "built in"]:
    """Where a key of a role comes from; doctor and the usage page show it."""
    if getattr(getattr(settings.models, role), key) is not None:
        return "role"
    return "default" if getattr(settings.models.default, key) is not None else "built in"
