"""The newest changes, in memory until their commit: postings of a few hundred texts. Pure; locking is the index's."""

from collections import Counter
from collections.abc import Collection, Mapping

from .bm25 import saturation
from .entry import Entry, Hit, terms


class Tail:
    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self._length: dict[int, int] = {}
        self._postings: dict[str, dict[int, int]] = {}

    def add(self, entry: Entry) -> None:
        self.drop(entry.id)
        counts = Counter(terms(entry))
        self.entries[entry.id] = entry
        self._length[entry.id] = counts.total()
        for term, times in counts.items():
            self._postings.setdefault(term, {})[entry.id] = times

    def drop(self, entry_id: int) -> None:
        if (entry := self.entries.pop(entry_id, None)) is None:
            return
        del self._length[entry_id]
        for term in set(terms(entry)):
            del self._postings[term][entry_id]
            if not self._postings[term]:
                del self._postings[term]

    def total_length(self) -> int:
        return sum(self._length.values())

    def holding(self, term: str) -> int:
        return len(self._postings.get(term, ()))

    def search(self, weights: Mapping[str, float], average: float, must: Collection[str]) -> list[Hit]:
        """Hits for weighted terms; with `must`, every text that holds one of these and no other, matching or not."""
        scores: dict[int, float] = {}
        for term in must:
            scores.update(dict.fromkeys(self._postings.get(term, ()), 0.0))
        for term, weight in weights.items():
            for entry_id, times in self._postings.get(term, {}).items():
                if not must or entry_id in scores:
                    gain = weight * saturation(times, self._length[entry_id], average)
                    scores[entry_id] = scores.get(entry_id, 0.0) + gain
        return [self._hit(entry_id, score) for entry_id, score in scores.items()]

    def _hit(self, entry_id: int, score: float) -> Hit:
        entry = self.entries[entry_id]
        return Hit(entry_id, score, entry.session, entry.day, entry.flags)
