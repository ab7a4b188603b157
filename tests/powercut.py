"""Power cuts and disk faults under the very SQLite that Python's `sqlite3` is linked to, without a compiler.

`Recorder` puts itself between SQLite and the file system (a VFS, https://sqlite.org/vfs.html, by ctypes): it keeps every
write, truncation, sync and deletion below one folder, and can make one of them fail. `Disk` replays such a record and
says what a disk may hold after a power cut: what was synced, and any part of what was not.
"""

import _sqlite3
import ctypes
import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

SECTOR_BYTES = 512

# Extended result codes, https://sqlite.org/rescode.html
FULL, IOERR_WRITE, IOERR_FSYNC = 13, 778, 1034


@dataclass(frozen=True)
class Write:
    file: str
    at: int
    data: bytes


@dataclass(frozen=True)
class Truncate:
    file: str
    size: int


@dataclass(frozen=True)
class Sync:
    """`failed`: the kernel may have dropped the pages and calls them clean, so that the next sync proves nothing."""

    file: str
    failed: bool = False


@dataclass(frozen=True)
class Delete:
    file: str


@dataclass(frozen=True)
class Acknowledged:
    """Somebody was told that this is kept."""

    key: str


Operation = Write | Truncate | Sync | Delete | Acknowledged


# ---- what SQLite calls ----------------------------------------------------------------------------------------------

_X_WRITE = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_X_TRUNCATE = CFUNCTYPE(c_int, c_void_p, c_int64)
_X_SYNC = CFUNCTYPE(c_int, c_void_p, c_int)
_X_OPEN = CFUNCTYPE(
    c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p
)  # the name as an address: it is kept by SQLite
_X_DELETE = CFUNCTYPE(c_int, c_void_p, c_char_p, c_int)

_LATER_METHODS = (
    *("xFileSize", "xLock", "xUnlock", "xCheckReservedLock", "xFileControl", "xSectorSize"),
    *("xDeviceCharacteristics", "xShmMap", "xShmLock", "xShmBarrier", "xShmUnmap", "xFetch", "xUnfetch"),
)


class _Methods(ctypes.Structure):
    """sqlite3_io_methods, version 3."""

    _fields_ = (
        ("iVersion", c_int),
        ("xClose", c_void_p),
        ("xRead", c_void_p),
        ("xWrite", _X_WRITE),
        ("xTruncate", _X_TRUNCATE),
        ("xSync", _X_SYNC),
        *((name, c_void_p) for name in _LATER_METHODS),
    )


class _File(ctypes.Structure):
    """The head of sqlite3_file; what follows belongs to the VFS."""

    _fields_ = (("pMethods", POINTER(_Methods)),)


class _Vfs(ctypes.Structure):
    """sqlite3_vfs, version 3; the calls after xDelete stay as they are."""

    _fields_ = (
        ("iVersion", c_int),
        ("szOsFile", c_int),
        ("mxPathname", c_int),
        ("pNext", c_void_p),
        ("zName", c_char_p),
        ("pAppData", c_void_p),
        ("xOpen", _X_OPEN),
        ("xDelete", _X_DELETE),
        *((f"later{number}", c_void_p) for number in range(16)),
    )


def library() -> tuple[ctypes.CDLL, str]:
    """The SQLite library of Python's `sqlite3` and its path.

    Errors: RuntimeError where it cannot be reached, or where what was reached is another one.
    """
    _sqlite3.connect(":memory:").close()
    mapped = [line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libsqlite3" in line]
    path = mapped[0] if mapped else _sqlite3.__file__  # linked in: reachable where its names are exported
    loaded = ctypes.CDLL(path)
    if not hasattr(loaded, "sqlite3_libversion"):
        raise RuntimeError(f"{path} does not export SQLite: run these tests with a Python linked to libsqlite3.so")
    loaded.sqlite3_libversion.restype = c_char_p
    version = loaded.sqlite3_libversion().decode()
    if version != sqlite3.sqlite_version:
        raise RuntimeError(
            f"{path} is SQLite {version}, the store's is {sqlite3.sqlite_version}: they must be the same"
        )
    loaded.sqlite3_vfs_find.restype = c_void_p
    return loaded, path


_KEPT_FOR_EVER: list[object] = []  # SQLite may call what it was once given until the process ends


class Recorder:
    """While it is entered, every file opened below `folder` is recorded. Connections opened inside are closed inside."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self.operations: list[Operation] = []
        self._library, self.path = library()
        self._base = _Vfs.from_address(self._library.sqlite3_vfs_find(None))
        self._names: dict[int, str] = {}
        self._methods: dict[int, _Methods] = {}
        self.failed: str | None = None
        self._fails: Callable[[type[Operation], str], int] = lambda _kind, _file: 0
        self._vfs = self._own_vfs()
        _KEPT_FOR_EVER.append(self)

    def fail_once(self, kind: type[Operation], number: int, code: int) -> None:
        """The `number`-th operation of that kind from now on (1 is the next) is not done and answers `code`.

        `failed` then says on which file.
        """
        left = number

        def fails(what: type[Operation], file: str) -> int:
            nonlocal left
            left -= what is kind
            if what is not kind or left != 0:
                return 0
            self.failed = file
            return code

        self._fails = fails

    def acknowledge(self, key: str) -> None:
        self.operations.append(Acknowledged(key))

    def __enter__(self) -> Self:
        assert self._library.sqlite3_vfs_register(ctypes.byref(self._vfs), 1) == 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._library.sqlite3_vfs_register(ctypes.byref(self._base), 1)
        self._library.sqlite3_vfs_unregister(ctypes.byref(self._vfs))

    def _own_vfs(self) -> _Vfs:
        vfs = _Vfs()
        ctypes.memmove(ctypes.byref(vfs), ctypes.byref(self._base), ctypes.sizeof(_Vfs))
        vfs.zName, vfs.xOpen, vfs.xDelete = b"powercut", _X_OPEN(self._open), _X_DELETE(self._delete)
        return vfs

    def _open(self, _vfs: int, name: int | None, file: int, flags: int, out_flags: int) -> int:
        code: int = self._base.xOpen(ctypes.addressof(self._base), name, file, flags, out_flags)
        path = ctypes.string_at(name).decode() if name else ""
        if code == 0 and path.startswith(self._folder) and not path.endswith("-shm"):
            self._names[file] = path
            head = _File.from_address(file)
            head.pMethods = ctypes.pointer(self._recording(ctypes.addressof(head.pMethods.contents)))
        return code

    def _delete(self, _vfs: int, name: bytes, sync_folder: int) -> int:
        code: int = self._base.xDelete(ctypes.addressof(self._base), name, sync_folder)
        if code == 0 and name.decode().startswith(self._folder):
            self.operations.append(Delete(name.decode()))
        return code

    def _recording(self, address: int) -> _Methods:
        """The methods at `address` with ours in front of them."""
        if address not in self._methods:
            theirs, ours = _Methods.from_address(address), _Methods()
            ctypes.memmove(ctypes.byref(ours), address, ctypes.sizeof(_Methods))
            ours.iVersion = min(theirs.iVersion, 2)  # no memory map: it would write past us
            ours.xWrite, ours.xTruncate = self._write_to(theirs), self._truncate_to(theirs)
            ours.xSync = self._sync_to(theirs)
            self._methods[address] = ours
        return self._methods[address]

    def _write_to(self, theirs: _Methods) -> object:
        def write(file: int, data: int, size: int, at: int) -> int:
            if code := self._fails(Write, self._names[file]):
                return code
            self.operations.append(Write(self._names[file], at, ctypes.string_at(data, size)))
            return int(theirs.xWrite(file, data, size, at))

        return _X_WRITE(write)

    def _truncate_to(self, theirs: _Methods) -> object:
        def truncate(file: int, size: int) -> int:
            self.operations.append(Truncate(self._names[file], size))
            return int(theirs.xTruncate(file, size))

        return _X_TRUNCATE(truncate)

    def _sync_to(self, theirs: _Methods) -> object:
        def sync(file: int, flags: int) -> int:
            failure = self._fails(Sync, self._names[file])
            code = failure or int(theirs.xSync(file, flags))
            self.operations.append(Sync(self._names[file], failed=code != 0))
            return code

        return _X_SYNC(sync)


# ---- what a disk may hold afterwards --------------------------------------------------------------------------------

Unsynced = Write | Truncate
Survives = Callable[[Sequence[Unsynced]], list[Unsynced]]


@dataclass
class _Content:
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Unsynced] = field(default_factory=list)


class Disk:
    """Replays operations over the files that were there before."""

    def __init__(self, before: dict[str, bytes]) -> None:
        self._files = {name: _Content(bytearray(content)) for name, content in before.items()}

    def apply(self, operation: Operation) -> None:
        match operation:
            case Write(file) | Truncate(file):
                self._files.setdefault(file, _Content()).pending.append(operation)
            case Sync(file, failed):
                content = self._files.setdefault(file, _Content())
                if not failed:
                    _put(content.durable, content.pending)
                content.pending.clear()
            case Delete(file):
                self._files.pop(file, None)
            case Acknowledged():
                pass

    def after_a_cut(self, survives: Survives) -> dict[str, bytes]:
        """The files by name; `survives` says which of the unsynced operations reached the disk."""
        image = {}
        for name, content in self._files.items():
            held = bytearray(content.durable)
            _put(held, survives(content.pending))
            image[name] = bytes(held)
        return image


def _put(content: bytearray, operations: Sequence[Unsynced]) -> None:
    for operation in operations:
        if isinstance(operation, Truncate):
            del content[operation.size :]
            content.extend(bytes(operation.size - len(content)))
        else:
            content.extend(bytes(max(0, operation.at - len(content))))
            content[operation.at : operation.at + len(operation.data)] = operation.data


def none_survive(_pending: Sequence[Unsynced]) -> list[Unsynced]:
    return []


def some_survive(chance: random.Random) -> Survives:
    """Each with an even chance, so also a later one without an earlier one."""
    return lambda pending: [operation for operation in pending if chance.random() < 0.5]


def sectors_survive(chance: random.Random) -> Survives:
    """Each write is torn: every sector of it with an even chance."""
    return lambda pending: [part for operation in pending for part in _sectors(operation) if chance.random() < 0.5]


def _sectors(operation: Unsynced) -> Iterator[Unsynced]:
    if isinstance(operation, Truncate):
        yield operation
        return
    at = operation.at
    while at < operation.at + len(operation.data):
        end = min((at // SECTOR_BYTES + 1) * SECTOR_BYTES, operation.at + len(operation.data))
        yield Write(operation.file, at, operation.data[at - operation.at : end - operation.at])
        at = end
