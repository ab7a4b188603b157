"""Debian's Chromium for tests. It fails, and never skips, where there is none."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Playwright

ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium_path() -> str:
    path = shutil.which("chromium")
    assert path, "these tests need Chromium: apt-get install chromium fonts-noto-cjk"
    return path


@contextmanager
def launch(playwright: Playwright) -> Iterator[Browser]:
    browser = playwright.chromium.launch(executable_path=chromium_path(), args=ARGUMENTS)
    try:
        yield browser
    finally:
        browser.close()
