"""The desk's words and pages."""

import re
from pathlib import Path

import website
from tests.desk_world import a_desk
from website.owner.pages import NAVIGATION
from website.owner.words import SPOKEN_BY_NAME, ZH

TEMPLATES = Path(website.__file__).parent / "templates" / "owner"
SPOKEN = {
    words
    for template in TEMPLATES.glob("*.html")
    for words in re.findall(r'\bt\("((?:[^"\\]|\\.)*)"', template.read_text("utf-8"))
}


def test_every_word_of_the_desk_is_there_in_chinese_and_none_is_left_over() -> None:
    wanted = SPOKEN | set(SPOKEN_BY_NAME)

    assert wanted - set(ZH) == set()
    assert set(ZH) - wanted == set()


def test_both_languages_fill_in_the_same_things() -> None:
    for english, chinese in ZH.items():
        assert set(re.findall(r"\{(\w+)\}", english)) == set(re.findall(r"\{(\w+)\}", chinese)), english


async def test_every_page_is_shown_in_both_languages(tmp_path: Path) -> None:
    async with a_desk(tmp_path) as world:
        await world.claim()
        for language, word in (("zh", "书桌"), ("en", "Desk")):
            await world.press("/owner/language", language=language)
            for path in (*(path for path, _ in NAVIGATION), "/owner/audit"):
                page = await world.get(path)
                assert page.status_code == 200, path
                assert word in page.text
                assert page.headers["cache-control"] == "no-store"
