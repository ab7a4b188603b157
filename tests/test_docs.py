"""The docs name every setting, command, route, channel and state, or a test says which one is missing."""

import re
from pathlib import Path

import pytest

from bridge.channels.registry import open_channels
from cli import architecture_doc, commands_doc, settings_doc
from core.clock import system_clock
from core.settings_files import load_settings

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "README.zh.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_settings_page_is_as_the_settings_are() -> None:
    assert (ROOT / settings_doc.PAGE).read_text("utf-8") == settings_doc.page(), "run: python -m cli.settings_doc"


def test_the_commands_page_is_as_the_commands_are() -> None:
    assert (ROOT / commands_doc.PAGE).read_text("utf-8") == commands_doc.page(), "run: python -m cli.commands_doc"


def test_the_printed_tables_are_as_the_code_is() -> None:
    page = (ROOT / architecture_doc.PAGE).read_text("utf-8")

    assert page == architecture_doc.renewed(page), "run: python -m cli.architecture_doc"


def test_every_command_named_in_the_docs_exists() -> None:
    known = [path.removeprefix("penfriend ").split() for path, _ in commands_doc.commands()]
    groups = {words[0] for words in known if len(words) > 1}
    for page in PAGES:
        for named in re.findall(r"`(?:\.venv/bin/)?penfriend ([a-z]+)(?: ([a-z]+))?", page.read_text("utf-8")):
            words = [word for word in named if word][: 2 if named[0] in groups else 1]
            assert any(one[: len(words)] == words for one in known), f"{page.name} names `penfriend {' '.join(words)}`"


def test_every_channel_has_its_place_in_the_docs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "channels.md").read_text("utf-8")
    settings = load_settings({}, tmp_path)

    for channel in open_channels(settings, system_clock):
        assert f"## {channel.account.partition(':')[0]}" in page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_inside_the_docs_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_both_readmes_have_the_same_commands_and_pictures() -> None:
    texts = [(ROOT / name).read_text("utf-8") for name in ("README.md", "README.zh.md")]

    for pattern in (r"```sh\n(.*?)```", r"!\[[^\]]*\]\(([^)]+)\)"):
        english, chinese = (re.findall(pattern, text, re.DOTALL) for text in texts)
        assert english == chinese
    sections = [text.count("\n## ") for text in texts]
    assert sections[0] == sections[1]
