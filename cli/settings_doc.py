"""Writes docs/settings.md from the settings themselves: `python -m cli.settings_doc`."""

from pathlib import Path

from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from core.settings_files import env_name, fields

PAGE = Path("docs/settings.md")

HEAD = """# Settings

Written by `python -m cli.settings_doc` from `core/settings.py`; change it there.

Settings stand in `penfriend.toml` in the folder Penfriend is started from (`PENFRIEND_CONFIG` names another file).
The environment stands above the file: `site.port` is `PENFRIEND_SITE__PORT`. A secret may also come from a file:
`PENFRIEND_MODELS__DEFAULT__API_KEY_FILE=/run/secrets/key`. Lists in the environment are written with commas. An unknown
key or a wrong value stops the program with one sentence that names the key, exit code 2.

```toml
[persona]
name = "Ada"
language = "en"
timezone = "Europe/Berlin"

[models.default]
provider = "openai"
base_url = "http://127.0.0.1:8080/v1"
name = "my-model"
```

| key | default | environment | meaning |
| --- | --- | --- | --- |
"""


def page() -> str:
    rows = [
        f"| `{key}` | {default_of(field)} | `{env_name(key)}` | {field.description or ''} |" for key, field in fields()
    ]
    return HEAD + "\n".join(rows) + "\n"


def default_of(field: FieldInfo) -> str:
    """
    >>> default_of(FieldInfo(default=8420)), default_of(FieldInfo(default=None)), default_of(FieldInfo(default=""))
    ('`8420`', '', '')
    """
    value = field.default
    if value in (None, "", PydanticUndefined):
        return ""
    if isinstance(value, tuple):
        return ", ".join(f"`{one}`" for one in value)
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
