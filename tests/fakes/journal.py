"""An append-only log on disk: it outlives the process under test, and says what really happened."""

import json
import os
from pathlib import Path

Entry = dict[str, object]


class Journal:
    """One JSON object a line. A line is on disk when `note` returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def note(self, **entry: object) -> None:
        line = json.dumps(entry) + "\n"
        with self._path.open("ab") as file:
            file.write(line.encode("ascii"))
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> list[Entry]:
        return [json.loads(line) for line in self._path.read_text("ascii").splitlines()]

    def __len__(self) -> int:
        return len(self.read())
