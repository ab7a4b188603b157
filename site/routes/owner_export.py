"""Everything of the site as one zip: articles as Markdown with their pictures, the journal and the voice as JSON.

It wants the password once more. What was said in chat is the bridge's to export, not the site's.
"""

import asyncio
import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from litestar import post
from litestar.di import NamedDependency
from litestar.response import Stream
from sqlalchemy import Connection

from core.clock import local_day

from ..content.export import export_folder
from ..owner.door import AnyRequest, fields_of
from ..owner.pages import zone_of
from ..parts import Parts
from ..store import audit, journal, voices
from ..store.sessions import Session
from .owner_passkeys import prove

PIECE = 256 * 1024
VERSIONS = 10_000


@post("/export", status_code=200)
async def export(request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session]) -> Stream:
    await prove(parts, session, (await fields_of(request)).get("present", ""))
    now = parts.clock()
    await parts.store.write(audit.write, audit.Deed("owner", session.address, "exported"), now)
    notes = await parts.store.read(_notes)
    # On the disk of the data, for there may be many pictures; the file ends with the answer.
    place = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="export-", dir=parts.settings.data_dir))
    try:
        await export_folder(parts.store, parts.settings.data_dir, place / "articles")
        archive = await asyncio.to_thread(_packed, place, notes)
    except BaseException:
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
        raise
    name = f"penfriend-{local_day(now, zone_of(parts.settings))}.zip"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Length": str(archive.stat().st_size)}
    return Stream(_sent(archive, place), media_type="application/zip", headers=headers)


def _notes(conn: Connection) -> dict[str, str]:
    """File names and what stands in them."""
    entries = [vars(entry) for entry in journal.every(conn)]
    spoken = [vars(version) for version in voices.history(conn, VERSIONS)]
    return {
        "journal.json": json.dumps(entries, ensure_ascii=False, indent=1),
        "voices.json": json.dumps(spoken, ensure_ascii=False, indent=1),
    }


def _packed(place: Path, notes: dict[str, str]) -> Path:
    archive = place / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packing:
        for path in sorted((place / "articles").rglob("*")):
            if path.is_file():
                packing.write(path, path.relative_to(place).as_posix())
        for name, text in notes.items():
            packing.writestr(name, text)
    return archive


def _sent(archive: Path, place: Path) -> Iterator[bytes]:
    try:
        with archive.open("rb") as reading:
            while piece := reading.read(PIECE):
                yield piece
    finally:
        shutil.rmtree(place, ignore_errors=True)


HANDLERS = [export]
