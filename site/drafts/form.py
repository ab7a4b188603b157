"""The fields of the editor. What is wrong is said field by field, so that it stands beside the field.

Reading Markdown takes milliseconds a kilobyte: `written` and `shown` belong on a thread.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from typing import cast

from core.document import FlowDocument, dump_document, from_markdown, load_document, to_html, to_markdown

from ..content.publish import with_first_level
from ..store.articles import Draft, Kind, Language, Writing

KINDS: tuple[Kind, ...] = ("post", "note", "project")
LANGUAGES: tuple[Language, ...] = ("zh", "en")
MAX_TITLE, MAX_SUMMARY, MAX_TAGS, MAX_TAG, MAX_SLUG = 200, 500, 20, 40, 80

_SLUG = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NOT_SLUG = re.compile(r"[^a-z0-9]+")
_COMMA = re.compile(r"[,，、\n]")


@dataclass(frozen=True)
class Form:
    """As typed. `version` is the one the text was begun on, 0 for a new article."""

    version: int
    title: str
    slug: str
    summary: str
    tags: str
    dated: str
    kind: str
    language: str
    body: str


@dataclass(frozen=True)
class Wanted:
    """A form without faults, in the shape the store keeps."""

    version: int
    slug: str
    kind: Kind
    language: Language
    writing: Writing


def read_form(fields: dict[str, str], version: int, today: str) -> Form:
    """Spaces are put in order; an empty date is today, an empty address is made from the title."""
    one_line = {name: " ".join(fields.get(name, "").split()) for name in ("title", "summary", "tags", "dated", "slug")}
    dated = one_line["dated"] or today
    kind, language = fields.get("kind", "post"), fields.get("language", "en")
    slug = one_line["slug"] or suggested_slug(one_line["title"], kind, dated)
    return Form(
        version,
        one_line["title"],
        slug,
        one_line["summary"],
        one_line["tags"],
        dated,
        kind,
        language,
        fields.get("body", ""),
    )


def form_of(draft: Draft) -> Form:
    article, writing = draft.article, draft.writing
    return Form(
        draft.version,
        writing.title,
        article.slug,
        writing.summary,
        ", ".join(writing.tags),
        writing.dated,
        article.kind,
        article.language,
        to_markdown(load_document(writing.document)),
    )


def suggested_slug(title: str, kind: str, dated: str) -> str:
    """
    >>> suggested_slug("On Boiling Water!", "post", "2026-03-14"), suggested_slug("茶", "note", "2026-03-14")
    ('on-boiling-water', 'note-2026-03-14')
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    slug = _NOT_SLUG.sub("-", plain).strip("-")[:MAX_SLUG].strip("-")
    return slug if len(slug) > 1 else _NOT_SLUG.sub("-", f"{kind}-{dated}".lower()).strip("-")[:MAX_SLUG]


def tags_of(text: str) -> tuple[str, ...]:
    """Each once, in the order they were typed; Chinese commas part them too.

    >>> tags_of("tea, 厨房，tea")
    ('tea', '厨房')
    """
    return tuple(dict.fromkeys(tag.strip() for tag in _COMMA.split(text) if tag.strip()))


def faults(form: Form) -> frozenset[str]:
    """The names of the fields that cannot be kept as they are; the body is judged by `written`."""
    tags = tags_of(form.tags)
    sound = {
        "title": 0 < len(form.title) <= MAX_TITLE and _is_text(form.title),
        "slug": len(form.slug) <= MAX_SLUG and _SLUG.fullmatch(form.slug) is not None,
        "summary": len(form.summary) <= MAX_SUMMARY and _is_text(form.summary),
        "tags": len(tags) <= MAX_TAGS and all(_is_tag(tag) for tag in tags),
        "dated": _is_day(form.dated),
        "kind": form.kind in KINDS,
        "language": form.language in LANGUAGES,
    }
    return frozenset(name for name, good in sound.items() if not good)


def written(form: Form, before: FlowDocument | None = None) -> Wanted:
    """Of a form without faults. Blocks that are also in `before` keep their ids. Errors: DocumentError."""
    document = from_markdown(form.body, before)
    writing = Writing(form.title, form.summary, tags_of(form.tags), form.dated, dump_document(document))
    return Wanted(form.version, form.slug, cast(Kind, form.kind), cast(Language, form.language), writing)


def shown(body: str) -> str:
    """The HTML a reader would get of this Markdown. Errors: DocumentError."""
    return to_html(with_first_level(from_markdown(body)))


def _is_text(text: str) -> bool:
    return all(unicodedata.category(letter) not in ("Cc", "Cs") for letter in text)


def _is_tag(tag: str) -> bool:
    """A tag is part of an address, so it holds no slash."""
    return len(tag) <= MAX_TAG and "/" not in tag and tag not in (".", "..") and _is_text(tag)


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
