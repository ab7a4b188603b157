"""Rich text to HTML: runs with marks, links, images, references to notes."""

from collections.abc import Callable
from html import escape
from itertools import groupby

from .addresses import is_external, is_safe
from .model import Link, RichText, Run
from .notes import Note, Notes
from .typeset import formula_html

Locate = Callable[[str], str]
"""Turns an address as written (`media/tea.svg`) into the one the page serves."""


def as_written(address: str) -> str:
    return address


def use_id(note: Note, use: int) -> str:
    """The id of the n-th reference to a note: where its back link leads."""
    return f"{note.block.id}-use{use}"


class TextWriter:
    """Writes runs, counting references while it goes, so a document is written in order and once."""

    def __init__(self, notes: Notes, locate: Locate) -> None:
        self.notes, self.locate = notes, locate

    def rich(self, text: RichText) -> str:
        parts = []
        for link, runs in groupby(text, key=lambda run: run.link if run.kind != "note" else None):
            inner = "".join(self.run(run) for run in runs)
            parts.append(self.link(link, inner) if link else inner)
        return "".join(parts)

    def run(self, run: Run) -> str:
        content = self.content(run)
        for tag, wanted in (("del", run.strike), ("em", run.italic), ("strong", run.bold)):
            if wanted:
                content = f"<{tag}>{content}</{tag}>"
        return content

    def content(self, run: Run) -> str:
        match run.kind:
            case "code":
                return f"<code>{escape(run.text)}</code>"
            case "math":
                return formula_html(run.text, block=False)
            case "note":
                return self.reference(run.text)
            case "image":
                assert run.image is not None
                return self.image(run.image.href, run.text, run.image.title, "")
        return escape(run.text).replace("\n", "<br>\n")

    def reference(self, label: str) -> str:
        note = self.notes.by_label.get(label)
        if note is None:
            return escape(f"[^{label}]")
        here = use_id(note, self.notes.next_use(label))
        return (
            f'<sup class="note-use"><a id="{here}" href="#{note.block.id}" role="doc-noteref">{note.number}</a></sup>'
        )

    def link(self, link: Link, inner: str) -> str:
        address = self.locate(link.href)
        if not is_safe(address, "link"):
            return inner
        title = f' title="{escape(link.title)}"' if link.title else ""
        rel = ' rel="noopener noreferrer"' if is_external(address) else ""
        return f'<a href="{escape(address)}"{title}{rel}>{inner}</a>'

    def anchor(self, address: str, name: str) -> str:
        return self.link(Link(href=address), escape(name))

    def image(self, src: str, alt: str, title: str, size: str) -> str:
        """An image, or its description where the address is not one a page may load."""
        address = self.locate(src)
        if not is_safe(address, "media"):
            return escape(alt)
        shown_title = f' title="{escape(title)}"' if title else ""
        return f'<img src="{escape(address)}" alt="{escape(alt)}"{shown_title}{size} loading="lazy" decoding="async">'
