"""`penfriend content`: articles as a folder of Markdown files, in and out."""

import asyncio
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from core.clock import system_clock
from core.errors import DocumentError
from core.settings import Settings
from core.settings_files import load_settings
from website.app import open_parts
from website.content import Imported, export_folder, import_folder

from .output import AsJson, console, show_json

app = typer.Typer(help="Articles as Markdown files.", no_args_is_help=True)

SAMPLE_MARK = "sample-imported"


@app.command("import", help="Import a folder of Markdown files. Stop the site first.")
def import_(
    folder: Annotated[Path, typer.Argument(help="The folder.")],
    as_json: AsJson = False,
) -> None:
    imported = _import(load_settings(), folder)
    if as_json:
        show_json(vars(imported))
    else:
        _tell(imported)
    if imported.failed:
        raise DocumentError(f"{len(imported.failed)} files were not imported; the others were")


@app.command(help="Write every article as a Markdown file with front matter into a folder.")
def export(folder: Annotated[Path, typer.Argument(help="The folder; made when it is missing.")]) -> None:
    settings = load_settings()
    parts = open_parts(settings)
    with parts.store:
        number = asyncio.run(export_folder(parts.store, settings.data_dir, folder))
    console.print(f"{number} articles written to {folder}")


def import_sample_once(settings: Settings) -> None:
    """The sample articles, on the first start only: who deletes one does not get it back."""
    mark = settings.data_dir / SAMPLE_MARK
    if mark.exists():
        return
    imported = _import(settings, sample_folder())
    console.print(f"{len(imported.added)} sample articles imported.")
    for name, sentence in imported.failed.items():
        console.print(f"not imported: {name}: {sentence}", highlight=False, markup=False)
    mark.touch()


def sample_folder() -> Path:
    return Path(str(files("cli"))) / "sample"


def _import(settings: Settings, folder: Path) -> Imported:
    parts = open_parts(settings)
    with parts.store:
        return asyncio.run(import_folder(parts.store, settings.data_dir, folder, system_clock))


def _tell(imported: Imported) -> None:
    for name, sentence in imported.failed.items():
        console.print(f"not imported: {name}: {sentence}", highlight=False, markup=False)
    console.print(
        f"{len(imported.added)} added, {len(imported.changed)} changed, {len(imported.unchanged)} unchanged, "
        f"{len(imported.left)} left as the site has moved on, {len(imported.failed)} failed"
    )
