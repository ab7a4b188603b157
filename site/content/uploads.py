"""Pictures the owner uploads: told by their bytes, not by their name, and only kinds that hold nothing that runs. Pure."""

import hashlib

from core.errors import BadInput

from .pictures import MAX_BYTES, TYPES, Picture
from .sizes import picture_size

_MARKS = (
    (".png", 0, b"\x89PNG\r\n\x1a\n"),
    (".jpg", 0, b"\xff\xd8\xff"),
    (".gif", 0, b"GIF87a"),
    (".gif", 0, b"GIF89a"),
    (".webp", 8, b"WEBP"),
    (".avif", 4, b"ftypavif"),
)


def uploaded(content: bytes, original: str) -> Picture:
    """Errors: BadInput for something empty, too large, or of another kind."""
    if not content:
        raise BadInput("no picture was chosen: choose a file, then send it")
    if len(content) > MAX_BYTES:
        raise BadInput(f"the picture has {len(content)} bytes, at most {MAX_BYTES} are taken: make it smaller")
    ending = next((ending for ending, at, mark in _MARKS if content.startswith(mark, at)), None)
    if ending is None:
        raise BadInput("this is no picture that can be shown: use PNG, JPEG, GIF, WebP or AVIF")
    name = hashlib.sha256(content).hexdigest() + ending
    return Picture(name, original[:200], TYPES[ending], content, picture_size(content))


def markdown_line(address: str, original: str, size: tuple[int, int] | None) -> str:
    """What puts the picture into a text; its description is to be written by the owner.

    >>> markdown_line("/media/a.png", "bridge.png", (4, 3))
    '![bridge](/media/a.png){width=4 height=3}'
    """
    described = "".join(sign for sign in original.rpartition(".")[0] or original if sign.isalnum() or sign in " -")
    place = f"{{width={size[0]} height={size[1]}}}" if size else ""
    return f"![{described.strip()}]({address}){place}"
