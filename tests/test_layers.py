"""Keeps the table of folders in docs/ARCHITECTURE.md true by walking every import."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "bridge": {"core"},
    "site": {"core"},
    "digest": {"core"},
    "cli": {"core", "bridge", "website", "digest"},
}
OURS = {"core", "bridge", "site", "website", "digest", "cli", "tests", "bench"}
NEVER_IN_CORE = {"aiohttp", "litestar", "uvicorn", "typer", "apscheduler"}


def imported_by(file: Path) -> set[str]:
    """The first words of all absolute imports; relative ones stay inside their folder."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_a_folder_imports_only_what_the_map_allows(folder: str) -> None:
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files, f"{folder}/ has no files: the walk looks in the wrong place"

    wrong = {
        str(file.relative_to(ROOT)): bad
        for file in files
        if (bad := (imported_by(file) & OURS) - MAY_IMPORT[folder] - {folder})
    }

    assert not wrong, f"{folder} may import {MAY_IMPORT[folder] or 'nothing of ours'}: {wrong}"


def test_core_knows_no_web_framework() -> None:
    wrong = {str(file) for file in (ROOT / "core").rglob("*.py") if imported_by(file) & NEVER_IN_CORE}

    assert not wrong


def test_nobody_imports_site_by_its_folder_name() -> None:
    wrong = [
        str(file)
        for folder in ("core", "bridge", "site", "digest", "cli", "tests", "bench")
        for file in (ROOT / folder).rglob("*.py")
        if "site" in imported_by(file)
    ]

    assert not wrong, "write `from website…`: Python owns the name site"
