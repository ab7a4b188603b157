"""Addresses that show one draft to whoever holds them, for a while. Only the hash of a token is kept."""

from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, insert, select

from core.clock import Instant

from .desk import preview_links


@dataclass(frozen=True)
class PreviewLink:
    article: int
    made_at: Instant
    expires_at: Instant


_ADD = insert(preview_links)
_DROP_OLD = delete(preview_links).where(preview_links.c.expires_at_ms <= bindparam("now"))
_LIVE = preview_links.c.expires_at_ms > bindparam("now")
_ARTICLE = select(preview_links.c.article_id).where(preview_links.c.token_hash == bindparam("hash"), _LIVE)
_OF_ARTICLE = (
    select(preview_links)
    .where(preview_links.c.article_id == bindparam("article"), _LIVE)
    .order_by(preview_links.c.made_at_ms.desc())
)
_END = delete(preview_links).where(preview_links.c.article_id == bindparam("article"))


def add(conn: Connection, token_hash: str, link: PreviewLink) -> None:
    conn.execute(_DROP_OLD, {"now": link.made_at})
    row = {"token_hash": token_hash, "article_id": link.article}
    conn.execute(_ADD, {**row, "made_at_ms": link.made_at, "expires_at_ms": link.expires_at})


def article_of(conn: Connection, token_hash: str, now: Instant) -> int | None:
    """The article a live link shows."""
    return conn.execute(_ARTICLE, {"hash": token_hash, "now": now}).scalar_one_or_none()


def live_of(conn: Connection, article: int, now: Instant) -> tuple[PreviewLink, ...]:
    rows = conn.execute(_OF_ARTICLE, {"article": article, "now": now})
    return tuple(PreviewLink(row.article_id, Instant(row.made_at_ms), Instant(row.expires_at_ms)) for row in rows)


def end_all(conn: Connection, article: int) -> int:
    return conn.execute(_END, {"article": article}).rowcount
