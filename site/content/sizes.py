"""Width and height of a picture, read from its bytes, so that pages keep their place while it loads. Pure."""

import re
import struct

_SVG_TAG = re.compile(rb"<svg\b[^>]*>", re.IGNORECASE)
_NUMBER = rb'=\s*["\']\s*([\d.]+)\s*(?:px)?\s*["\']'
_VIEW_BOX = re.compile(rb'viewBox\s*=\s*["\']\s*[-\d.]+[\s,]+[-\d.]+[\s,]+([\d.]+)[\s,]+([\d.]+)')

# JPEG's start-of-frame markers; C4, C8 and CC in the same range are something else.
_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def picture_size(content: bytes) -> tuple[int, int] | None:
    """(width, height) in pixels of PNG, GIF, JPEG, WebP and SVG; None when the bytes do not say.

    >>> picture_size(b"GIF89a" + struct.pack("<HH", 20, 10))
    (20, 10)
    >>> picture_size(b'<svg viewBox="0 0 64 32">')
    (64, 32)
    """
    try:
        size = _measured(content)
    except struct.error:
        return None
    return size if size and size[0] > 0 and size[1] > 0 else None


def _measured(content: bytes) -> tuple[int, int] | None:
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return _pair(">II", content, 16)
    if content[:6] in (b"GIF87a", b"GIF89a"):
        return _pair("<HH", content, 6)
    if content.startswith(b"\xff\xd8"):
        return _jpeg(content)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return _webp(content)
    return _svg(content)


def _pair(form: str, content: bytes, at: int) -> tuple[int, int]:
    first, second = struct.unpack_from(form, content, at)
    return first, second


def _jpeg(content: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(content) and content[at] == 0xFF:
        marker, length = content[at + 1], struct.unpack_from(">H", content, at + 2)[0]
        if marker in _FRAMES:
            height, width = _pair(">HH", content, at + 5)
            return width, height
        at += 2 + max(2, length)
    return None


def _webp(content: bytes) -> tuple[int, int] | None:
    kind = content[12:16]
    if kind == b"VP8X":
        wide, high = content[24:27], content[27:30]
        return int.from_bytes(wide, "little") + 1, int.from_bytes(high, "little") + 1
    if kind == b"VP8L":
        bits = struct.unpack_from("<I", content, 21)[0]
        return (bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1
    if kind == b"VP8 ":
        width, height = _pair("<HH", content, 26)
        return width & 0x3FFF, height & 0x3FFF
    return None


def _svg(content: bytes) -> tuple[int, int] | None:
    tag = _SVG_TAG.search(content[:4096])
    if tag is None:
        return None
    width, height = (re.search(rb"\b" + name + _NUMBER, tag[0]) for name in (b"width", b"height"))
    if width and height:
        return round(float(width[1])), round(float(height[1]))
    box = _VIEW_BOX.search(tag[0])
    return (round(float(box[1])), round(float(box[2]))) if box else None
