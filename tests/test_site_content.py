"""Importing and exporting a folder of Markdown: idempotent, lossless, and clear about what it cannot read."""

import struct
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select

from core.document import load_document
from core.errors import BadInput
from tests.site_world import NOON, SiteWorld, a_site
from website.content import export_folder, import_folder, publish_article, rendered
from website.content.sizes import picture_size
from website.store.articles import (
    DraftConflict,
    Writing,
    all_drafts,
    draft_of,
    find_draft,
    rename_article,
    save_draft,
)
from website.store.content import revisions
from website.store.editions import newest_edition

SAMPLE = Path(__file__).parent.parent / "data" / "sample"
PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + b"\x08\x02\0\0\0"


def revision_count(conn: Connection) -> int:
    return int(conn.execute(select(func.count()).select_from(revisions)).scalar_one())


async def test_a_file_that_did_not_change_changes_nothing(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("tea", "Boil it.", tags="[tea]")
        await site.publish()
        edition = await site.parts.store.read(newest_edition)

        report = await site.publish()

        assert (report.added, report.changed, report.unchanged) == ([], [], ["tea.md"])
        assert await site.parts.store.read(newest_edition) == edition
        assert await site.parts.store.read(revision_count) == 1


async def test_blocks_that_stay_keep_their_ids(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("tea", "First.\n\nSecond.\n\nThird.")
        await site.publish()
        before = await block_ids(site, "tea")
        site.write("tea", "New.\n\nFirst.\n\nSecond, changed.\n\nThird.")

        report = await site.publish()

        after = await block_ids(site, "tea")
        assert report.changed == ["tea.md"] and after[1:] == before and after[0] not in before


async def test_a_file_that_cannot_be_read_is_named_and_the_others_come_in(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("good", "Fine.")
        site.write("tags", "Text.", tags="[a/b]")
        site.write("lost", "![a cat](cat.png)")
        (site.folder / "bytes.md").write_bytes(b"---\nslug: x\n\xff\xfe")
        (site.folder / "bare.md").write_text("No front matter here.")
        (site.folder / "twin.md").write_text((site.folder / "good.md").read_text())
        (site.folder / "README.md").write_text("Not an article.")

        report = await site.publish()

        assert report.added == ["good.md"]
        assert set(report.failed) == {"tags.md", "lost.md", "bytes.md", "bare.md", "twin.md"}
        assert all(sentence.startswith(name) for name, sentence in report.failed.items())
        assert "cat.png" in report.failed["lost.md"] and "good.md" in report.failed["twin.md"]
        assert (await site.get("/posts/good")).status_code == 200


async def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        with pytest.raises(BadInput, match="no folder"):
            await site.publish()


async def test_a_picture_is_served_under_its_hash_with_its_size(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("tea", '![A cup](cup.png "Mine")\n\nText ![inline](cup.png) here.')
        (site.folder / "cup.png").write_bytes(PNG)
        await site.publish()

        page = (await site.get("/posts/tea")).text
        address = page.split('<img src="')[1].split('"')[0]
        picture = await site.get(address)

        assert 'width="640" height="480"' in page and page.count(address) == 2
        assert picture.content == PNG and picture.headers["content-type"] == "image/png"
        assert "immutable" in picture.headers["cache-control"]


@pytest.mark.parametrize("src", ["../secret.png", "%2e%2e/secret.png", "link.png", "media/../../secret.png"])
async def test_nothing_outside_the_folder_is_ever_read(tmp_path: Path, src: str) -> None:
    async with a_site(tmp_path) as site:
        site.write("tea", f"![x]({src})")
        (tmp_path / "secret.png").write_bytes(PNG)
        (site.folder / "link.png").symlink_to(tmp_path / "secret.png")

        report = await site.publish()

        assert list(report.failed) == ["tea.md"]
        assert not (tmp_path / "data" / "media").exists()


@pytest.mark.parametrize("name", ["nothing.png", "..%2fsite.db", "a" * 64 + ".png", "a" * 64 + ".db"])
async def test_an_unknown_picture_is_not_found(tmp_path: Path, name: str) -> None:
    async with a_site(tmp_path) as site:
        assert (await site.get(f"/media/{name}")).status_code == 404


async def test_the_sample_comes_in_whole_and_goes_out_equal(tmp_path: Path) -> None:
    async with a_site(tmp_path / "one") as site, a_site(tmp_path / "two") as other:
        report = await import_folder(site.parts.store, site.parts.settings.data_dir, SAMPLE, site.parts.clock)
        assert report.failed == {} and len(report.added) >= 10

        await export_folder(site.parts.store, site.parts.settings.data_dir, tmp_path / "out")
        again = await import_folder(
            other.parts.store, other.parts.settings.data_dir, tmp_path / "out", other.parts.clock
        )

        assert again.failed == {}
        here, there = await site.parts.store.read(all_drafts), await other.parts.store.read(all_drafts)
        assert {one.article.slug: one.writing for one in here} == {one.article.slug: one.writing for one in there}
        back = await import_folder(site.parts.store, site.parts.settings.data_dir, tmp_path / "out", site.parts.clock)
        assert len(back.unchanged) == len(report.added)


async def test_export_never_writes_over_something(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("tea", "Boil it.")
        await site.publish()

        with pytest.raises(BadInput, match="not empty"):
            await export_folder(site.parts.store, site.parts.settings.data_dir, site.folder)


async def test_an_old_folder_does_not_undo_what_was_edited_on_the_site(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("tea", "Boil it.")
        await site.publish()
        await site.parts.store.write(_edit, "Edited", 1)

        report = await site.publish()

        assert report.left == ["tea.md"]
        draft = await site.parts.store.read(find_draft, "tea")
        assert draft is not None and draft.writing.title == "Edited"


async def test_a_draft_flag_takes_an_article_back(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("tea", "Boil it.")
        await site.publish()
        site.write("tea", "Boil it.", draft=True)

        await site.publish()

        assert (await site.get("/posts/tea")).status_code == 404


async def test_a_second_writer_is_told_what_the_first_one_wrote(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("tea", "Boil it.")
        await site.publish()
        await site.parts.store.write(_edit, "First", 1)

        with pytest.raises(DraftConflict) as conflict:
            await site.parts.store.write(_edit, "Second", 1)

        assert conflict.value.current.writing.title == "First" and conflict.value.current.version == 2


async def test_only_the_version_that_was_rendered_is_published(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("tea", "Boil it.")
        await site.publish()
        draft = await site.parts.store.read(find_draft, "tea")
        assert draft is not None
        text = rendered(draft.writing.document)
        await site.parts.store.write(_edit, "Newer", 1)

        with pytest.raises(DraftConflict):
            await site.parts.store.write(publish_article, draft.article.id, 1, text, NOON)


async def test_an_old_address_leads_to_the_new_one_until_the_article_is_gone(tmp_path: Path) -> None:
    async with a_site(tmp_path) as site:
        site.write("tea", "Boil it.")
        await site.publish()
        await site.parts.store.write(_rename_and_publish)

        moved = await site.get("/posts/tea")

        assert (moved.status_code, moved.headers["location"]) == (301, "/posts/green-tea")


@pytest.mark.parametrize(
    ("content", "size"),
    [
        (PNG, (640, 480)),
        (b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x0b\x08" + struct.pack(">HH", 48, 64) + b"\x03\x01", (64, 48)),
        (b"RIFF....WEBPVP8X" + b"\0" * 8 + b"\x3f\0\0\x1f\0\0", (64, 32)),
        (b'<svg width="12px" height="7">', (12, 7)),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"\xff\xd8\xff", None),
        (b"GIF89a\0\0\0\0", None),
        (b"", None),
        (b"<svg>", None),
    ],
)
def test_the_size_of_a_picture_is_read_from_its_bytes(content: bytes, size: tuple[int, int] | None) -> None:
    assert picture_size(content) == size


async def block_ids(site: SiteWorld, slug: str) -> list[str]:
    draft = await site.parts.store.read(find_draft, slug)
    assert draft is not None
    return [block.id for block in load_document(draft.writing.document).blocks]


def _edit(conn: Connection, title: str, based_on: int) -> None:
    draft = find_draft(conn, "tea")
    assert draft is not None
    old = draft.writing
    save_draft(conn, draft.article.id, based_on, Writing(title, old.summary, old.tags, old.dated, old.document), NOON)


def _rename_and_publish(conn: Connection) -> None:
    draft = find_draft(conn, "tea")
    assert draft is not None
    rename_article(conn, draft.article, "green-tea", NOON)
    renamed = draft_of(conn, draft.article.id)
    assert renamed is not None
    publish_article(conn, draft.article.id, draft.version, rendered(draft.writing.document), NOON)
