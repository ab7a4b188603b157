"""A document to HTML, for a page that brings its own h1 and style sheet.

Every block element carries `id="<block id>"`. The words a reader can select are those `plain` gives; numbers of notes,
back links and check boxes are furniture. Every text is escaped and every address checked here; nh3 with a closed list
is the second line. Rendering takes milliseconds a kilobyte: call it off the event loop.
"""

import re
from dataclasses import dataclass
from html import escape

from core.ids import BlockId

from .html_text import Locate, TextWriter, as_written, use_id
from .model import (
    Block,
    Blocks,
    Bookmark,
    Callout,
    Code,
    Columns,
    Details,
    Divider,
    Embed,
    Equation,
    File,
    FlowDocument,
    Footnote,
    Heading,
    Item,
    List,
    Media,
    Paragraph,
    Quote,
    Row,
    Table,
    walk,
)
from .notes import Note, Notes, number_notes
from .plain import known_labels, rich_plain
from .sanitise import sanitised
from .typeset import code_html, formula_html


@dataclass(frozen=True, slots=True)
class Contents:
    """One line of a table of contents; `level` is the document's own, 1 to 4."""

    id: BlockId
    level: int
    text: str


def headings(document: FlowDocument) -> list[Contents]:
    """The table of contents, headings inside quotes and callouts included."""
    found = (block for block, _ in walk(document.blocks) if isinstance(block, Heading))
    notes = known_labels(document)
    return [Contents(block.id, block.level, rich_plain(block.text, notes)) for block in found]


def to_html(document: FlowDocument, *, heading_anchors: bool = True, locate: Locate = as_written) -> str:
    """The body of an article. A heading of level 1 becomes h2: the page's h1 is the title.

    `heading_anchors` makes each heading a link to itself; `locate` turns addresses as written (`media/tea.svg`) into
    those the site serves.
    """
    notes = number_notes(document)
    page = _Page(TextWriter(notes, locate), heading_anchors)
    return sanitised(page.blocks(document.blocks) + page.endnotes(notes))


class _Page:
    def __init__(self, text: TextWriter, heading_anchors: bool) -> None:
        self.text, self.heading_anchors = text, heading_anchors

    def blocks(self, blocks: Blocks) -> str:
        return "".join(self.block(block) for block in blocks)

    def block(self, block: Block) -> str:
        match block:
            case Paragraph():
                return f'<p id="{block.id}">{self.text.rich(block.text)}</p>\n'
            case Heading():
                return self.heading(block)
            case Quote():
                return f'<blockquote id="{block.id}">\n{self.blocks(block.blocks)}</blockquote>\n'
            case List():
                return self.list_of(block)
            case Code():
                return _code(block)
            case Equation():
                return _equation(block)
            case Table():
                return self.table(block)
            case Callout():
                return self.callout(block)
            case Details():
                inner = self.blocks(block.blocks)
                return f'<details id="{block.id}"><summary>{escape(block.summary)}</summary>\n{inner}</details>\n'
            case Divider():
                return f'<hr id="{block.id}">\n'
            case Columns():
                columns = "".join(f"<div>\n{self.blocks(column.blocks)}</div>\n" for column in block.columns)
                return f'<div id="{block.id}" class="columns">\n{columns}</div>\n'
            case Footnote():
                return ""
        return self.elsewhere(block)

    def elsewhere(self, block: Media | Bookmark | File | Embed) -> str:
        """Blocks that point at something: an image is shown, everything else is a link, so nothing foreign loads."""
        match block:
            case Media():
                return self.media(block)
            case Bookmark():
                more = f"<br>{escape(block.description)}" if block.description else ""
                content = self.text.anchor(block.url, block.title or block.url) + more
            case File():
                content = self.text.anchor(block.src, block.name)
            case Embed():
                content = self.text.anchor(block.url, block.title or block.url)
        return f'<p id="{block.id}" class="{block.type}">{content}</p>\n'

    def heading(self, block: Heading) -> str:
        tag = f"h{block.level + 1}"
        content = self.text.rich(block.text)
        if self.heading_anchors and "<a " not in content and content.strip():
            content = f'<a class="anchor" href="#{block.id}">{content}</a>'
        return f'<{tag} id="{block.id}">{content}</{tag}>\n'

    def list_of(self, block: List) -> str:
        tag = "ol" if block.ordered else "ul"
        start = f' start="{block.start}"' if block.ordered and block.start != 1 else ""
        tasks = ' class="tasks"' if any(item.checked is not None for item in block.items) else ""
        items = "".join(self.item(item) for item in block.items)
        return f'<{tag} id="{block.id}"{start}{tasks}>\n{items}</{tag}>\n'

    def item(self, item: Item) -> str:
        if item.checked is None:
            return f"<li>{self.blocks(item.blocks)}</li>\n"
        first, *rest = item.blocks
        assert isinstance(first, Paragraph)
        box = f'<input type="checkbox" disabled{" checked" if item.checked else ""}>'
        label = f'<p id="{first.id}"><label>{box} {self.text.rich(first.text)}</label></p>\n'
        return f'<li class="task">{label}{self.blocks(tuple(rest))}</li>\n'

    def media(self, block: Media) -> str:
        size = f' width="{block.width}" height="{block.height}"' if block.width else ""
        image = self.text.image(block.src, block.alt, "", size)
        caption = f"<figcaption>{escape(block.title)}</figcaption>" if block.title else ""
        return f'<figure id="{block.id}">{image}{caption}</figure>\n'

    def table(self, block: Table) -> str:
        classes = [f' class="align-{align}"' if align else "" for align in block.align]
        head = self.row(block.header, classes, "th", ' scope="col"')
        body = "".join(self.row(row, classes, "td", "") for row in block.rows)
        body = f"<tbody>\n{body}</tbody>" if body else ""
        return (
            f'<div class="table" tabindex="0"><table id="{block.id}">\n<thead>\n{head}</thead>\n{body}</table></div>\n'
        )

    def row(self, row: Row, classes: list[str], tag: str, scope: str) -> str:
        cells = (f"<{tag}{scope}{c}>{self.text.rich(cell)}</{tag}>" for cell, c in zip(row, classes, strict=True))
        return f"<tr>{chr(10).join(cells)}</tr>\n"

    def callout(self, block: Callout) -> str:
        title = f'<p class="callout-title">{escape(block.title)}</p>\n' if block.title else ""
        inner = title + self.blocks(block.blocks)
        return f'<div id="{block.id}" role="note" class="callout {block.kind}">\n{inner}</div>\n'

    def endnotes(self, notes: Notes) -> str:
        listed = notes.in_order()
        if not listed:
            return ""
        items = [(note, self.blocks(note.block.blocks)) for note in listed]
        written = "".join(self.endnote(note, content, notes) for note, content in items)
        return f'<section class="footnotes" role="doc-endnotes">\n<ol>\n{written}</ol>\n</section>\n'

    def endnote(self, note: Note, content: str, notes: Notes) -> str:
        known = notes.by_label.get(note.block.label)
        uses = notes.uses.get(note.block.label, 0) if known == note else 0
        links = (
            f'<a class="note-back" href="#{use_id(note, use)}" role="doc-backlink" aria-label="↩ {note.number}">↩</a>'
            for use in range(1, uses + 1)
        )
        return f'<li id="{note.block.id}">{content}{" ".join(links)}</li>\n'


def _equation(block: Equation) -> str:
    formula = formula_html(block.tex, block=True)
    return f'<div id="{block.id}" class="equation" tabindex="0">{formula}</div>\n'


def _code(block: Code) -> str:
    known = block.language if re.fullmatch(r"[A-Za-z0-9+#._-]{1,30}", block.language) else ""
    language = f' class="language-{known}"' if known else ""
    code = f"<code{language}>{code_html(block.text, known)}</code>"
    return f'<pre id="{block.id}" class="highlight" tabindex="0">{code}</pre>\n'
