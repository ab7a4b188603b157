"""An article cut into passages: blocks under one heading, together until a passage is long enough to be worth quoting."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.document import PlainBlock, load_document, plain_blocks
from core.ids import BlockId

from ..store.publications import Publication

ENOUGH = 480
"""Characters at which a passage is closed. Shorter ones rank better and quote better; one block is never cut."""


@dataclass(frozen=True)
class Piece:
    """One block of a passage; citations and highlights point at it."""

    block: BlockId
    text: str
    heading: bool = False


@dataclass(frozen=True)
class Chunk:
    """A passage. `headings` are those above it, outermost first; `place` counts the passages of an article from 0."""

    article: int
    place: int
    headings: tuple[str, ...]
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        return "\n".join(piece.text for piece in self.pieces)


def chunks_of(publication: Publication) -> list[Chunk]:
    """In page order. A heading stands in the passage below it; an article without words has none."""
    blocks = plain_blocks(load_document(publication.document))
    article = publication.teaser.id
    return [
        Chunk(
            article,
            place,
            group[-1].path,
            tuple(Piece(block.id, block.text, block.type == "heading") for block in group),
        )
        for place, group in enumerate(_groups(blocks))
    ]


def _groups(blocks: list[PlainBlock]) -> Iterator[list[PlainBlock]]:
    group: list[PlainBlock] = []
    length = 0
    for block in blocks:
        starts_anew = block.type == "heading" and any(one.type != "heading" for one in group)
        if group and (starts_anew or length >= ENOUGH):
            yield group
            group, length = [], 0
        group.append(block)
        length += len(block.text)
    if group:
        yield group
