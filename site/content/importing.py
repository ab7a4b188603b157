"""A folder of Markdown files becomes articles. Once or many times: a file that did not change changes nothing.

Each file is one transaction of its own. What cannot be read is named and the others go on. An article that the owner
took back (unpublished, private) gets the new text but stays back; a text that the site has had before and has moved on
from is left alone, so that importing an old folder again never undoes the owner's edits.
"""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection

from core.clock import Clock, Instant
from core.document import ArticleFile, FlowDocument, dump_document, load_document, new_document, parse_article
from core.document.naming import without_ids
from core.errors import BadInput, DocumentError
from core.store import Store

from ..store.articles import (
    Draft,
    DraftConflict,
    Writing,
    add_article,
    earlier_writings,
    find_draft,
    save_draft,
    set_kind_and_language,
)
from ..store.publications import published_version
from .pictures import Picture, add_media, keep_picture, with_pictures
from .publish import Rendered, publish_article, rendered, withdraw_article

MAX_FILE_BYTES = 2_000_000


@dataclass
class Imported:
    """What an import did: names of files, and for those that failed the sentence that says why."""

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    """Texts the site has moved on from since."""
    failed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """A file, read: its article with addresses the site serves, in both forms, and its pictures."""

    file: ArticleFile
    writing: Writing
    text: Rendered
    pictures: tuple[Picture, ...]


async def import_folder(store: Store, data_dir: Path, folder: Path, clock: Clock) -> Imported:
    """Every `*.md` below `folder`, README files and hidden ones apart. Errors: BadInput when there is no such folder."""
    report = Imported()
    slugs: dict[str, str] = {}
    for path in await asyncio.to_thread(markdown_files, folder):
        name = path.relative_to(folder).as_posix()
        try:
            await _import_file(store, data_dir, path, folder, name, slugs, report, clock)
        except (DocumentError, DraftConflict, OSError) as problem:
            report.failed[name] = str(problem) if str(problem).startswith(name) else f"{name}: {problem}"
    return report


def markdown_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise BadInput(f"there is no folder {folder}: name the one that holds your Markdown files")
    return [
        path
        for path in sorted(folder.rglob("*.md"))
        if path.name.lower() != "readme.md" and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]


async def _import_file(
    store: Store,
    data_dir: Path,
    path: Path,
    root: Path,
    name: str,
    slugs: dict[str, str],
    report: Imported,
    clock: Clock,
) -> None:
    file = await asyncio.to_thread(_read, path, name)
    other = slugs.setdefault(file.meta.slug, name)
    if other != name:
        raise DocumentError(f"{name}: the slug {file.meta.slug!r} is that of {other} too: choose a different one")
    existing = await store.read(find_draft, file.meta.slug)
    if existing is not None and await store.read(_moved_on_from, existing, file):
        report.left.append(name)
        return
    wanted = await asyncio.to_thread(_prepare, file, path, root, existing)
    for picture in wanted.pictures:
        await asyncio.to_thread(keep_picture, data_dir / "media", picture)
    if existing is not None and await store.read(_stands, existing, wanted):
        report.unchanged.append(name)
        return
    await store.write(_take, wanted, existing, clock())
    (report.added if existing is None else report.changed).append(name)


def _read(path: Path, name: str) -> ArticleFile:
    if path.stat().st_size > MAX_FILE_BYTES:
        raise DocumentError(f"{name}: more than {MAX_FILE_BYTES} bytes: split it into several articles")
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError as problem:
        raise DocumentError(f"{name}: not UTF-8 at byte {problem.start}: save it as UTF-8") from problem
    file = parse_article(text, name)
    if unusable := [tag for tag in file.meta.tags if "/" in tag or tag in (".", "..")]:
        raise DocumentError(f"{name}: tags: {unusable[0]!r} cannot be part of an address: write it without a slash")
    return file


def _prepare(file: ArticleFile, path: Path, root: Path, existing: Draft | None) -> Wanted:
    document, pictures = with_pictures(file.document, path, root)
    # Named after the pictures have their addresses, so that an exported folder names its blocks alike.
    previous = load_document(existing.writing.document) if existing else None
    document = new_document(document.blocks, previous)
    writing = _writing(file, document)
    return Wanted(file, writing, rendered(writing.document), tuple(pictures))


def _writing(file: ArticleFile, document: FlowDocument) -> Writing:
    meta = file.meta
    return Writing(meta.title, meta.summary, meta.tags, meta.date.isoformat(), dump_document(document))


def _stands(conn: Connection, existing: Draft, wanted: Wanted) -> bool:
    """Whether the store already is as the file wants it."""
    article, meta = existing.article, wanted.file.meta
    if (article.kind, article.language, existing.writing) != (meta.kind, meta.language, wanted.writing):
        return False
    if article.visibility in ("unpublished", "private"):
        return True
    public = published_version(conn, article.id)
    return public is None if meta.draft else public == existing.version


def _moved_on_from(conn: Connection, existing: Draft, file: ArticleFile) -> bool:
    """Whether the file holds what an earlier version held, and the present one does not."""
    written = _said(_writing(file, file.document))
    if written == _said(existing.writing):
        return False
    return any(_said(earlier) == written for earlier in earlier_writings(conn, existing.article.id))


def _said(writing: Writing) -> tuple[object, ...]:
    """What a writing says, ids and addresses of pictures apart: these are ours and not the author's."""
    blocks = without_ids(load_document(writing.document).blocks)
    plain = tuple(
        block.model_copy(update={"src": "", "width": None, "height": None}) if block.type == "media" else block
        for block in blocks
    )
    return writing.title, writing.summary, writing.tags, writing.dated, plain


def _take(conn: Connection, wanted: Wanted, existing: Draft | None, now: Instant) -> None:
    meta = wanted.file.meta
    for picture in wanted.pictures:
        add_media(conn, picture, now)
    if existing is None:
        draft = add_article(conn, meta.slug, meta.kind, meta.language, wanted.writing, now)
    else:
        set_kind_and_language(conn, existing.article.id, meta.kind, meta.language)
        draft = existing
        if existing.writing != wanted.writing:
            draft = save_draft(conn, existing.article.id, existing.version, wanted.writing, now)
    _show(conn, draft, wanted, now)


def _show(conn: Connection, draft: Draft, wanted: Wanted, now: Instant) -> None:
    visibility = draft.article.visibility
    if visibility in ("unpublished", "private"):
        return
    if not wanted.file.meta.draft:
        publish_article(conn, draft.article.id, draft.version, wanted.text, now)
    elif visibility == "published":
        withdraw_article(conn, draft.article.id, "draft", now)
