"""The three people Penfriend serves, over real processes and a real browser: who chats, who asks, who reviews."""

import os
import signal
import time
from collections.abc import Callable
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
    page = ask(home, "", "How do I true a bicycle wheel?")
    assert 'href="/projects/truing-a-wheel"' in page
    assert 1 <= page.count('<li id="source-') <= 3
    assert "没有" in ask(home, "/zh", "量子引力的重整化方案"), "what no article says is not answered"


def a_reader_who_asks_about_the_chat_gets_nothing(home: Installation) -> None:
    page = ask(home, "/zh", f"{SECRET}喜欢吃什么")
    assert "小鱼干" not in page and "source-" not in page


def ask(home: Installation, prefix: str, question: str) -> str:
    answer = httpx.post(f"{home.site}{prefix}/ask", data={"question": question}, trust_env=False)
    assert answer.status_code == 200
    return answer.text


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
    public = {path: read(home, path) for path in PUBLIC}
    assert "关于一只猫" in public["/zh/journal"] and "关于一只猫" in public["/journal"]
    address = public["/journal"].partition('href="/journal/')[2].partition('"')[0]
    assert "今天说到了它爱吃什么" in read(home, f"/journal/{address}")
    for path, text in public.items():
        assert SECRET not in text, f"{path} shows what was said in private"
    for path in ("/owner", "/owner/inbox"):
        assert httpx.get(f"{home.site}{path}", trust_env=False).status_code in (303, 401, 403)


PUBLIC = (
    "/",
    "/zh/",
    "/posts",
    "/journal",
    "/zh/journal",
    "/search?q=猫",
    "/feed.xml",
    "/journal/feed.xml",
    "/sitemap.xml",
)


def read(home: Installation, path: str) -> str:
    answer = httpx.get(f"{home.site}{path}", trust_env=False)
    assert answer.status_code == 200, f"{path}: {answer.status_code}"
    return answer.text


def test_a_second_start_does_nothing_again(home: Installation) -> None:
    with home.up():
        assert "sample articles imported" not in home.tail().rpartition("Stop     Ctrl-C")[0][-400:]
        assert _soon(lambda: home.run("doctor", "--json", check=False).returncode == 0), home.run(
            "doctor", check=False
        ).stdout


def _soon(true: Callable[[], bool]) -> bool:
    """While the programs of a start find each other, doctor may still name one that does not answer."""
    for _ in range(15):
        if true():
            return True
        time.sleep(1)
    return False


def test_a_taken_port_is_one_sentence_and_nothing_starts(tmp_path: Path) -> None:
    home, other = Installation(tmp_path / "a"), Installation(tmp_path / "b")
    for one in (home, other):
        one.folder.mkdir()
    other.env["PENFRIEND_SITE__PORT"] = str(home.site_port)

    with home.up():
        refused = other.run("up", check=False)

    assert refused.returncode == 2
    assert f"port {home.site_port}" in refused.stderr and "site.port" in refused.stderr
