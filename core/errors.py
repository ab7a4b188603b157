"""The errors that cross a module's border, and the exit code each of them means on the command line.

    PenfriendError
    ├── SettingsError            a setting is unknown, of the wrong type, or missing        exit 2
    ├── StoreError               the store cannot do what was asked                         exit 3
    │   ├── StoreLocked          another process writes to it (names the pid)
    │   ├── StoreClosed          the program is leaving, or a write was asked after that
    │   ├── StoreBroken          disk full, I/O error or corruption: closed for writing
    │   │   └── StoreFull        the disk or the store's own size limit is full
    │   ├── StoreTooNew          written by a newer version of the program
    │   └── StoreUnavailable     the database server cannot be reached; the write may be tried again
    ├── ControlError             bridge or digest and site could not agree                  exit 4
    │   ├── ControlUnreachable   no answer came; nothing is known about what the other side did
    │   ├── ControlRefused       the other side answered with a refusal
    │   └── SignatureRefused     a control request is not signed as it must be
    ├── DocumentError            a text cannot become a document                            exit 5
    ├── BadInput                 the caller asked for something that cannot be              exit 2
    └── TransitionError          a state table has no such step: a fault of ours            exit 70

Messages are written for the person who reads them: what happened, with which value, what to do next.
"""


class PenfriendError(Exception):
    exit_code = 1


class SettingsError(PenfriendError):
    exit_code = 2


class BadInput(PenfriendError):
    exit_code = 2


class StoreError(PenfriendError):
    exit_code = 3


class StoreLocked(StoreError):
    pass


class StoreClosed(StoreError):
    pass


class StoreBroken(StoreError):
    pass


class StoreFull(StoreBroken):
    pass


class StoreTooNew(StoreError):
    pass


class StoreUnavailable(StoreError):
    pass


class ControlError(PenfriendError):
    exit_code = 4


class ControlUnreachable(ControlError):
    pass


class ControlRefused(ControlError):
    """`status` is the HTTP status the other side answered with."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class SignatureRefused(ControlError):
    """`status` is the HTTP status the refusal is answered with: 401, or 409 for a replayed id."""

    def __init__(self, message: str, status: int = 401) -> None:
        super().__init__(message)
        self.status = status


class DocumentError(PenfriendError):
    exit_code = 5


class TransitionError(PenfriendError):
    exit_code = 70
