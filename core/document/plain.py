"""The words of a document without marks: for search, for feeds, and to check a selected text against.

The order is that of the page: footnotes at the end. Numbers of notes, list markers and check boxes are no words.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from core.ids import BlockId

from .model import (
    Block,
    Blocks,
    Bookmark,
    Callout,
    Code,
    Details,
    Embed,
    Equation,
    File,
    FlowDocument,
    Footnote,
    Heading,
    Media,
    Paragraph,
    RichText,
    Run,
    Table,
    groups,
    walk,
)
from .notes import number_notes


@dataclass(frozen=True, slots=True)
class PlainBlock:
    """`path` holds the headings above the block, outermost first; a heading's own text is not in its path."""

    id: BlockId
    type: str
    path: tuple[str, ...]
    text: str


def to_plain(document: FlowDocument) -> str:
    """All words, a blank line between blocks."""
    return "\n\n".join(block.text for block in plain_blocks(document))


def plain_blocks(document: FlowDocument) -> list[PlainBlock]:
    """Blocks that have words of their own, in page order; a callout gives its title, its blocks follow."""
    plain: list[PlainBlock] = []
    open_headings: list[tuple[int, str]] = []
    notes = known_labels(document)
    for block in _page_order(document):
        text = block_text(block, notes)
        if isinstance(block, Heading):
            open_headings = [h for h in open_headings if h[0] < block.level]
        if text.strip():
            plain.append(PlainBlock(block.id, block.type, tuple(h[1] for h in open_headings), text))
        if isinstance(block, Heading):
            open_headings.append((block.level, text))
    return plain


def known_labels(document: FlowDocument) -> frozenset[str]:
    """The labels that lead to a note; any other reference is words as it was written."""
    return frozenset(block.label for block, _ in walk(document.blocks) if isinstance(block, Footnote))


def block_text(block: Block, notes: frozenset[str] = frozenset()) -> str:
    """The words a block itself shows, without those of the blocks in it."""
    match block:
        case Paragraph() | Heading():
            return rich_plain(block.text, notes)
        case Table():
            rows = (block.header, *block.rows)
            return "\n".join("\t".join(rich_plain(cell, notes) for cell in row) for row in rows)
        case Code():
            return block.text
        case Equation():
            return block.tex
        case Media() | Callout():
            return block.title
        case Details():
            return block.summary
        case Bookmark():
            return f"{block.title or block.url}\n{block.description}".strip()
        case File():
            return block.name
        case Embed():
            return block.title or block.url
    return ""


def rich_plain(text: RichText, notes: frozenset[str]) -> str:
    """The words of rich text; a formula is its source, an image and the number of a known note are nothing."""
    return "".join(_run_words(run, notes) for run in text)


def _run_words(run: Run, notes: frozenset[str]) -> str:
    match run.kind:
        case "image":
            return ""
        case "note":
            return "" if run.text in notes else f"[^{run.text}]"
    return run.text


def _page_order(document: FlowDocument) -> Iterator[Block]:
    yield from _without_notes(document.blocks)
    for note in number_notes(document).in_order():
        yield from _without_notes(note.block.blocks)


def _without_notes(blocks: Blocks) -> Iterator[Block]:
    for block in blocks:
        if not isinstance(block, Footnote):
            yield block
            for group in groups(block):
                yield from _without_notes(group)
