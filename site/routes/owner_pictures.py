"""Pictures for articles: sent from the editor or by a form, and the list of those that are there."""

import asyncio
from typing import Any

from litestar import Response, get, post
from litestar.datastructures import UploadFile
from litestar.di import NamedDependency
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant
from core.errors import BadInput

from ..content.pictures import MAX_BYTES, Picture, add_media, keep_picture
from ..content.uploads import markdown_line, uploaded
from ..owner.door import AnyRequest
from ..owner.pages import DeskPages
from ..parts import Parts
from ..store import audit, media
from ..store.sessions import Session
from .owner_drafts import by_script

PICTURES = "/owner/pictures"
SHOWN = 100
FORM_BYTES = 64 * 1024
"""What the form is longer than the picture in it."""


@get("/pictures")
async def pictures_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], session: NamedDependency[Session]
) -> Response[str]:
    found = await parts.store.read(media.newest, SHOWN)
    lines = {one.name: markdown_line(one.address, one.original, one.size) for one in found}
    return desk.page("pictures.html", session, pictures=found, lines=lines)


@post("/pictures", status_code=200, request_max_body_size=MAX_BYTES + FORM_BYTES)
async def upload(
    request: AnyRequest, parts: NamedDependency[Parts], session: NamedDependency[Session]
) -> Response[Any]:
    """The same picture again is the same file: its name is the hash of what it holds."""
    file = (await request.form()).get("picture")
    if not isinstance(file, UploadFile):
        raise BadInput("no picture was chosen: choose a file, then send it")
    picture = await asyncio.to_thread(uploaded, await file.read(), file.filename)
    await asyncio.to_thread(keep_picture, parts.settings.data_dir / "media", picture)
    await parts.store.write(_add, session, picture, parts.clock())
    if by_script(request):
        return Response({"markdown": markdown_line(picture.address, picture.original, picture.size)})
    return Redirect(PICTURES, status_code=303)


def _add(conn: Connection, session: Session, picture: Picture, now: Instant) -> None:
    add_media(conn, picture, now)
    audit.write(conn, audit.Deed("owner", session.address, "added_picture", picture.name), now)


HANDLERS = [pictures_page, upload]
