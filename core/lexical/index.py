"""The one seam over the lexical index: what is committed lies in tantivy, the newest changes in memory, scored alike.

Derived data: `cursor()` tells the last change number that is safe, and after a crash the caller feeds all later changes
again (`add` and `forget` may be repeated). Everything here is synchronous and may be called from any thread. Which
change is fed when, and when to commit, is the caller's (`committer.py`).
"""

import shutil
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from tantivy import IndexWriter

from .bm25 import idf
from .committed import Snapshot, delete_entry, open_directory, open_writer, told_as_lexical, write_entry
from .entry import Entry, Hit, LexicalError, Weight, check_entry, check_scope, day_term, scope_term, scoped
from .tail import Tail

_MOST_TIED = 2000


class LexicalIndex:
    """Made by `LexicalIndex.open`. One writer; readers of other processes see a commit after their `refresh()`."""

    def __init__(self, path: Path, *, writable: bool) -> None:
        self._path = path
        self._index = open_directory(path, create=writable)
        self._writer: IndexWriter | None = open_writer(self._index, path) if writable else None
        self._state = threading.Lock()
        self._committing = threading.Lock()
        self._tail = Tail()
        self._gone: set[int] = set()
        self._hidden: set[int] = set()
        """Ids whose committed text must not be shown: forgotten, or superseded by the tail."""
        with told_as_lexical(path, "reading"):
            self._snapshot = Snapshot(self._index)

    @classmethod
    def open(cls, path: Path, *, writable: bool) -> "LexicalIndex":
        """Raises LexicalError when the directory is missing (readers), corrupt or of another format, LexicalLocked
        when it already has a writer."""
        if writable:
            _remove_leftovers(path)
        return cls(path, writable=writable)

    def add(self, entry: Entry) -> None:
        """Findable at once; replaces an earlier text of the same id. A change committed before is left alone."""
        self._writing()
        check_entry(entry)
        with self._state:
            committed = self._snapshot.change_of(entry.id)
            if committed == entry.seq and entry.id not in self._hidden:
                return
            self._tail.add(entry)
            self._gone.discard(entry.id)
            if committed is not None:
                self._hidden.add(entry.id)

    def forget(self, entry_id: int) -> bool:
        """Not found from now on, nor after a crash once committed; whether there was such a text.

        Its bytes surely go with a rebuild only.
        """
        self._writing()
        with self._state:
            committed = self._snapshot.change_of(entry_id) is not None
            known = committed or entry_id in self._tail.entries
            self._tail.drop(entry_id)
            self._gone.add(entry_id)
            if committed:
                self._hidden.add(entry_id)
        return known

    def pending(self) -> int:
        """Changes that are in memory only."""
        return len(self._tail.entries) + len(self._gone)

    def commit(self) -> None:
        """Make all changes so far durable. Searches go on meanwhile."""
        with self._committing, told_as_lexical(self._path, "committing"):
            writer = self._writing()
            with self._state:
                entries, gone, hidden = list(self._tail.entries.values()), set(self._gone), set(self._hidden)
            try:
                for entry_id in hidden:
                    delete_entry(writer, self._index.schema, entry_id)
                for entry in entries:
                    write_entry(writer, entry)
                writer.commit()
            except BaseException:
                self._writer = None
                raise
            self._take_over(entries, gone)

    def refresh(self) -> None:
        """Let a reader see what another process has committed."""
        with self._state, told_as_lexical(self._path, "reading"):
            self._index.reload()
            self._snapshot = Snapshot(self._index)

    def cursor(self) -> int:
        """The highest committed change number, 0 when empty."""
        with told_as_lexical(self._path, "reading"):
            return self._snapshot.cursor()

    def search(
        self, scopes: Sequence[str], tokens: Mapping[str, float], limit: int, *, days: Collection[int] = ()
    ) -> list[Hit]:
        """The best `limit` texts of these scopes, best first, newest id first among equals.

        `tokens` are weights of plain tokens, never a query language. With `days`, all texts of these days and no
        others, also such as hold no token. Texts that tie with the first one beyond the limit are left out with it, so
        that the answer does not depend on where a text lies; only when all tie, the newest are taken.
        """
        if isinstance(scopes, str) or not scopes:
            raise LexicalError(
                f"a search needs a list of scopes, not {scopes!r}: without one it could show anybody's words"
            )
        for scope in scopes:
            check_scope(scope)
        must = [day_term(scope, day) for scope in scopes for day in days]
        with self._state, told_as_lexical(self._path, "searching"):
            weights = self._weights(scopes, tokens)
            found = self._found(weights, limit + 1, must)
            if len(found) > limit and _rank(found[0]) == _rank(found[limit]):
                return self._found(weights, max(limit, _MOST_TIED), must)[:limit]
        return _cut(found, limit)

    def _found(self, weights: Mapping[str, tuple[float, int]], limit: int, must: Collection[str]) -> list[Hit]:
        found = self._tail.search({term: weight for term, (weight, _) in weights.items()}, self._average(), must)
        committed = self._snapshot.search(weights, limit + len(self._hidden), must)
        found.extend(hit for hit in committed if hit.id not in self._hidden)
        return sorted(found, key=_best_first)[:limit]

    def weigh(self, scopes: Sequence[str], tokens: Mapping[str, float]) -> Weight:
        """How much these tokens could score in all, and how much a word does that a single text holds."""
        with self._state, told_as_lexical(self._path, "searching"):
            weights = self._weights(scopes, tokens)
            texts = sum(self._holding(scope_term(scope)) for scope in scopes)
        total = sum(weight for weight, _ in weights.values()) / len(scopes)
        return Weight(total, idf(max(texts, 1), 1))

    def close(self) -> None:
        """Leaves without a commit: what is not committed is fed again after the next start."""
        with self._committing:
            if self._writer is not None:
                writer, self._writer = self._writer, None
                with told_as_lexical(self._path, "closing"):
                    writer.wait_merging_threads()

    def _writing(self) -> IndexWriter:
        if self._writer is None:
            raise LexicalError(f"the index in {self._path} is not open for writing: open it again with writable=True")
        return self._writer

    def _take_over(self, entries: list[Entry], gone: set[int]) -> None:
        with self._state:
            self._index.reload()
            self._snapshot = Snapshot(self._index)
            for entry in entries:
                if self._tail.entries.get(entry.id) is entry:
                    self._tail.drop(entry.id)
            self._gone -= gone
            waiting = (*self._gone, *self._tail.entries)
            self._hidden = {entry_id for entry_id in waiting if self._snapshot.change_of(entry_id) is not None}

    def _holding(self, term: str) -> int:
        return self._snapshot.holding(term) + self._tail.holding(term)

    def _average(self) -> float:
        """Tokens of a text on average, the tail included: what tantivy will reckon with after the next commit."""
        texts = self._snapshot.texts + len(self._tail.entries)
        return (self._snapshot.total_length + self._tail.total_length()) / texts if texts else 1.0

    def _weights(self, scopes: Sequence[str], tokens: Mapping[str, float]) -> dict[str, tuple[float, int]]:
        """For each term: weight times idf inside the scopes asked for, and how many committed texts hold it.

        The scopes count as one collection: alone, a word would weigh next to nothing in a chat of three messages.
        """
        texts = sum(self._holding(scope_term(scope)) for scope in scopes)
        weights = {}
        for token, weight in tokens.items():
            terms = [scoped(scope, token) for scope in scopes]
            value = weight * idf(texts, sum(self._holding(term) for term in terms))
            weights.update({term: (value, self._snapshot.holding(term)) for term in terms})
        return weights


def prepare_rebuild(path: Path, entries: Iterable[Entry], *, commit_every: int = 20_000) -> None:
    """Build a fresh index beside the one in `path`, which stays in use. `swap_rebuilt` brings it in."""
    fresh = _beside(path, "new")
    shutil.rmtree(fresh, ignore_errors=True)
    index = LexicalIndex(fresh, writable=True)
    try:
        for entry in entries:
            index.add(entry)
            if index.pending() >= commit_every:
                index.commit()
        index.commit()
    finally:
        index.close()


def swap_rebuilt(path: Path) -> None:
    """Put the prepared index in the place of the old one and remove the old one's bytes; no writer may be open.

    A crash in between leaves no index, which `open` answers with an empty one: the caller feeds it from change 0.
    """
    with told_as_lexical(path, "swapping"):
        if path.exists():
            path.rename(_beside(path, "old"))
        _beside(path, "new").rename(path)
        _remove_leftovers(path)


def _remove_leftovers(path: Path) -> None:
    for name in ("new", "old"):
        shutil.rmtree(_beside(path, name), ignore_errors=True)


def _beside(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}")


def _cut(found: list[Hit], limit: int) -> list[Hit]:
    """The first `limit` hits without those that tie with the first one beyond."""
    if len(found) <= limit:
        return found
    end = limit
    while end and _rank(found[end - 1]) == _rank(found[limit]):
        end -= 1
    return found[:end]


def _rank(hit: Hit) -> float:
    """Scores of the two parts differ by single precision only."""
    return round(hit.score, 4)


def _best_first(hit: Hit) -> tuple[float, int]:
    return -_rank(hit), -hit.id
