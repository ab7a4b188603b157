"""Everything of the site as one zip, and the articles of it back in an empty place."""

import io
import json
import zipfile
from pathlib import Path

from tests.desk_world import PASSWORD, DeskWorld, a_desk, a_record
from tests.test_owner_drafts import publish, save, write
from tests.test_owner_pictures import a_png, send
from website.content import import_folder
from website.store import articles, audit


async def a_full_site(world: DeskWorld) -> int:
    await world.claim()
    line = (await send(world, a_png())).json()["markdown"]
    article = await write(world, body=f"Water first.\n\n{line}", tags="tea, 茶", summary="On water.")
    await publish(world, article, 1)
    await write(world, title="水", slug="water", language="zh", body="还没写完。")
    await world.press("/owner/voice", version="0", text="Dry.")
    await world.say(a_record("k1", "A secret of the chat."))
    return article


async def test_an_export_holds_the_site_and_nothing_of_the_chat_and_comes_back_equal(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await a_full_site(world)

        answer = await world.press("/owner/export", present=PASSWORD)

        assert answer.headers["content-type"] == "application/zip"
        assert answer.headers["content-disposition"].startswith('attachment; filename="penfriend-20')
        packed = zipfile.ZipFile(io.BytesIO(answer.content))
        names = set(packed.namelist())
        assert {"articles/on-tea.md", "articles/water.md", "journal.json", "voices.json"} <= names
        assert json.loads(packed.read("voices.json"))[0]["text"] == "Dry."
        assert all(b"secret of the chat" not in packed.read(name) for name in names)
        assert [path.name for path in world.parts.settings.data_dir.glob("export-*")] == []
        before = await world.parts.store.read(articles.all_drafts)
        packed.extractall(tmp_path / "taken")

    async with a_desk(tmp_path / "elsewhere") as other:
        store, data = other.parts.store, other.parts.settings.data_dir
        report = await import_folder(store, data, tmp_path / "taken" / "articles", other.time)
        assert report.failed == {}
        after = await store.read(articles.all_drafts)
        assert {(one.article.slug, one.writing.title, one.writing.tags) for one in after} == {
            (one.article.slug, one.writing.title, one.writing.tags) for one in before
        }
        assert (await other.client.get("/posts/on-tea")).status_code == 200
        assert (await other.client.get("/posts/water")).status_code == 404


async def test_an_export_wants_the_password_once_more_and_stands_in_the_chain(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        article = await a_full_site(world)
        await save(world, article, 1, body="Changed.")

        assert (await world.press("/owner/export", present="guess")).status_code == 403
        assert (await world.press("/owner/export")).status_code == 403
        assert (await world.press("/owner/export", present=PASSWORD)).status_code == 200

        lines = await world.parts.store.read(audit.newest, 1000, 20)
        assert [line.deed.action for line in lines].count("exported") == 1
