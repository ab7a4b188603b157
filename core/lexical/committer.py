"""When the lexical index commits: after 256 changes or two seconds, on a thread of its own, and once at the end."""

import threading
from types import TracebackType
from typing import Self

from .entry import LexicalError
from .index import LexicalIndex

CHANGES = 256
WAIT_S = 2.0


class Committer:
    """`with Committer(index) as committer:` and `committer.changed()` after every change.

    A commit that fails ends the thread and stays in `failure`: the index must be opened again, its tail still answers.
    """

    def __init__(self, index: LexicalIndex, *, changes: int = CHANGES, wait_s: float = WAIT_S) -> None:
        self._index = index
        self._changes = changes
        self._wait_s = wait_s
        self._news = threading.Condition()
        self._dirty = False
        self._leaving = False
        self.failure: LexicalError | None = None
        self._thread = threading.Thread(target=self._run, name="lexical-commit")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._news:
            self._leaving = True
            self._news.notify_all()
        self._thread.join()

    def changed(self) -> None:
        with self._news:
            self._dirty = True
            self._news.notify_all()

    def wait_until_idle(self, seconds: float) -> bool:
        """Whether everything announced so far was committed (or failed) within that time."""
        with self._news:
            return self._news.wait_for(lambda: not self._dirty, seconds)

    def _run(self) -> None:
        while self._wait() and self.failure is None:
            try:
                self._index.commit()
            except LexicalError as err:
                self.failure = err
            self._rest()

    def _wait(self) -> bool:
        """Until a commit is due; False when there is nothing left to do."""
        with self._news:
            self._news.wait_for(lambda: self._dirty or self._leaving)
            self._news.wait_for(lambda: self._leaving or self._index.pending() >= self._changes, self._wait_s)
            return self._dirty or self._index.pending() > 0

    def _rest(self) -> None:
        with self._news:
            self._dirty = self.failure is None and self._index.pending() > 0
            self._news.notify_all()
