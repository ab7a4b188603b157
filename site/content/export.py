"""All articles as a folder of Markdown files, with their pictures: what `import_folder` reads back equal.

Unpublished and private articles are written with `draft: true`: a file has no other word for "not public".
"""

import asyncio
import datetime as dt
import shutil
from pathlib import Path

from core.document import ArticleFile, ArticleMeta, load_document, write_article
from core.errors import BadInput
from core.store import Store

from ..store.articles import Draft, all_drafts

PICTURES = "media"


async def export_folder(store: Store, data_dir: Path, folder: Path) -> int:
    """Writes `<slug>.md` files and a `media` folder; gives the number of articles.

    Errors: BadInput when the folder holds something already, so that nothing of yours is overwritten.
    """
    drafts = await store.read(all_drafts)
    await asyncio.to_thread(_write_all, drafts, data_dir, folder)
    return len(drafts)


def _write_all(drafts: list[Draft], data_dir: Path, folder: Path) -> None:
    if folder.exists() and any(folder.iterdir()):
        raise BadInput(f"the folder {folder} is not empty: name a new one")
    folder.mkdir(parents=True, exist_ok=True)
    for draft in drafts:
        # Relative, so that the files can be read anywhere; importing finds them from the folder's root.
        text = write_article(_file(draft)).replace("](/media/", f"]({PICTURES}/")
        (folder / f"{draft.article.slug}.md").write_text(text, "utf-8")
    if (data_dir / "media").is_dir():
        shutil.copytree(data_dir / "media", folder / PICTURES)


def _file(draft: Draft) -> ArticleFile:
    writing = draft.writing
    meta = ArticleMeta(
        slug=draft.article.slug,
        title=writing.title,
        summary=writing.summary,
        tags=writing.tags,
        date=dt.date.fromisoformat(writing.dated),
        kind=draft.article.kind,
        language=draft.article.language,
        draft=draft.article.visibility != "published",
    )
    return ArticleFile(meta, load_document(writing.document))
