"""Reads `penfriend.toml` and the environment into `Settings`, and makes one sentence of whatever is wrong there."""

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import get_args

from pydantic import BaseModel, SecretStr, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from .errors import SettingsError
from .settings import Settings

FILE = "penfriend.toml"
PREFIX = "PENFRIEND_"
CONFIG = "PENFRIEND_CONFIG"  # names another settings file
NOT_SETTINGS = {CONFIG, "PENFRIEND_SUPERVISOR_PID"}

Tree = dict[str, object]


def load_settings(environ: Mapping[str, str] | None = None, folder: Path | None = None) -> Settings:
    """The settings of this installation. Errors: SettingsError, one sentence that names the key and the cure."""
    environ = os.environ if environ is None else environ
    folder = folder or Path.cwd()
    path = Path(environ.get(CONFIG, folder / FILE))
    tree = _read_file(path, required=CONFIG in environ)
    for name, value in sorted(environ.items()):
        if name.startswith(PREFIX) and name not in NOT_SETTINGS:
            _overlay(tree, name, value)
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as problems:
        raise SettingsError(_sentence(problems.errors()[0])) from None
    return settings.model_copy(update={"data_dir": (folder / settings.data_dir).resolve()})


def _read_file(path: Path, *, required: bool) -> Tree:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        if required:
            raise SettingsError(
                f"the settings file {path} named by {CONFIG} is not there: create it or take {CONFIG} away"
            ) from None
        return {}
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"the settings file {path} cannot be read: {problem}") from problem
    except tomllib.TOMLDecodeError as problem:
        raise SettingsError(f"the settings file {path} is not valid TOML: {problem}") from problem


def _overlay(tree: Tree, name: str, value: str) -> None:
    path = name.removeprefix(PREFIX).lower().split("__")
    if path[-1].endswith("_file") and _is_secret(without_file := [*path[:-1], path[-1].removesuffix("_file")]):
        path, value = without_file, _secret_from(name, Path(value))
    for depth, part in enumerate(path[:-1], 1):
        tree = _branch(tree, part, ".".join(path[:depth]), name)
    tree[path[-1]] = value


def _branch(tree: Tree, part: str, dotted: str, name: str) -> Tree:
    branch = tree.setdefault(part, {})
    if not isinstance(branch, dict):
        raise SettingsError(
            f"{name} sets a key inside {dotted}, but {dotted} is a single value: check the name against docs/settings.md"
        )
    return branch


def _secret_from(name: str, path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{name} names {path}, which cannot be read: {problem}") from problem


def _is_secret(path: list[str]) -> bool:
    field = dict(fields()).get(".".join(path))
    return field is not None and SecretStr in (field.annotation, *get_args(field.annotation))


def fields(model: type[BaseModel] = Settings, above: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every setting as (dotted key, field), in the order of the file."""
    for name, field in model.model_fields.items():
        key = f"{above}{name}"
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from fields(field.annotation, f"{key}.")
        else:
            yield key, field


def env_name(key: str) -> str:
    """
    >>> env_name("site.port")
    'PENFRIEND_SITE__PORT'
    """
    return PREFIX + key.replace(".", "__").upper()


def _sentence(problem: ErrorDetails) -> str:
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, [name for name, _ in fields()], 1)
        cure = f"did you mean {near[0]}?" if near else "see docs/settings.md for the keys there are"
        return f"there is no setting {key} (nor {env_name(key)}): {cure}"
    if not key:
        return problem["msg"].removeprefix("Value error, ")
    field = dict(fields()).get(key)
    shown = "" if field is not None and _is_secret(key.split(".")) else f" (it is {problem['input']!r})"
    reason = problem["msg"].removeprefix("Value error, ")
    return f"setting {key}{shown}: {reason[0].lower() + reason[1:]}. Change it in {FILE} or {env_name(key)}"
