"""Pictures and files that articles show. Their bytes lie in data_dir/media; adding one is in `content/pictures.py`."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, select

from core.clock import Instant

from .content import media


@dataclass(frozen=True)
class MediaRow:
    name: str
    original: str
    type: str
    bytes: int
    size: tuple[int, int] | None
    added_at: Instant

    @property
    def address(self) -> str:
        return f"/media/{self.name}"


_NEWEST = select(media).order_by(media.c.added_at_ms.desc(), media.c.name).limit(bindparam("limit"))


def newest(conn: Connection, limit: int) -> tuple[MediaRow, ...]:
    return tuple(
        MediaRow(
            row.name,
            row.original,
            row.type,
            row.bytes,
            None if row.width is None or row.height is None else (row.width, row.height),
            Instant(row.added_at_ms),
        )
        for row in conn.execute(_NEWEST, {"limit": limit})
    )
