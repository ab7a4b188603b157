"""Markdown and documents say the same, both ways, for any document and any text."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.document import from_markdown, to_markdown
from core.document.model import (
    MAX_DEPTH,
    Block,
    Bookmark,
    Callout,
    Code,
    Column,
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
    Link,
    List,
    Media,
    Paragraph,
    Quote,
    Run,
    Table,
    walk,
)
from core.document.naming import new_document
from core.errors import DocumentError

# --- generated documents -----------------------------------------------------------------------------------------

NASTY = "中文，。「」“”a1 -+*_~`#>|:[](){}<>&;!$\\=.\t\n\u3000\u00a0é🙂한\u2028"
texts = st.one_of(st.text(NASTY, max_size=12), st.text(st.characters(exclude_characters="\r\0", codec="utf-8"), max_size=8))
lines = texts.map(lambda text: " ".join(text.split()))
words = st.text("abcz0-9+/.#中", max_size=6)
links = st.builds(Link, href=lines, title=lines)
flags = st.booleans()
marks = {"bold": flags, "italic": flags, "strike": flags, "link": st.none() | links}
runs = st.one_of(
    st.builds(Run, text=texts, **marks),
    st.builds(Run, text=texts),
    st.builds(Run, kind=st.just("code"), text=lines, **marks),
    st.builds(Run, kind=st.just("math"), text=lines),
    st.builds(Run, kind=st.just("note"), text=st.text("ab1中", min_size=1, max_size=4)),
    st.builds(Run, kind=st.just("image"), text=lines, image=links),
)
rich = st.lists(runs, max_size=4).map(tuple)
sizes = st.none() | st.tuples(st.integers(1, 20_000), st.integers(1, 20_000))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(1, 3))
    row = st.lists(rich, min_size=width, max_size=width).map(tuple)
    align = st.lists(st.sampled_from(["left", "center", "right", None]), min_size=width, max_size=width).map(tuple)
    return Table(align=draw(align), header=draw(row), rows=draw(st.lists(row, max_size=2).map(tuple)))


@st.composite
def media(draw: st.DrawFn) -> Media:
    width, height = draw(sizes) or (None, None)
    return Media(src=draw(lines), alt=draw(lines), title=draw(lines), width=width, height=height)


leaves: st.SearchStrategy[Block] = st.one_of(
    st.builds(Paragraph, text=rich),
    st.builds(Heading, level=st.integers(1, 4), text=rich),
    st.builds(Code, language=words.filter(bool), info=lines, text=texts),
    st.builds(Code, text=texts),
    st.builds(Equation, tex=texts),
    media(),
    tables(),
    st.just(Divider()),
    st.builds(Bookmark, url=lines, title=lines, description=texts),
    st.builds(File, src=lines, name=lines, size_bytes=st.none() | st.integers(0, 10**12)),
    st.builds(Embed, url=lines, title=lines),
)


def around(blocks: st.SearchStrategy[Block]) -> st.SearchStrategy[Block]:
    inner = st.lists(blocks, max_size=3).map(tuple)
    tasks = st.builds(lambda text, rest: (Paragraph(text=text), *rest), rich, inner)
    items = st.builds(Item, blocks=inner) | st.builds(Item, checked=flags, blocks=tasks)
    start = st.integers(0, 12) | st.just(999_999_999)
    return st.one_of(
        st.builds(Quote, blocks=inner),
        st.builds(List, items=st.lists(items, max_size=3).map(tuple)),
        st.builds(List, ordered=st.just(True), start=start, items=st.lists(items, max_size=3).map(tuple)),
        st.builds(Callout, kind=st.sampled_from(["note", "tip", "important", "warning", "caution"]), title=lines, blocks=inner),
        st.builds(Details, summary=lines, blocks=inner),
        st.builds(Footnote, label=st.text("ab1中*`", min_size=1, max_size=4), blocks=inner),
        st.builds(Columns, columns=st.lists(st.builds(Column, blocks=inner), max_size=2).map(tuple)),
    )


documents = st.lists(st.recursive(leaves, around, max_leaves=5), max_size=4).map(lambda blocks: new_document(tuple(blocks)))


@settings(max_examples=150, deadline=None)
@given(documents)
def test_a_document_written_as_markdown_reads_back_equal(document: FlowDocument) -> None:
    assert from_markdown(to_markdown(document)) == document


markdownish = st.lists(
    st.sampled_from(
        ["# ", "- ", "1. ", "> ", "```", "$$", "$", "**", "_", "~~", "`", "[", "](", ")", "![", "[^1]", "[^1]: ", "|", "\n| --- |\n",
         ":::note ", ":::", ":::details", "---", "===", "    ", "\t", "\n", "\n\n", "中文", "“", "”", "，", "a", " ", "\\", "&amp;",
         "&#32;", "&#13;", "<b>", "<http://a.b>", "[ ] ", "[x] ", "\u3000", "\0", "\r\n", "\r", "🙂", "{width=3 height=4}", "[a]: /b\n"]
    ),
    max_size=25,
).map("".join)


@settings(max_examples=300, deadline=None)
@given(markdownish | st.text(max_size=60))
@example("> :::note\n>")
@example("$a$ 5")
@example("a\r\nb\rc\0d")
@example("\u3000\u3000缩进")
def test_writing_what_was_read_is_a_fixed_point(text: str) -> None:
    try:
        document = from_markdown(text)
    except DocumentError as error:
        assert "unknown block" in str(error) or "no note label" in str(error) or "does not hold" in str(error)
        return

    written = to_markdown(document)

    assert from_markdown(written) == document
    assert to_markdown(from_markdown(written)) == written
