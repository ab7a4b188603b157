"""The owner's articles: the editor, its versions, and what readers see of them."""

import re
from pathlib import Path

import httpx
import pytest

from tests.desk_world import OURS, DeskWorld, a_desk
from website.store import articles, audit

TEA = {
    "title": "On Tea",
    "body": "Water first.\n\nThen leaves.",
    "kind": "post",
    "language": "en",
    "dated": "2026-03-14",
}


async def write(world: DeskWorld, **more: str) -> int:
    """A new article; gives its number."""
    answer = await world.press("/owner/drafts", version="0", **{**TEA, **more})
    assert answer.status_code == 303, answer.text
    return int(answer.headers["location"].rpartition("/")[2])


async def save(world: DeskWorld, article: int, version: int, **more: str) -> httpx.Response:
    return await world.press(f"/owner/drafts/{article}", version=str(version), **{**TEA, "slug": "on-tea", **more})


async def publish(world: DeskWorld, article: int, version: int) -> httpx.Response:
    return await world.press(f"/owner/drafts/{article}/publish", version=str(version))


async def as_script(world: DeskWorld, path: str, **fields: str) -> httpx.Response:
    headers = {**OURS, "accept": "application/json", "x-csrf-token": await world.token()}
    return await world.send(path, headers, fields)


async def test_an_article_is_written_read_and_published(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        assert (await world.client.get("/posts/on-tea")).status_code == 404

        answer = await publish(world, article, 1)

        assert answer.headers["location"] == f"/owner/drafts/{article}?was=0"
        assert "Water first." in (await world.client.get("/posts/on-tea")).text
        page = (await world.get(f"/owner/drafts/{article}?was=0")).text
        assert f'action="/owner/drafts/{article}/undo"' in page and "/posts/on-tea" in page
        assert "On Tea" in (await world.get("/owner/drafts")).text


async def test_an_edit_shows_nothing_until_it_is_published_and_publishing_is_undone(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        await publish(world, article, 1)
        await save(world, article, 1, body="Leaves first.")
        assert "Water first." in (await world.client.get("/posts/on-tea")).text

        answer = await publish(world, article, 2)
        assert answer.headers["location"].endswith("?was=1")
        assert "Leaves first." in (await world.client.get("/posts/on-tea")).text
        await world.press(f"/owner/drafts/{article}/undo", was="1")

        page = (await world.client.get("/posts/on-tea")).text
        assert "Water first." in page and "Leaves first." not in page
        draft = await world.parts.store.read(articles.draft_of, article)
        assert draft is not None and draft.version == 2
        await world.press(f"/owner/drafts/{article}/undo", was="0")
        assert (await world.client.get("/posts/on-tea")).status_code == 404


async def test_an_article_is_taken_off_the_site_and_comes_back_under_its_address(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        await publish(world, article, 1)

        assert (await world.press(f"/owner/drafts/{article}/unpublish")).status_code == 303

        assert (await world.client.get("/posts/on-tea")).status_code == 404
        assert (await world.press(f"/owner/drafts/{article}/unpublish")).status_code == 400
        assert (await world.press(f"/owner/drafts/{article}/undo", was="1")).status_code == 400
        await publish(world, article, 1)
        assert (await world.client.get("/posts/on-tea")).status_code == 200


async def test_two_tabs_lose_neither_text(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        await save(world, article, 1, body="From one tab.")

        stale = await save(world, article, 1, body="From the other tab.")

        assert stale.status_code == 409
        assert "From the other tab." in stale.text and "From one tab." in stale.text
        assert "<del>" in stale.text and "<ins>" in stale.text
        assert 'name="version" value="2"' in stale.text
        assert (await save(world, article, 2, body="From both tabs.")).status_code == 303
        assert "From both tabs." in (await world.get(f"/owner/drafts/{article}")).text


async def test_a_publication_is_of_the_version_that_was_read(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        await save(world, article, 1, body="Something else.")

        answer = await publish(world, article, 1)

        assert answer.status_code == 409 and "Something else." in answer.text
        assert (await world.client.get("/posts/on-tea")).status_code == 404


async def test_an_earlier_version_is_compared_and_becomes_the_newest(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        await save(world, article, 1, body="Water last.\n\nThen leaves.")
        page = (await world.get(f"/owner/drafts/{article}/versions")).text
        assert "<del>first</del>" in page and "<ins>last</ins>" in page

        answer = await world.press(f"/owner/drafts/{article}/restore", version="2", chosen="1")

        assert answer.status_code == 303
        assert "Water first." in (await world.get(f"/owner/drafts/{article}")).text
        draft = await world.parts.store.read(articles.draft_of, article)
        assert draft is not None and draft.version == 3
        assert (await world.press(f"/owner/drafts/{article}/restore", version="2", chosen="1")).status_code == 409
        assert (await world.press(f"/owner/drafts/{article}/restore", version="3", chosen="9")).status_code == 400


async def test_saving_the_same_text_makes_no_version(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)

        await save(world, article, 1)

        draft = await world.parts.store.read(articles.draft_of, article)
        assert draft is not None and draft.version == 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", " "),
        ("title", "x" * 201),
        ("title", "a\x07b"),
        ("slug", "Tea"),
        ("slug", "a--b"),
        ("slug", "../owner"),
        ("slug", "x" * 81),
        ("summary", "x" * 501),
        ("tags", "a/b"),
        ("tags", ".."),
        ("tags", "x" * 41),
        ("tags", ",".join(f"t{number}" for number in range(21))),
        ("dated", "2026-02-30"),
        ("dated", "yesterday"),
        ("kind", "poem"),
        ("language", "fr"),
    ],
)
async def test_a_wrong_field_is_named_and_nothing_that_was_typed_is_lost(
    tmp_path: Path, field: str, value: str
) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)

        answer = await save(world, article, 1, **{"body": "Typed for an hour.", field: value})

        assert answer.status_code == 400
        assert "Typed for an hour." in answer.text
        assert f'aria-describedby="wrong-{field}"' in answer.text
        assert "Water first." in (await world.get(f"/owner/drafts/{article}")).text


async def test_a_text_that_makes_no_document_says_why(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        for body, word in ((":::unheard-of\nx\n:::", "unheard-of"), ("x" * 200_001, "200001"), ("", "")):
            answer = await save(world, article, 1, body=body)
            assert answer.status_code == (400 if word else 303) and word in answer.text


async def test_an_address_belongs_to_one_article_and_moves_with_it_when_published(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        await publish(world, article, 1)

        taken = await world.press("/owner/drafts", version="0", slug="on-tea", **{**TEA, "body": "Mine."})
        assert taken.status_code == 400 and "Mine." in taken.text
        assert (await save(world, article, 1, slug="about-tea")).status_code == 303

        assert (await world.client.get("/posts/on-tea")).status_code == 200
        assert (await world.client.get("/posts/about-tea")).status_code == 404
        other = await world.press("/owner/drafts", version="0", slug="on-tea", **TEA)
        assert other.status_code == 400, "readers still find the first article there"
        await publish(world, article, 2)
        moved = await world.client.get("/posts/on-tea")
        assert (moved.status_code, moved.headers["location"]) == (301, "/posts/about-tea")


async def test_a_title_without_latin_letters_gets_an_address_of_kind_and_day(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world, title="茶", kind="note", language="zh")

        draft = await world.parts.store.read(articles.draft_of, article)

        assert draft is not None and draft.article.slug == "note-2026-03-14"


async def test_blocks_keep_their_names_through_an_edit(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        await publish(world, article, 1)
        before = re.findall(r'<p id="(b[0-9a-f]+)">Water first', (await world.client.get("/posts/on-tea")).text)

        await save(world, article, 1, body="A line before.\n\nWater first.\n\nThen leaves.")
        await publish(world, article, 2)

        assert before and before == re.findall(
            r'<p id="(b[0-9a-f]+)">Water first', (await world.client.get("/posts/on-tea")).text
        )


async def test_the_script_saves_learns_of_conflicts_and_of_faults(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        path, typed = f"/owner/drafts/{article}", {**TEA, "slug": "on-tea", "body": "By itself."}

        saved = await as_script(world, path, version="1", **typed)
        stale = await as_script(world, path, version="1", **{**typed, "body": "Late."})
        wrong = await as_script(world, path, version="2", **{**typed, "title": ""})

        assert (saved.status_code, saved.json()) == (200, {"version": 2, "slug": "on-tea"})
        assert (stale.status_code, stale.json()) == (409, {"version": 2})
        assert (wrong.status_code, wrong.json()["faults"]) == (400, ["title"])


async def test_the_preview_keeps_nothing_and_holds_no_markup_of_the_text(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        body = "**bold** <script>alert(1)</script> [x](javascript:alert(1))"

        page = await world.press("/owner/drafts/preview", version="0", article="0", **{**TEA, "body": body})
        told = await as_script(world, "/owner/drafts/preview", version="0", article="0", **{**TEA, "body": body})

        assert "<strong>bold</strong>" in page.text and "<script>alert" not in page.text
        tag, _, children = told.json()["nodes"][0]
        assert tag == "p" and ["strong", {}, ["bold"]] in children
        assert {child[0] for child in children if isinstance(child, list)} == {"strong"}
        assert await world.parts.store.read(articles.all_drafts) == []


async def test_articles_that_are_not_there_and_bad_numbers_are_refused(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        for path in ("/owner/drafts/99", "/owner/drafts/99/versions", f"/owner/drafts/{10**30}"):
            assert (await world.get(path)).status_code == 404, path
        for path in ("", "/publish", "/undo", "/unpublish", "/restore"):
            assert (
                await world.press(f"/owner/drafts/99{path}", version="1", was="1", chosen="1")
            ).status_code == 404, path
        assert (await world.press("/owner/drafts", **TEA)).status_code == 400


async def test_what_changes_for_readers_is_in_the_audit_chain_and_each_keystroke_is_not(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        await save(world, article, 1, body="Again.")
        await publish(world, article, 2)
        await world.press(f"/owner/drafts/{article}/undo", was="0")

        lines = await world.parts.store.read(audit.newest, 1000, 10)

        actions = ["undid_publication", "published_article", "made_article", "became_owner"]
        assert [line.deed.action for line in lines] == actions
        assert await world.parts.store.read(audit.verify) is None


# --- preview links


async def a_link(world: DeskWorld, article: int) -> str:
    page = (await world.press(f"/owner/drafts/{article}/links")).text
    found = re.search(r"http://desk\.test(/owner/preview/[A-Za-z0-9_-]+)", page)
    assert found is not None
    return found[1]


async def test_a_preview_link_shows_the_draft_of_this_moment_and_nothing_of_the_desk(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world, body="Water **first**.")
        link = await a_link(world, article)
        await save(world, article, 1, body="Leaves **first**.")

        page = await world.client.get(link)

        assert page.status_code == 200 and "Leaves <strong>first" in page.text
        assert "noindex" in page.text and page.headers["cache-control"] == "no-store"
        assert page.headers["referrer-policy"] == "same-origin"
        assert "set-cookie" not in page.headers and "/owner/inbox" not in page.text and "csrf" not in page.text
        assert link.rpartition("/")[2] not in (await world.get(f"/owner/drafts/{article}/links")).text
        assert (await world.client.get("/posts/on-tea")).status_code == 404


async def test_a_preview_link_ends_after_a_week_or_when_the_owner_says_so(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        article = await write(world)
        first, second = await a_link(world, article), await a_link(world, article)
        await world.press(f"/owner/drafts/{article}/links/end")
        third = await a_link(world, article)

        assert [(await world.client.get(link)).status_code for link in (first, second, third)] == [404, 404, 200]
        world.time.pass_ms(7 * 24 * 60 * 60 * 1000)
        assert (await world.client.get(third)).status_code == 404
        for path in ("/owner/preview/x", "/owner/preview/%00", "/owner/preview/" + "A" * 43):
            assert (await world.client.get(path)).status_code == 404
