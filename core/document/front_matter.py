"""An article as a file: front matter between two lines of `---`, then Markdown.

    slug: boiling-water          letters a-z, digits, single hyphens
    title: On boiling water
    summary: Why it matters.     optional
    tags: [tea, kitchen]         optional
    date: 2026-03-14             the day it is dated, in the owner's zone
    kind: post                   post, note or project
    language: en                 zh or en
    draft: true                  optional, false if absent

Reading and writing files is the caller's. What is written here reads back equal, with its keys in this order.
"""

import datetime as dt
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Annotated, Literal

import yaml
from pydantic import Field, ValidationError

from core.errors import DocumentError
from core.ids import Slug

from .model import FlowDocument, Frozen, Line
from .reading import from_markdown
from .writing import to_markdown

MAX_FRONT_MATTER = 8_000
"""Characters between the two lines of `---`."""

Kind = Literal["post", "note", "project"]
Language = Literal["zh", "en"]
Tag = Annotated[Line, Field(min_length=1, max_length=40)]

_CURES = {
    "slug": "write a-z, 0-9 and single hyphens, at most 80 characters, in quotes if all digits: `slug: boiling-water`",
    "title": "write one line of 1 to 200 characters, in quotes if it looks like a number or a date",
    "summary": "write one line of at most 500 characters, in quotes if it looks like a number or holds a colon",
    "tags": "write a list of up to 20 different short texts, such as `tags: [tea, 茶]`; quote what looks like a number",
    "date": "write a day without quotes, such as `date: 2026-03-14`",
    "kind": "write `kind: post`, `kind: note` or `kind: project`",
    "language": "write `language: zh` or `language: en`",
    "draft": "write `draft: true` or `draft: false`",
}


class ArticleMeta(Frozen):
    slug: Annotated[Slug, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=80)]
    title: Annotated[Line, Field(min_length=1, max_length=200)]
    summary: Annotated[Line, Field(max_length=500)] = ""
    tags: Annotated[tuple[Tag, ...], Field(max_length=20)] = ()
    date: dt.date
    kind: Kind
    language: Language
    draft: bool = False


@dataclass(frozen=True, slots=True)
class ArticleFile:
    meta: ArticleMeta
    document: FlowDocument


def parse_article(text: str, name: str, previous: FlowDocument | None = None) -> ArticleFile:
    """The article a file holds. `name` is used in messages only; ids of blocks also in `previous` are kept.

    Raises DocumentError that names the file, the key and the cure. Call it off the event loop, as `from_markdown`.
    """
    head, body = _split(text.removeprefix("\ufeff").replace("\r\n", "\n"), name)
    meta = _meta(_mapping(head, name), name)
    try:
        return ArticleFile(meta, from_markdown(body, previous))
    except DocumentError as error:
        raise DocumentError(f"{name}: below the front matter: {error}") from error


def write_article(article: ArticleFile) -> str:
    """The file of an article; `parse_article` gives back an equal one."""
    meta = article.meta.model_dump(mode="python") | {"tags": list(article.meta.tags)}
    head = yaml.safe_dump(meta, sort_keys=False, allow_unicode=True, default_flow_style=None, width=10_000)
    return f"---\n{head}---\n\n{to_markdown(article.document)}"


def _split(text: str, name: str) -> tuple[str, str]:
    first, _, rest = text.partition("\n")
    head, closing, body = f"\n{rest}".partition("\n---\n") if rest.rstrip(" ") else ("", "", "")
    if not closing and rest.endswith("\n---"):
        head, closing = f"\n{rest}".removesuffix("\n---"), "---"
    if first.rstrip() != "---" or not closing:
        raise DocumentError(f"{name}: no front matter: begin the file with a line of `---`, keys, and a line of `---`")
    if len(head) > MAX_FRONT_MATTER:
        raise DocumentError(f"{name}: front matter of {len(head)} characters: at most {MAX_FRONT_MATTER}; shorten it")
    return head, body


def _mapping(head: str, name: str) -> dict[str, object]:
    try:
        values: object = yaml.load(head, _Loader)  # noqa: S506  a SafeLoader that refuses more
    except yaml.YAMLError as error:
        raise DocumentError(
            f"{name}: front matter is no YAML: {_one_line(error)}; correct it, or put the text in quotes"
        ) from error
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{name}: front matter holds an impossible value: {_one_line(error)}") from error
    if not isinstance(values, dict):
        raise DocumentError(f"{name}: front matter is no list of `key: value` lines")
    unknown = [str(key) for key in values if key not in _CURES]
    if unknown:
        raise DocumentError(f"{name}: unknown key {unknown[0]!r}: use {', '.join(_CURES)}, or take it out")
    return values


def _meta(values: dict[str, object], name: str) -> ArticleMeta:
    tags = values.get("tags")
    ready = values | {"tags": tuple(tags)} if isinstance(tags, list) else values
    if isinstance(tags, list) and len({str(tag) for tag in tags}) != len(tags):
        raise DocumentError(f"{name}: tags: one is there twice; {_CURES['tags']}")
    try:
        return ArticleMeta.model_validate(ready)
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
        what = f"is {_shown(values[key])}" if key in values else "is missing"
        raise DocumentError(f"{name}: {key} {what}: {_CURES[key]}") from error


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


class _Loader(yaml.SafeLoader):
    """YAML without anchors, which can grow without end, and without repeated keys, of which one would be lost."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("`*name` refers to another value, which is not understood here")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"the key {key} is there twice")
        return super().construct_mapping(node, deep)
