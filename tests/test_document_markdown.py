"""Markdown and documents say the same, both ways, for any document and any text."""

import contextlib
import time
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.document import from_markdown, new_document, to_markdown
from core.document.model import (
    MAX_DEPTH,
    Align,
    Block,
    Bookmark,
    Callout,
    CalloutKind,
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
from core.document.syntax import MAX_CHARACTERS
from core.errors import DocumentError

# --- generated documents -----------------------------------------------------------------------------------------

NASTY = "中文，。「」“”a1 -+*_~`#>|:[](){}<>&;!$\\=.\t\n\u3000\u00a0é🙂한\u2028"
anything = st.characters(exclude_characters="\r\0", codec="utf-8")
texts = st.text(NASTY, max_size=12) | st.text(anything, max_size=8)
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
ALIGNMENTS: tuple[Align | None, ...] = ("left", "center", "right", None)
sizes = st.none() | st.tuples(st.integers(1, 20_000), st.integers(1, 20_000))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(1, 3))
    row = st.lists(rich, min_size=width, max_size=width).map(tuple)
    align: st.SearchStrategy[tuple[Align | None, ...]] = st.lists(
        st.sampled_from(ALIGNMENTS), min_size=width, max_size=width
    ).map(tuple)
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
        st.builds(Callout, kind=st.sampled_from(get_args(CalloutKind)), title=lines, blocks=inner),
        st.builds(Details, summary=lines, blocks=inner),
        st.builds(Footnote, label=st.text("ab1中*`", min_size=1, max_size=4), blocks=inner),
        st.builds(Columns, columns=st.lists(st.builds(Column, blocks=inner), max_size=2).map(tuple)),
    )


blocks = st.recursive(leaves, around, max_leaves=5)
documents = st.lists(blocks, max_size=4).map(lambda found: new_document(tuple(found)))


@settings(max_examples=150, deadline=None)
@given(documents)
def test_a_document_written_as_markdown_reads_back_equal(document: FlowDocument) -> None:
    assert from_markdown(to_markdown(document)) == document


SNIPPETS = (
    *("# ", "- ", "1. ", "> ", "```", "$$", "$", "**", "_", "~~", "`", "[", "](", ")", "![", "[^1]", "[^1]: ", "|"),
    *(
        "\n| --- |\n",
        ":::note ",
        ":::",
        ":::details",
        ":::block",
        "---",
        "===",
        "    ",
        "\t",
        "\n",
        "\n\n",
        "中文",
        "“",
    ),
    *("”", "，", "a", " ", "\\", "&amp;", "&#32;", "&#13;", "<b>", "<http://a.b>", "[ ] ", "[x] ", "\u3000", "\0"),
    *("\r\n", "\r", "🙂", "{width=3 height=4}", "[a]: /b\n"),
)
markdownish = st.lists(st.sampled_from(SNIPPETS), max_size=25).map("".join)
REFUSALS = ("unknown block", "is no note label", "does not hold a block")


@settings(max_examples=300, deadline=None)
@given(markdownish | st.text(max_size=60))
@example("> :::note\n>")
@example("$a$ 5")
@example("a\r\nb\rc\0d")
@example("\u3000\u3000缩进")
@example("[^1]\\: no note")
@example("- a\n\n  2. b")
def test_writing_what_was_read_is_a_fixed_point(text: str) -> None:
    document = read_or_none(text)
    if document is None:
        return

    written = to_markdown(document)

    assert from_markdown(written) == document
    assert to_markdown(from_markdown(written)) == written


def read_or_none(text: str) -> FlowDocument | None:
    """None where the text is refused for a reason that a text of that shape may be refused for."""
    try:
        return from_markdown(text)
    except DocumentError as error:
        refused = str(error)
    assert any(reason in refused for reason in REFUSALS), refused
    return None


# --- what an author sees ------------------------------------------------------------------------------------------

NATURAL = """# 标题 *斜体*

这**“你好”**世界，snake_case stays, 2 < 3 & 4: a [link](/posts/tea "t"), <https://a.example>, `a|b`, $x^2$, ~~no~~.

- one
  - nested
- [ ] to do
- [x] done

3. three
4. four

> quoted
>
> - list

| a | b\\|c |
| :--- | ---: |
| 1 | `x` |

```python title="x.py"
print(1)
```

$$
a = b
$$

![alt](media/tea.svg "Title"){width=800 height=600}

::::warning 标题
note[^1]

:::details More
inner
:::
::::

***

[^1]: the *note*

    and more
"""


def test_ordinary_markdown_is_written_as_it_was_typed() -> None:
    assert to_markdown(from_markdown(NATURAL)) == NATURAL


def test_what_markdown_cannot_say_is_kept_whole() -> None:
    overlap = Paragraph(
        text=(Run(text="a", bold=True), Run(text=" b", bold=True, italic=True), Run(text="c ", italic=True))
    )
    document = new_document((Bookmark(url="https://a.example", title="书签"), overlap, Paragraph(text=())))

    written = to_markdown(document)

    assert written.startswith(":::block\n{") and "书签" in written
    assert from_markdown(written) == document


def test_emphasis_works_beside_chinese_letters_and_punctuation() -> None:
    document = from_markdown("他说**“好。”**然后走了，**注意：**别忘。*「引」*字~~（删）~~了")

    marked = [run.text for run in runs_of(document) if run.bold or run.italic or run.strike]

    assert marked == ["“好。”", "注意：", "「引」", "（删）"]


def test_a_wrapped_line_is_a_space_in_english_and_nothing_in_chinese() -> None:
    document = from_markdown("one\ntwo\n\n第一行\n第二行\n\n한국\n어\n\nhard\\\nbreak")

    assert [block.text[0].text for block in document.blocks if isinstance(block, Paragraph)] == [
        "one two",
        "第一行第二行",
        "한국 어",
        "hard\nbreak",
    ]


def test_raw_html_is_text() -> None:
    document = from_markdown("<script>alert(1)</script>\n\na <b>c</b>")

    assert [run.text for run in runs_of(document)] == ["<script>alert(1)</script>", "a <b>c</b>"]


def test_an_image_alone_is_media_with_its_size() -> None:
    (block,) = from_markdown('![茶](../media/茶 壶.svg "T")'.replace("茶 壶", "茶壶") + "{width=12 height=34}").blocks

    assert block == Media(id=block.id, src="../media/茶壶.svg", alt="茶", title="T", width=12, height=34)


# --- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\n\n:::gallery\nx\n:::", r"line 3: unknown block «:::gallery»; known are note, .*block"),
        (":::note\n\n::::gallery\n::::", r"line 3: unknown block «:::gallery»"),
        (":::block\n{}\n:::", r"line 1: «:::block» does not hold a block"),
        (':::block\n{"type": "poll"}\n:::', r"poll"),
        (':::block\n{"type": "paragraph", "text": [], "colour": 1}\n:::', r"colour: Extra inputs"),
        ("[^" + "x" * 65 + "]: a", r"is no note label: use up to 64 letters"),
        ("> " * 20 + "deep", f"nested more than {MAX_DEPTH} deep"),
        ("- " * 30 + "deep", f"nested more than {MAX_DEPTH} deep"),
        ("> " * 5000 + "deep", f"nested more than {MAX_DEPTH} deep"),
        ("\n".join(":" * n + "note" for n in range(40, 2, -1)), f"nested more than {MAX_DEPTH} deep"),
        ("half \ud83d of a pair", "character 5 is half a surrogate pair"),
        ("a" * (MAX_CHARACTERS + 1), f"text of {MAX_CHARACTERS + 1} characters: at most {MAX_CHARACTERS}"),
        ("[" * 50_000, "more than 2000 «\\[»"),
    ],
)
def test_a_text_that_makes_no_document_is_refused_with_the_reason(text: str, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        from_markdown(text)


HARD = (
    *("[^", "![", "[a](", "**a", "_a ", "`", "`a``b```", "$a", "<", "&", "\\", "> ", "- ", "|", "~~", "]("),
    *("***\n", "#\n", ":::a\n", "a\n", "- a\n"),
)


@pytest.mark.parametrize("piece", HARD)
def test_no_repeated_piece_makes_reading_hang(piece: str) -> None:
    text = (piece * 20_000)[:20_000]
    started = time.perf_counter()

    with contextlib.suppress(DocumentError):
        from_markdown(text)

    assert time.perf_counter() - started < 8


def runs_of(document: FlowDocument) -> list[Run]:
    return [run for block, _ in walk(document.blocks) if isinstance(block, Paragraph) for run in block.text]
