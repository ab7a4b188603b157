"""Folders to fill: a plain one, and a disk that is really small where this account may mount one."""

import ctypes
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

SMALL_BYTES = 1_500_000
_DETACH = 2  # a test that failed may still hold a file open
_LIBC = ctypes.CDLL(None, use_errno=True)

Disk = Callable[[Path], AbstractContextManager[Path]]


@contextmanager
def plain_folder(at: Path) -> Iterator[Path]:
    at.mkdir()
    yield at


@contextmanager
def small_disk(at: Path) -> Iterator[Path]:
    """A file system of `SMALL_BYTES` at `at`. Errors: PermissionError where this account may not mount one."""
    at.mkdir()
    if _LIBC.mount(b"none", os.fsencode(at), b"tmpfs", 0, f"size={SMALL_BYTES},mode=0700".encode()) != 0:
        raise PermissionError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(at))
    try:
        yield at
    finally:
        _LIBC.umount2(os.fsencode(at), _DETACH)


def disks() -> list[Disk]:
    """What this account can offer; a plain folder (with a size limit inside SQLite) everywhere."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            with small_disk(Path(folder) / "trial"):
                return [plain_folder, small_disk]
        except PermissionError:
            return [plain_folder]
