"""Article search on public question sets: `python -m bench.articles FOLDER`, with xquad.{zh,en}.json and cmrc2018_trial.json.

Every paragraph is an article of its own. First all of them are indexed: how often is the right one first, among three?
Then half of the topics are left out, and their questions are the ones nobody can answer: what does the floor keep?
"""

import asyncio
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from core.clock import Instant
from core.document import dump_document, from_markdown, to_plain
from core.ids import Slug
from core.settings import Settings
from core.store import Store, open_store
from website.content import search_lines
from website.content.publish import Rendered, publish_article
from website.public_kb.knowledge import Knowledge
from website.store.articles import Language, Writing, add_article
from website.store.publications import PublicReader
from website.store.schema import SCHEMA


@dataclass(frozen=True)
class Paragraph:
    language: Language
    topic: str
    text: str
    questions: tuple[str, ...]


def read_sets(folder: Path) -> list[Paragraph]:
    found = []
    for language in ("zh", "en"):
        for topic in json.loads((folder / f"xquad.{language}.json").read_text("utf-8"))["data"]:
            for one in topic["paragraphs"]:
                questions = tuple(asked["question"] for asked in one["qas"])
                found.append(Paragraph(language, topic["title"], one["context"], questions))
    for topic in json.loads((folder / "cmrc2018_trial.json").read_text("utf-8"))["data"]:
        for one in topic["paragraphs"]:
            questions = tuple(asked["question"] for asked in one["qas"])
            found.append(Paragraph("zh", topic["title"], one["context"], questions))
    return found


async def publish(store: Store, paragraphs: Sequence[Paragraph]) -> None:
    for number, one in enumerate(paragraphs):
        document = from_markdown(one.text)
        title = f"{number}" if one.topic.isascii() else one.topic
        writing = Writing(title, "", (), "2026-01-01", dump_document(document))
        await store.write(_publish, Slug(f"a{number}"), one.language, writing, to_plain(document))


def _publish(conn: Connection, slug: Slug, language: Language, writing: Writing, plain: str) -> None:
    now = Instant(0)
    draft = add_article(conn, slug, "post", language, writing, now)
    publish_article(conn, draft.article.id, 1, Rendered("", plain), now)


async def answers(paragraphs: Sequence[Paragraph], questions: Sequence[str], limit: int | None) -> list[list[str]]:
    """The slugs found for each question, best first."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder))
        async with open_store(settings.site_db_url, SCHEMA) as store:
            await publish(store, paragraphs)
            knowledge = Knowledge(PublicReader(store), Path(folder) / "index")
            await knowledge.refresh()
            lines = [json.dumps({"id": at, "query": one, "limit": limit}) for at, one in enumerate(questions)]
            start = time.process_time()
            found = [[hit["slug"] for hit in json.loads(line)["hits"]] for line in search_lines(knowledge, lines)]
            print(f"  {1000 * (time.process_time() - start) / len(questions):.2f} ms of CPU a question")
            knowledge.close()
    return found


async def recall(paragraphs: Sequence[Paragraph]) -> None:
    asked = [(question, f"a{at}", one.language) for at, one in enumerate(paragraphs) for question in one.questions]
    found = await answers(paragraphs, [question for question, _, _ in asked], 10)
    for language in ("zh", "en"):
        mine = [
            slugs.index(slug) if slug in slugs else 99
            for (_, slug, its), slugs in zip(asked, found, strict=True)
            if its == language
        ]
        first, three = (100 * sum(rank < top for rank in mine) / len(mine) for top in (1, 3))
        print(f"  {language}: {len(mine)} questions, right one first {first:.1f} %, among three {three:.1f} %")


async def floor(paragraphs: Sequence[Paragraph]) -> None:
    topics = sorted({one.topic for one in paragraphs})
    random.Random(1).shuffle(topics)
    left_out = set(topics[: len(topics) // 2])
    kept = [one for one in paragraphs if one.topic not in left_out]
    asked = [(question, one.language, one.topic in left_out) for one in paragraphs for question in one.questions]
    found = await answers(kept, [question for question, _, _ in asked], None)
    for language in ("zh", "en"):
        for out, word in (
            (False, "can be answered: nothing found for"),
            (True, "cannot be answered: something found for"),
        ):
            mine = [
                bool(slugs)
                for (_, its, gone), slugs in zip(asked, found, strict=True)
                if its == language and gone is out
            ]
            share = 100 * sum(one is out for one in mine) / len(mine)
            print(f"  {language}: {len(mine)} questions that {word} {share:.1f} %")


async def main(folder: Path) -> None:
    paragraphs = read_sets(folder)
    print(f"{len(paragraphs)} articles, all indexed:")
    await recall(paragraphs)
    print("half of the topics left out:")
    await floor(paragraphs)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(
            "python -m bench.articles FOLDER: the folder with xquad.zh.json, xquad.en.json and cmrc2018_trial.json"
        )
    asyncio.run(main(Path(sys.argv[1])))
