"""Scripts and styles under names that hold their content's hash, so that browsers may keep them for ever.

A module that imports another (`from "./plan.js"`) gets the hashed name written into it, so its own hash follows.
Everything is read once, when the application is built, and served from memory.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}
_IMPORT = re.compile(rb'(?<=from ")\./([\w.-]+\.js)(?=")')
_HASH_DIGITS = 12


@dataclass(frozen=True)
class Asset:
    body: bytes
    type: str


class Assets:
    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._names: dict[str, str] = {}
        self.by_name: dict[str, Asset] = {}
        for path in sorted(folder.iterdir()):
            if path.suffix in TYPES:
                self._load(path.name)

    def url(self, name: str) -> str:
        """The address of `site.css`, hash included. Errors: KeyError for a file that is not there."""
        return f"/static/{self._names[name]}"

    def _load(self, name: str) -> str:
        if name not in self._names:
            path = self._folder / name
            body = _IMPORT.sub(lambda found: b"./" + self._load(found[1].decode()).encode(), path.read_bytes())
            digest = hashlib.sha256(body).hexdigest()[:_HASH_DIGITS]
            self._names[name] = f"{path.stem}.{digest}{path.suffix}"
            self.by_name[self._names[name]] = Asset(body, TYPES[path.suffix])
        return self._names[name]
