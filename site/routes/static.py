"""Scripts, styles and pictures, under names that hold their content's hash."""

import re
from pathlib import Path

from litestar import Response, get
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath

from ..assets import Assets
from ..conditional import FOR_EVER, WebRequest, conditional
from ..parts import Parts
from ..store.publications import PublicReader

_MEDIA_NAME = re.compile(r"[0-9a-f]{64}\.[a-z0-9]{1,5}")


@get("/static/{name:str}")
async def static(request: WebRequest, name: FromPath[str], assets: NamedDependency[Assets]) -> Response[bytes]:
    asset = assets.by_name.get(name)
    if asset is None:
        raise NotFoundException
    return conditional(request, asset.body, asset.type, caching=FOR_EVER)


@get("/media/{name:str}")
async def media(
    request: WebRequest, name: FromPath[str], parts: NamedDependency[Parts], reader: NamedDependency[PublicReader]
) -> Response[bytes]:
    kind = await reader.media_type(name) if _MEDIA_NAME.fullmatch(name) else None
    path = parts.settings.data_dir / "media" / name
    if kind is None or not path.is_file():
        raise NotFoundException
    return conditional(request, _read(path), kind, caching=FOR_EVER)


def _read(path: Path) -> bytes:
    return path.read_bytes()


HANDLERS = [static, media]
