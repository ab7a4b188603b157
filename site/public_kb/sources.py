"""What an answer rests on: at most three published articles, each with one quote to show and more of it to read. Pure.

The model reads passages, readers see quotes; both are the article's own words.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest

from core.ids import BlockId
from core.model.system_text import Passage

from ..store.articles import Language
from ..store.publications import Teaser
from .chunks import Chunk, Piece
from .excerpts import quote, worth


@dataclass(frozen=True)
class Source:
    """`block` is the id of the block that `text` stands in: the page scrolls to it."""

    number: int
    slug: str
    path: str
    title: str
    language: Language
    block: BlockId
    text: str


@dataclass(frozen=True)
class Reading:
    """A source, its address, and its passages in the order in which they should be read if there is room."""

    source: Source
    url: str
    chunks: tuple[Chunk, ...]


def source_of(number: int, teaser: Teaser, chunk: Chunk, asked: Mapping[str, float]) -> Source:
    piece = best_piece(chunk, asked)
    text = quote(piece.text, asked)
    return Source(number, teaser.slug, teaser.path, teaser.title, teaser.language, piece.block, text)


def best_piece(chunk: Chunk, asked: Mapping[str, float]) -> Piece:
    """The block of a passage that answers best, the first one among equals. A heading announces an answer and is none."""
    pieces = [piece for piece in chunk.pieces if not piece.heading] or chunk.pieces
    return max(pieces, key=lambda piece: worth(quote(piece.text, asked), asked))


def passages_within(limit: int, readings: Sequence[Reading]) -> tuple[Passage, ...]:
    """What the model reads, in at most `limit` bytes of JSON.

    Quotes come first (the last sources fall away if not even those fit), then passages round by round, best ones first.
    """
    kept = list(readings)
    chosen: list[list[Chunk]] = [[] for _ in kept]
    while kept and _size(kept, chosen) > limit:
        kept.pop()
    for same_rank in zip_longest(*(reading.chunks for reading in kept)):
        for at, chunk in enumerate(same_rank):
            if chunk is not None:
                chosen[at].append(chunk)
                if _size(kept, chosen) > limit:
                    chosen[at].pop()
    return _written(kept, chosen)


def _written(readings: Sequence[Reading], chosen: Sequence[Sequence[Chunk]]) -> tuple[Passage, ...]:
    return tuple(
        Passage(reading.source.number, reading.source.title, reading.url, _text(reading, chunks))
        for reading, chunks in zip(readings, chosen, strict=False)
    )


def _text(reading: Reading, chunks: Sequence[Chunk]) -> str:
    in_page_order = sorted(chunks, key=lambda chunk: chunk.place)
    return "\n\n".join(chunk.text for chunk in in_page_order) or reading.source.text


def _size(readings: Sequence[Reading], chosen: Sequence[Sequence[Chunk]]) -> int:
    written = [asdict(passage) for passage in _written(readings, chosen)]
    return len(json.dumps(written, ensure_ascii=False).encode("utf-8", "replace"))
