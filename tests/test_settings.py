"""Every mistake in a setting is one sentence that names the key and the cure, and nothing starts half."""

import os
import subprocess
import sys
from datetime import time
from pathlib import Path

import pytest

from core.errors import SettingsError
from core.model.roles import model_of, source_of
from core.settings_files import load_settings

ROOT = Path(__file__).parents[1]


def test_without_a_file_everything_has_a_default(tmp_path: Path) -> None:
    settings = load_settings({}, tmp_path)

    assert settings.data_dir == tmp_path / "data"
    assert settings.digest.at == (time(21, 30),)
    assert model_of(settings, "chat").provider == "offline"


def test_the_environment_stands_above_the_file(tmp_path: Path) -> None:
    (tmp_path / "penfriend.toml").write_text("[site]\nport = 9000\ntitle = 'Mine'\n")

    settings = load_settings({"PENFRIEND_SITE__PORT": "9001", "PENFRIEND_DIGEST__AT": "07:00, 21:30"}, tmp_path)

    assert (settings.site.port, settings.site.title) == (9001, "Mine")
    assert settings.digest.at == (time(7, 0), time(21, 30))


@pytest.mark.parametrize(
    ("environ", "key", "cure"),
    [
        ({"PENFRIEND_SITE__PROT": "1"}, "site.prot", "site.port"),
        ({"PENFRIEND_SITTE__PORT": "1"}, "sitte", "docs/settings.md"),
        ({"PENFRIEND_SITE__PORT": "many"}, "site.port", "PENFRIEND_SITE__PORT"),
        ({"PENFRIEND_SITE__PORT": "70000"}, "site.port", "65535"),
        ({"PENFRIEND_PERSONA__TIMEZONE": "Mars/Base"}, "persona.timezone", "IANA"),
        ({"PENFRIEND_PERSONA__LANGUAGE": "fr"}, "persona.language", "'zh' or 'en'"),
        ({"PENFRIEND_DIGEST__AT": ""}, "digest.at", "PENFRIEND_DIGEST__AT"),
        ({"PENFRIEND_SITE": "x"}, "site", "PENFRIEND_SITE"),
        ({"PENFRIEND_DATA_DIR__X": "1", "PENFRIEND_DATA_DIR": "d"}, "data_dir", "single value"),
        ({"PENFRIEND_CHANNELS__TELEGRAM__ENABLED": "yes"}, "channels.telegram.token", "_FILE"),
        ({"PENFRIEND_CONFIG": "/nowhere/p.toml"}, "/nowhere/p.toml", "create it"),
        ({"PENFRIEND_MODELS__DEFAULT__API_KEY_FILE": "/nowhere/key"}, "API_KEY_FILE", "cannot be read"),
        ({"PENFRIEND_BUDGETS__READERS__MONEY_PER_DAY": "-1"}, "budgets.readers.money_per_day", "greater than or equal"),
    ],
)
def test_a_mistake_is_one_sentence_with_key_and_cure(
    environ: dict[str, str], key: str, cure: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as refused:
        load_settings(environ, tmp_path)

    assert key in str(refused.value) and cure in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("text", "says"), [("site = [", "not valid TOML"), ("\ud800", "cannot be read")])
def test_a_file_that_cannot_be_read_is_named(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / "penfriend.toml").write_bytes(text.encode("utf-8", "surrogatepass"))

    with pytest.raises(SettingsError, match=says):
        load_settings({}, tmp_path)


def test_a_secret_comes_from_a_file_and_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-canary-1234\n")

    settings = load_settings({"PENFRIEND_MODELS__DEFAULT__API_KEY_FILE": str(tmp_path / "key")}, tmp_path)

    assert settings.models.default.api_key is not None
    assert settings.models.default.api_key.get_secret_value() == "sk-canary-1234"
    assert "canary" not in repr(settings)
    with pytest.raises(SettingsError) as refused:
        load_settings({"PENFRIEND_CHANNELS__TELEGRAM__TOKEN__X": "canary"}, tmp_path)
    assert "canary" not in str(refused.value)


def test_a_role_falls_back_to_the_default_model_key_by_key(tmp_path: Path) -> None:
    environ = {
        "PENFRIEND_MODELS__DEFAULT__PROVIDER": "openai",
        "PENFRIEND_MODELS__DEFAULT__BASE_URL": "http://127.0.0.1:1/v1",
        "PENFRIEND_MODELS__DEFAULT__NAME": "small",
        "PENFRIEND_MODELS__DIGEST__NAME": "large",
    }

    settings = load_settings(environ, tmp_path)

    assert (model_of(settings, "chat").name, model_of(settings, "digest").name) == ("small", "large")
    assert model_of(settings, "digest").base_url == "http://127.0.0.1:1/v1"
    assert [source_of(settings, "digest", key) for key in ("name", "base_url", "context_tokens")] == [
        "role",
        "default",
        "built in",
    ]


@pytest.mark.parametrize("program", ["bridge", "website", "digest"])
def test_a_program_with_a_wrong_setting_ends_with_2_and_writes_nothing(program: str, tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT), "PENFRIEND_SITE__PROT": "1"}

    ended = subprocess.run(
        [sys.executable, "-m", program], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60
    )

    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1 and "site.prot" in ended.stderr
    assert list(tmp_path.iterdir()) == []
