"""Which number each footnote has, and where it is referred to.

Numbers follow the first reference in reading order, the notes' own texts last; notes nobody refers to come after those.
A reference without a note has no number and is shown as it was written.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from .model import Block, Blocks, FlowDocument, Footnote, Heading, Paragraph, RichText, Table, groups, walk


@dataclass(frozen=True, slots=True)
class Note:
    number: int
    block: Footnote


@dataclass(slots=True)
class Notes:
    by_label: dict[str, Note] = field(default_factory=dict)
    uses: dict[str, int] = field(default_factory=dict)
    """How often each note has been referred to so far; the page counts while it is written."""
    extra: list[Footnote] = field(default_factory=list)
    """Notes whose label was taken before; shown, but no reference leads to them."""

    def in_order(self) -> list[Note]:
        known = sorted(self.by_label.values(), key=lambda note: note.number)
        return known + [Note(len(known) + i, block) for i, block in enumerate(self.extra, start=1)]

    def next_use(self, label: str) -> int:
        self.uses[label] = self.uses.get(label, 0) + 1
        return self.uses[label]


def number_notes(document: FlowDocument) -> Notes:
    notes = Notes()
    found: dict[str, Footnote] = {}
    for block, _ in walk(document.blocks):
        if isinstance(block, Footnote):
            if block.label in found:
                notes.extra.append(block)
            else:
                found[block.label] = block
    order = [*_references(document.blocks), *(label for note in found.values() for label in _references(note.blocks))]
    for label in dict.fromkeys([*(label for label in order if label in found), *found]):
        notes.by_label[label] = Note(len(notes.by_label) + 1, found[label])
    return notes


def rich_texts(block: Block) -> tuple[RichText, ...]:
    """The rich text a block itself holds, in reading order."""
    match block:
        case Paragraph() | Heading():
            return (block.text,)
        case Table():
            return tuple(cell for row in (block.header, *block.rows) for cell in row)
    return ()


def _references(blocks: Blocks) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Footnote):
            continue
        for text in rich_texts(block):
            yield from (run.text for run in text if run.kind == "note")
        for group in groups(block):
            yield from _references(group)
