"""One chart of the money page: what a pool cost on each of the last days, drawn on the server as SVG. Pure.

One question, directly labelled, with the table beneath it: the picture carries no figure that the table lacks.
"""

from dataclasses import dataclass

from ..store.pool_days import Pool, PoolDay

WIDTH, HEIGHT, FOOT, HEAD = 640, 120, 18, 14


@dataclass(frozen=True)
class Bar:
    """Pixels from the left and the top. Certain, uncertain and held money stand on each other, in that order."""

    day: str
    x: float
    width: float
    spent: float
    unknown: float
    held: float
    total_micros: int


@dataclass(frozen=True)
class Chart:
    bars: tuple[Bar, ...]
    top_micros: int
    first_day: str
    last_day: str
    floor: int = HEIGHT - FOOT


def chart(rows: tuple[PoolDay, ...], pool: Pool, days: tuple[str, ...]) -> Chart | None:
    """None when the pool cost nothing in these days: an empty axis answers nothing."""
    by_day = {row.day: row for row in rows if row.pool == pool}
    top = max((row.held + row.spent for row in by_day.values()), default=0)
    if top == 0:
        return None
    step, scale = WIDTH / len(days), (HEIGHT - FOOT - HEAD) / top
    bars = [_bar(by_day[day], number * step, step, scale) for number, day in enumerate(days) if day in by_day]
    return Chart(tuple(bars), top, days[0], days[-1])


def _bar(row: PoolDay, x: float, step: float, scale: float) -> Bar:
    return Bar(
        row.day,
        round(x + step * 0.15, 1),
        round(step * 0.7, 1),
        round((row.spent - row.unknown) * scale, 1),
        round(row.unknown * scale, 1),
        round(row.held * scale, 1),
        row.held + row.spent,
    )
