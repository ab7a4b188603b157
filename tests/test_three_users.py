"""The three people Penfriend serves, over real processes and a real browser: who chats, who asks, who reviews."""

import os
import signal
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, sync_playwright

from tests.chromium import launch
from tests.installation import Installation

PASSWORD = "a long walk before breakfast"
SECRET = "豆豆"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return Installation(tmp_path_factory.mktemp("home"))


def test_all_three_users_are_served_end_to_end(home: Installation) -> None:
    with home.up() as first:
        link = home.claim_link()
        home.say(f"我的猫叫{SECRET}，它喜欢吃小鱼干。")
        os.kill(home.pid_of("bridge"), signal.SIGKILL)
        assert first.wait(60) != 0, "a killed bridge must not look like a clean stop"

    with home.up():
        the_owner_is_remembered_after_a_crash(home)
        a_reader_asks_and_gets_sources(home)
        a_reader_who_asks_about_the_chat_gets_nothing(home)
        assert home.run("digest", "--once").returncode == 0
        assert "no" in home.run("digest", "--once").stdout.lower(), "a second digest has nothing to do"
        with sync_playwright() as playwright, launch(playwright) as browser:
            page = browser.new_page(base_url=home.site)
            the_owner_claims_the_site(page, link)
            the_owner_reviews_and_publishes(page)
        the_journal_shows_what_was_reviewed_and_nothing_else(home)


def the_owner_is_remembered_after_a_crash(home: Installation) -> None:
    answer = home.say("我的猫叫什么名字？")
    assert SECRET in answer, answer
    assert "离线" in answer, "the offline provider says that it is offline"
    status = home.run("status", "--json").stdout
    assert '"unknown"' not in status


def a_reader_asks_and_gets_sources(home: Installation) -> None:
    page = httpx.get(f"{home.site}/en/ask", params={"q": "How do I true a bicycle wheel?"}, trust_env=False).text
    assert "/projects/truing-a-wheel" in page
    assert page.count('class="source') <= 3


def a_reader_who_asks_about_the_chat_gets_nothing(home: Installation) -> None:
    page = httpx.get(f"{home.site}/zh/ask", params={"q": f"{SECRET}喜欢吃什么小鱼干"}, trust_env=False).text
    assert "小鱼干" not in page.replace(f"{SECRET}喜欢吃什么小鱼干", "")


def the_owner_claims_the_site(page: Page, link: str) -> None:
    page.goto(link)
    page.locator("input[name=password]").fill(PASSWORD)
    page.locator("input[name=again]").fill(PASSWORD)
    page.locator("form[action*='/setup'] button[type=submit]").click()
    page.wait_for_url("**/owner")


def the_owner_reviews_and_publishes(page: Page) -> None:
    page.goto("/owner/inbox")
    page.locator("a[href^='/owner/inbox/']").first.click()
    assert SECRET in page.content(), "the draft stands beside its sources"
    page.locator("form[action$='/edit'] input[name=title]").fill("关于一只猫")
    page.locator("form[action$='/edit'] textarea[name=body]").fill("主人家里有一只猫。今天说到了它爱吃什么。")
    page.locator("form[action$='/edit'] button[type=submit]").first.click()
    page.wait_for_load_state()
    page.locator("form[action$='/publish'] button[type=submit]").click()
    page.wait_for_load_state()


def the_journal_shows_what_was_reviewed_and_nothing_else(home: Installation) -> None:
    public = {path: httpx.get(f"{home.site}{path}", trust_env=False, follow_redirects=True).text for path in PUBLIC}
    assert "关于一只猫" in public["/zh/journal"]
    assert "今天说到了它爱吃什么" in _journal_entry(home, public["/zh/journal"])
    for path, text in public.items():
        assert SECRET not in text, f"{path} shows what was said in private"
    for path in ("/owner", "/owner/inbox"):
        assert httpx.get(f"{home.site}{path}", trust_env=False).status_code in (303, 401, 403)


PUBLIC = ("/zh", "/en", "/zh/posts", "/zh/journal", "/en/journal", "/zh/search?q=猫", "/feed.xml", "/journal/feed.xml", "/sitemap.xml")


def _journal_entry(home: Installation, index: str) -> str:
    path = index.partition('href="/zh/journal/')[2].partition('"')[0]
    return httpx.get(f"{home.site}/zh/journal/{path}", trust_env=False).text


def test_a_second_start_does_nothing_again(home: Installation) -> None:
    with home.up():
        assert "sample articles imported" not in home.tail().rpartition("Stop     Ctrl-C")[0][-400:]
        assert home.run("doctor", "--json").returncode == 0


def test_a_taken_port_is_one_sentence_and_nothing_starts(tmp_path: Path) -> None:
    home, other = Installation(tmp_path / "a"), Installation(tmp_path / "b")
    for one in (home, other):
        one.folder.mkdir()
    other.env["PENFRIEND_SITE__PORT"] = str(home.site_port)

    with home.up():
        refused = other.run("up", check=False)

    assert refused.returncode == 2
    assert f"port {home.site_port}" in refused.stderr and "site.port" in refused.stderr
