"""The pictures an article file names: found inside the imported folder only, copied under the hash of what they hold."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert as postgres_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from core.clock import Instant
from core.document import FlowDocument
from core.document.model import Block, Heading, Media, Paragraph, RichText, Table, with_each_block
from core.errors import DocumentError

from ..store.content import media
from .sizes import picture_size

TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
}
MAX_BYTES = 10_000_000


@dataclass(frozen=True)
class Picture:
    """`name` is SHA-256 and ending: what the file is called in data_dir/media and in its address."""

    name: str
    original: str
    type: str
    content: bytes
    size: tuple[int, int] | None

    @property
    def address(self) -> str:
        return f"/media/{self.name}"


def with_pictures(document: FlowDocument, file: Path, root: Path) -> tuple[FlowDocument, list[Picture]]:
    """The document with addresses the site serves, and the pictures it needs.

    Addresses with a scheme, and those that begin with `/`, stay. Errors: DocumentError names the picture.
    """
    found: dict[str, Picture] = {}

    def located(src: str) -> Picture | None:
        if src.startswith("/") or ":" in src:
            return None
        if src not in found:
            found[src] = read_picture(src, file, root)
        return found[src]

    blocks = with_each_block(document.blocks, lambda block: _located(block, located))
    return document.model_copy(update={"blocks": blocks}), list(found.values())


def read_picture(src: str, file: Path, root: Path) -> Picture:
    """Looked for beside the file, then from the folder's root; nothing outside the root is ever read."""
    relative = unquote(src)
    ending = Path(relative).suffix.lower()
    if ending not in TYPES:
        raise DocumentError(f"picture {src!r} is of no kind that is shown: use {', '.join(sorted(TYPES))}")
    path = next((one for one in _places(relative, file, root) if one.is_file()), None)
    if path is None:
        raise DocumentError(f"picture {src!r} is not in the folder {root.name!r}: put it there, or correct its address")
    if path.stat().st_size > MAX_BYTES:
        raise DocumentError(f"picture {src!r} has more than {MAX_BYTES} bytes: make it smaller")
    content = path.read_bytes()
    return Picture(
        hashlib.sha256(content).hexdigest() + ending, path.name, TYPES[ending], content, picture_size(content)
    )


def keep_picture(folder: Path, picture: Picture) -> None:
    """Writes the bytes once; a name is a hash, so what is there is the same."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / picture.name
    if not target.exists():
        part = target.with_suffix(".part")
        part.write_bytes(picture.content)
        part.rename(target)


def add_media(conn: Connection, picture: Picture, now: Instant) -> None:
    insert = sqlite_insert if conn.dialect.name == "sqlite" else postgres_insert
    width, height = picture.size or (None, None)
    row = {
        "name": picture.name,
        "original": picture.original,
        "type": picture.type,
        "bytes": len(picture.content),
        "width": width,
        "height": height,
        "added_at_ms": now,
    }
    conn.execute(insert(media).values(row).on_conflict_do_nothing())


def _places(relative: str, file: Path, root: Path) -> list[Path]:
    inside = root.resolve()
    places = ((start / relative).resolve() for start in (file.parent, root))
    return [place for place in places if place.is_relative_to(inside)]


Locate = Callable[[str], Picture | None]


def _located(block: Block, locate: Locate) -> Block:
    match block:
        case Media():
            return _located_media(block, locate)
        case Paragraph() | Heading():
            return block.model_copy(update={"text": _located_runs(block.text, locate)})
        case Table():
            header = tuple(_located_runs(cell, locate) for cell in block.header)
            rows = tuple(tuple(_located_runs(cell, locate) for cell in row) for row in block.rows)
            return block.model_copy(update={"header": header, "rows": rows})
    return block


def _located_media(block: Media, locate: Locate) -> Media:
    picture = locate(block.src)
    if picture is None:
        return block
    change: dict[str, object] = {"src": picture.address}
    if block.width is None and picture.size:
        change |= {"width": picture.size[0], "height": picture.size[1]}
    return block.model_copy(update=change)


def _located_runs(text: RichText, locate: Locate) -> RichText:
    runs = []
    for run in text:
        picture = locate(run.image.href) if run.image else None
        link = run.image.model_copy(update={"href": picture.address}) if run.image and picture else None
        runs.append(run.model_copy(update={"image": link}) if link else run)
    return tuple(runs)
