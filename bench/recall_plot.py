"""The figures of `bench/recall.py` as one SVG: recall at 5 by set, and CPU time by number of messages. Pure."""

from dataclasses import dataclass, field
from html import escape
from math import log10

WIDTH = 760
ROW = 26
LEFT = 250
BAR = 420
OURS, THEIRS = "#0f766e", "#b8b2a7"


@dataclass
class Plot:
    """`sets`: name, recall at 5 of ours and of a plain FTS5 table, in percent. `sizes`: messages, CPU ms (p50, p95)."""

    sets: list[tuple[str, float, float]] = field(default_factory=list)
    sizes: list[tuple[int, tuple[float, float], tuple[float, float]]] = field(default_factory=list)

    def svg(self) -> str:
        """
        >>> "recall 97.0" in Plot([("a chat", 97.0, 80.0)]).svg()
        True
        """
        rows: list[str] = []
        place = self._heading(rows, 30, "Recall at 5, percent (grey: plain FTS5)")
        for name, ours, theirs in self.sets:
            place = _pair(rows, place, name, (ours / 100, f"recall {ours:.1f}"), (theirs / 100, f"{theirs:.1f}"))
        if self.sizes:
            place = self._heading(
                rows, place + 20, "CPU milliseconds a question, median, on a log scale (grey: plain FTS5)"
            )
        for size, ours_ms, theirs_ms in self.sizes:
            mine = (_log(ours_ms[0]), f"p50 {ours_ms[0]:.2f}, p95 {ours_ms[1]:.2f}")
            plain = (_log(theirs_ms[0]), f"p50 {theirs_ms[0]:.2f}, p95 {theirs_ms[1]:.2f}")
            place = _pair(rows, place, f"{size:,} messages", mine, plain)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {place + 10}" font-family="sans-serif" font-size="12">'
        return "\n".join([head, f'<rect width="{WIDTH}" height="{place + 10}" fill="#fff"/>', *rows, "</svg>\n"])

    def _heading(self, rows: list[str], place: int, words: str) -> int:
        rows.append(f'<text x="10" y="{place}" font-weight="bold">{escape(words)}</text>')
        return place + 14


def _pair(rows: list[str], place: int, name: str, ours: tuple[float, str], theirs: tuple[float, str]) -> int:
    rows.append(f'<text x="{LEFT - 8}" y="{place + 15}" text-anchor="end">{escape(name)}</text>')
    for offset, colour, (share, words) in ((0, OURS, ours), (10, THEIRS, theirs)):
        width = max(1.0, BAR * share)
        rows.append(f'<rect x="{LEFT}" y="{place + offset}" width="{width:.1f}" height="9" fill="{colour}"/>')
        rows.append(f'<text x="{LEFT + width + 4:.1f}" y="{place + offset + 8}" font-size="9">{escape(words)}</text>')
    return place + ROW


def _log(milliseconds: float) -> float:
    """From a tenth of a millisecond to a hundred, as a share of the bar."""
    return min(1.0, max(0.0, (log10(max(milliseconds, 0.001)) + 1) / 3))
