"""Articles as files, and the sample articles and the sample chat that ship with the program."""

import datetime as dt
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.document import ArticleFile, ArticleMeta, from_markdown, parse_article, to_html, write_article
from core.document.front_matter import MAX_FRONT_MATTER
from core.document.model import Media, walk
from core.errors import DocumentError
from core.ids import Slug

SAMPLE = Path(__file__).parent.parent / "data" / "sample"
ARTICLES = sorted((SAMPLE / "articles").glob("*.md"))
GOOD = """---
slug: a-b
title: T
summary: s
tags: [a, 茶]
date: 2026-03-14
kind: post
language: zh
draft: false
---

# 正文
"""

lines = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30).map(
    lambda text: " ".join(text.split())
)
metas = st.builds(
    ArticleMeta,
    slug=st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,3}", fullmatch=True).map(Slug),
    title=lines.filter(bool),
    summary=lines,
    tags=st.lists(lines.filter(bool), max_size=4, unique=True).map(tuple),
    date=st.dates(),
    kind=st.sampled_from(["post", "note", "project"]),
    language=st.sampled_from(["zh", "en"]),
    draft=st.booleans(),
)


def test_an_article_file_reads_and_writes_back_word_for_word() -> None:
    article = parse_article(GOOD, "a.md")

    assert article.meta.date == dt.date(2026, 3, 14)
    assert article.meta.tags == ("a", "茶")
    assert write_article(article) == GOOD


def test_optional_keys_may_be_absent() -> None:
    meta = parse_article("---\nslug: x\ntitle: T\ndate: 2026-03-14\nkind: note\nlanguage: en\n---\n", "a.md").meta

    assert (meta.summary, meta.tags, meta.draft) == ("", (), False)


def test_windows_line_ends_and_a_byte_order_mark_are_understood() -> None:
    assert parse_article("\ufeff" + GOOD.replace("\n", "\r\n"), "a.md") == parse_article(GOOD, "a.md")


def test_ids_of_unchanged_blocks_survive_a_new_import() -> None:
    first = parse_article(GOOD.replace("# 正文", "# 正文\n\n一\n\n二"), "a.md")

    second = parse_article(GOOD.replace("# 正文", "# 正文\n\n新\n\n一改\n\n二"), "a.md", first.document)

    assert second.document.blocks[0].id == first.document.blocks[0].id
    assert second.document.blocks[-1].id == first.document.blocks[-1].id


@settings(max_examples=150, deadline=None)
@given(metas)
def test_any_front_matter_that_is_written_reads_back_equal(meta: ArticleMeta) -> None:
    article = ArticleFile(meta, from_markdown("正文"))

    assert parse_article(write_article(article), "a.md") == article


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("slug: a-b\n", "", r"a\.md: slug is missing: write a-z, 0-9"),
        ("slug: a-b", "slug: A_b", "slug is 'A_b': write a-z"),
        ("slug: a-b", "slug: 2026", "slug is 2026: .*in quotes if all digits"),
        ("title: T", "title: 12:30", "title is 750: .*in quotes"),
        ("title: T", "title:", "title is None"),
        ("title: T", f"title: {'x' * 201}", "title is 'xxx.*1 to 200"),
        ("title: T", "title: a: b", "front matter is no YAML.*in quotes"),
        ("title: T", "title: \x01", "front matter is no YAML"),
        ("[a, 茶]", "a", "tags is 'a': write a list"),
        ("[a, 茶]", "[1]", r"tags is \[1\]: write a list"),
        ("[a, 茶]", "[a, a]", "tags: one is there twice"),
        ("[a, 茶]", "&x [a, *x]", "refers to another value"),
        ("2026-03-14", "2026-13-44", "impossible value: month must be in"),
        ("2026-03-14", "yesterday", "date is 'yesterday': write a day"),
        ("2026-03-14", "2026-03-14 10:00:00", "date is datetime"),
        ("kind: post", "kind: journal", "kind is 'journal': write `kind: post`"),
        ("language: zh", "language: fr", "language is 'fr': write `language: zh`"),
        ("draft: false", "draft: 3", "draft is 3: write `draft: true`"),
        ("draft: false", "draft: false\nautor: me", "unknown key 'autor': use slug, title"),
        ("draft: false", "draft: false\ndraft: true", "the key draft is there twice"),
        ("draft: false", f"# {'x' * MAX_FRONT_MATTER}", f"at most {MAX_FRONT_MATTER}"),
        ("slug: a-b", "? [a]\n: b", "front matter is no YAML"),
        ("---\n", "", "no front matter: begin the file"),
        ("\n---\n", "\n", "no front matter: begin the file"),
        ("# 正文", ":::poll\n:::", r"a\.md: below the front matter: line 2: unknown block «:::poll»"),
    ],
)
def test_bad_front_matter_is_refused_with_file_key_and_cure(old: str, new: str, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        parse_article(GOOD.replace(old, new, 1), "a.md")


@pytest.mark.parametrize("text", ["", "---", "---\n", "---\n---", "---\n---\n", "---\nslug\n---\n", "hello"])
def test_a_file_without_keys_is_refused(text: str) -> None:
    with pytest.raises(DocumentError, match=r"^a\.md: "):
        parse_article(text, "a.md")


@pytest.mark.parametrize("path", ARTICLES, ids=lambda path: path.stem)
def test_a_sample_article_is_in_its_written_form_and_names_itself(path: Path) -> None:
    text = path.read_text("utf-8")

    article = parse_article(text, path.name)

    assert article.meta.slug == path.stem
    assert write_article(article) == text
    assert (":::block" not in text and "<figure" in to_html(article.document)) or "![" not in text


def test_the_sample_articles_show_what_the_site_can_do() -> None:
    articles = [parse_article(path.read_text("utf-8"), path.name) for path in ARTICLES]

    types = {block.type for article in articles for block, _ in walk(article.document.blocks)}

    assert {article.meta.kind for article in articles} == {"post", "note", "project"}
    assert abs(sum(1 if article.meta.language == "zh" else -1 for article in articles)) <= 1
    assert types >= {"heading", "quote", "list", "code", "equation", "media", "table", "callout", "details", "footnote"}


def test_sample_pictures_exist_have_the_stated_size_and_no_script() -> None:
    documents = [parse_article(path.read_text("utf-8"), path.name).document for path in ARTICLES]
    pictures = [block for document in documents for block, _ in walk(document.blocks) if isinstance(block, Media)]

    assert pictures
    for picture in pictures:
        root = ElementTree.fromstring((SAMPLE / picture.src).read_text("utf-8"))
        assert (root.get("width"), root.get("height")) == (str(picture.width), str(picture.height))
        assert not re.search(r"script|href|\bon\w+=", ElementTree.tostring(root, "unicode"))
        assert picture.alt


def test_the_sample_chat_is_in_the_import_format() -> None:
    lines = [json.loads(line) for line in (SAMPLE / "chat.jsonl").read_text("utf-8").splitlines()]

    assert {tuple(line) for line in lines} == {("chat", "id", "who", "name", "at", "text")}
    assert len({line["id"] for line in lines}) == len(lines) >= 40
    assert {line["who"] for line in lines} == {"person", "persona"}
    times = [dt.datetime.fromisoformat(line["at"]) for line in lines]
    assert times == sorted(times) and all(time.tzinfo for time in times)
    assert len({time.date() for time in times}) >= 5
