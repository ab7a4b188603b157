"""Pictures the owner sends."""

import struct
import zlib
from pathlib import Path

import httpx
import pytest

from tests.desk_world import OURS, DeskWorld, a_desk
from website.content.pictures import MAX_BYTES


def a_png(width: int = 2, height: int = 1) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    pixels = zlib.compress((b"\0" + b"\x80" * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


async def send(world: DeskWorld, content: bytes, name: str = "bridge.png", **headers: str) -> httpx.Response:
    cookie = {"cookie": "; ".join(f"{key}={value}" for key, value in world.cookies.items())}
    token = {"x-csrf-token": await world.token(), "accept": "application/json"}
    files = {"picture": (name, content, "image/png")}
    return await world.client.post("/owner/pictures", files=files, headers={**OURS, **token, **cookie, **headers})


async def test_a_picture_is_kept_once_shown_and_put_into_a_text(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()

        first, again = await send(world, a_png()), await send(world, a_png(), "other.png")

        line = first.json()["markdown"]
        assert line.startswith("![bridge](/media/") and line.endswith("{width=2 height=1}")
        assert again.status_code == 200
        assert len(list((world.parts.settings.data_dir / "media").iterdir())) == 1
        served = await world.client.get(line.partition("(")[2].partition(")")[0])
        assert (served.content, served.headers["content-type"]) == (a_png(), "image/png")
        assert line in (await world.get("/owner/pictures")).text
        page = await world.press("/owner/drafts/preview", version="0", article="0", title="x", body=line)
        assert '<img src="/media/' in page.text and 'width="2"' in page.text


@pytest.mark.parametrize(
    ("content", "name", "word"),
    [
        (b"", "empty.png", "no picture"),
        (b"<svg onload='alert(1)'/>", "a.svg", "no picture that can be shown"),
        (b"<html><script>alert(1)</script>", "page.png", "no picture that can be shown"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * MAX_BYTES, "huge.png", "make it smaller"),
    ],
)
async def test_what_is_no_picture_is_refused_and_leaves_nothing(
    tmp_path: Path, content: bytes, name: str, word: str
) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()

        answer = await send(world, content, name)

        assert answer.status_code == 400 and word in answer.json()["detail"]
        assert not (world.parts.settings.data_dir / "media").exists()


async def test_an_upload_far_over_the_limit_is_cut_off_and_a_strangers_is_not_taken(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        assert (await send(world, b"x" * (MAX_BYTES + 200_000))).status_code == 413
        assert (await world.press("/owner/pictures")).status_code == 400
        world.cookies.clear()

        files = {"picture": ("a.png", a_png(), "image/png")}
        answer = await world.client.post("/owner/pictures", files=files, headers=OURS)

        assert answer.status_code == 401
        assert not (world.parts.settings.data_dir / "media").exists()


async def test_a_name_is_only_words(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()

        line = (await send(world, a_png(), "../../x](javascript:alert(1)) <b>.png")).json()["markdown"]

        assert line.startswith("![x") and "javascript:" not in line and "<" not in line and ".." not in line
