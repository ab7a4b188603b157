"""One writer process for a store: a lock file that names its holder.

The lock is the kernel's (`flock`), so it ends with the process however that ends; the pid inside is for the reader of
the error message only.
"""

import fcntl
import os
from pathlib import Path

from core.errors import StoreLocked


class WriterLock:
    """Taken while it exists. Errors: StoreLocked; OSError where the file cannot be made."""

    def __init__(self, store: Path) -> None:
        real = store.resolve()  # two names of one file must meet at one lock
        self.path = real.with_name(real.name + ".lock")
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, 32, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise StoreLocked(
                f"{store} is already written to by process {holder}: stop that one first, or ask it through `penfriend status`"
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._file)
