"""A document as a page and as plain words."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.document import from_markdown, headings, new_document, plain_blocks, to_html, to_plain
from core.document.model import Bookmark, Column, Columns, Embed, File, Link, Media, Paragraph, Run, walk
from core.document.sanitise import sanitised
from core.document.typeset import MAX_FORMULA, MAX_HIGHLIGHTED, code_html, formula_html


def page(text: str) -> str:
    return to_html(from_markdown(text))


def visible(html: str) -> str:
    """What a browser's selection yields, white space apart: furniture (note numbers, back links) left out."""
    html = re.sub(r'<sup class="note-use">.*?</sup>|<a class="note-back".*?</a>', "", html, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", "", html)
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", "\u00a0"), ("&quot;", '"'), ("&amp;", "&")):
        text = text.replace(entity, character)
    return "".join(text.split())


def test_every_block_element_carries_its_id() -> None:
    document = from_markdown(
        "# a\n\nb\n\n> c\n\n- d\n\n```\ne\n```\n\n$$\nf\n$$\n\n![g](h.png)\n\n| i |\n| --- |\n\n:::note\nj\n:::\n\n"
        ":::details k\nl\n:::\n\n***\n\nx[^1]\n\n[^1]: m"
    )
    more = new_document(
        (
            *document.blocks,
            Columns(columns=(Column(blocks=(Paragraph(text=(Run(text="n"),)),)),)),
            Bookmark(url="https://a.example"),
            File(src="/a.pdf", name="a.pdf"),
            Embed(url="https://b.example"),
        )
    )

    html = to_html(more)

    assert len({block.type for block, _ in walk(more.blocks)}) == 16
    assert [block.id for block, _ in walk(more.blocks) if f' id="{block.id}"' not in html] == []


def test_headings_start_at_h2_and_are_listed() -> None:
    document = from_markdown("# 一\n\n#### 四 `x`\n\n###### six\n\n## [linked](/a)")

    html = to_html(document)

    assert [entry.level for entry in headings(document)] == [1, 4, 4, 2]
    assert [entry.text for entry in headings(document)] == ["一", "四 x", "six", "linked"]
    first, *_, last = headings(document)
    assert f'<h2 id="{first.id}"><a class="anchor" href="#{first.id}">一</a></h2>' in html
    assert f'<h3 id="{last.id}"><a href="/a">linked</a></h3>' in html
    assert "<h1" not in html and "<h5" in html
    assert "anchor" not in to_html(document, heading_anchors=False)


def test_code_has_pygments_classes_and_an_unknown_language_is_plain() -> None:
    assert '<code class="language-python"><span class="nb">print</span>' in page("```python\nprint(1)\n```")
    assert '<code class="language-nolang">a &lt; b</code>' in page("```nolang\na < b\n```")
    assert "<code>a</code>" in page('```"onload=x\na\n```')
    assert code_html("x" * (MAX_HIGHLIGHTED + 1), "python") == "x" * (MAX_HIGHLIGHTED + 1)


def test_a_formula_is_mathml_and_what_is_none_shows_its_source() -> None:
    assert "<msup><mi>x</mi><mn>2</mn></msup>" in page("$x^2$")
    assert '<math display="block">' in page("$$\n\\sum_i x_i\n$$")
    for wrong in (r"\frac{a", r"\foo", r"\left(", r"\newcommand{\a}{\a\a}\a", "x" * (MAX_FORMULA + 1), "{" * 1500):
        assert formula_html(wrong, block=True).startswith('<code class="formula">'), wrong


def test_an_image_has_its_size_and_loads_late() -> None:
    html = to_html(from_markdown('![a "b"](media/a.svg "cap"){width=3 height=4}'), locate=lambda src: f"/files/{src}")

    assert '<img src="/files/media/a.svg" alt="a &quot;b&quot;" width="3" height="4" loading="lazy"' in html
    assert "<figcaption>cap</figcaption>" in html


def test_a_table_has_scoped_headers_and_alignment_by_class() -> None:
    html = page("| a | b |\n| --- | ---: |\n| 1 | 2 |")

    assert '<th scope="col">a</th>' in html
    assert '<td class="align-right">2</td>' in html
    assert "style" not in html


def test_a_task_is_a_disabled_box_with_a_label() -> None:
    html = page("- [x] 买茶\n- plain")

    assert '<label><input type="checkbox" disabled="" checked=""> 买茶</label>' in html
    assert html.count("<input") == 1


def test_notes_are_numbered_by_first_use_and_lead_back_to_every_use() -> None:
    document = from_markdown("a[^z] b[^y] c[^z] d[^none]\n\n[^y]: why\n\n[^z]: zed\n\n[^u]: unused\n\n[^z]: twin")

    html = to_html(document)

    assert re.findall(r'doc-noteref">(\d)</a>', html) == ["1", "2", "1"]
    assert re.findall(r"<li[^>]*><p[^>]*>(\w+)</p>", html) == ["zed", "why", "unused", "twin"]
    for target in re.findall(r'href="#([^"]+)"', html):
        assert html.count(f'id="{target}"') == 1
    assert "d[^none]" in html and "d[^none]" in to_plain(document)


UNSAFE = (
    *("javascript:alert(1)", "JaVaScRiPt:x", "java\tscript:x", "data:text/html,x", "vbscript:x", "file:///etc/passwd"),
    *("//evil.example", "/\\evil.example", "\x01javascript:x"),
)


@pytest.mark.parametrize("address", UNSAFE)
def test_an_address_that_is_not_http_mailto_or_relative_is_no_link(address: str) -> None:
    link = Link(href=address)
    text = Paragraph(text=(Run(text="w", link=link), Run(kind="image", text="alt", image=link)))
    document = new_document((text, Media(src=address, alt="alt"), Bookmark(url=address, title="t"), Embed(url=address)))

    html = to_html(document)

    assert "<a " not in html and "<img" not in html and "alt" in html


def test_external_links_carry_rel_and_own_links_do_not() -> None:
    html = page("[a](https://a.example/?x=1&y=2) [b](/posts/b) [c](mailto:c@a.example)")

    assert '<a href="https://a.example/?x=1&amp;y=2" rel="noopener noreferrer">a</a>' in html
    assert '<a href="/posts/b">b</a>' in html and '<a href="mailto:c@a.example">c</a>' in html


HOSTILE = (
    *("<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "$\\text{<script>alert(1)</script>}$", "`<b>`"),
    *('[a](/x "\\" onclick=x")', '![" onerror="x](a.png)', "```<script>\n<script>\n```", ":::note <script>\nx\n:::"),
    *(":::details <img onerror=x>\n:::", "$\\href{javascript:x}{y}$", "$\\style{color:red}{y}$", "[^<b>]\n\n[^<b>]: x"),
    *("| <b> |\n| --- |\n| <i> |", "<https://a.example/'\"><script>>", "&lt;script&gt;"),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(HOSTILE) | st.text("<>&\"'`[]()!:=\n a", max_size=20), max_size=6).map("\n\n".join))
def test_no_text_becomes_markup(text: str) -> None:
    seen = Markup(page(text))

    assert not {"script", "style", "iframe", "b", "i"} & seen.tags
    assert not [name for name in seen.attributes if name.startswith("on") or name == "style"]


class Markup(HTMLParser):
    """The elements and attribute names of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def test_the_second_line_takes_out_what_the_first_should_have_stopped() -> None:
    html = sanitised('<p id="b1" onclick="x">a<script>x</script><a href="javascript:x">b</a><svg><g>c</g></svg></p>')

    assert html == '<p id="b1">a<a>b</a></p>'


def test_what_a_reader_can_select_is_what_plain_gives() -> None:
    document = from_markdown(
        "# 一\n\n甲 **乙** `丙`[^1]\n\n- 丁\n  - 戊\n- [x] 己\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"
        '```python\nif a < b:\n    pass\n```\n\n![alt](a.png "图")\n\n:::tip 题\n内\n:::\n\n:::details 摘\n里\n:::\n\n'
        "[^1]: 注\n\n末"
    )

    assert visible(to_html(document)) == "".join(to_plain(document).split())


def test_plain_blocks_know_the_headings_above_them() -> None:
    document = from_markdown("top\n\n# A\n\na\n\n### B\n\nb\n\n## C\n\n> c\n\n# D[^1]\n\n***\n\n[^1]: n")

    found = [(block.type, block.path, block.text) for block in plain_blocks(document)]

    assert found == [
        ("paragraph", (), "top"),
        ("heading", (), "A"),
        ("paragraph", ("A",), "a"),
        ("heading", ("A",), "B"),
        ("paragraph", ("A", "B"), "b"),
        ("heading", ("A",), "C"),
        ("paragraph", ("A", "C"), "c"),
        ("heading", (), "D"),
        ("paragraph", ("D",), "n"),
    ]
