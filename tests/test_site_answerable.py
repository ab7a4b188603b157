"""The floor on the sample articles: questions they answer find the right one, a hundred others find nothing."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.errors import BadInput
from tests.site_world import a_site
from website.content import import_folder, search_lines
from website.public_kb.knowledge import Knowledge
from website.store.publications import PublicReader

HERE = Path(__file__).parent
LABELLED = json.loads((HERE / "answerable.json").read_text("utf-8"))


@asynccontextmanager
async def the_sample(tmp_path: Path) -> AsyncIterator[Knowledge]:
    async with a_site(tmp_path) as site:
        data_dir = site.parts.settings.data_dir
        await import_folder(site.parts.store, data_dir, HERE.parent / "data" / "sample", site.parts.clock)
        knowledge = Knowledge(PublicReader(site.parts.store), tmp_path / "index")
        await knowledge.refresh()
        yield knowledge
        knowledge.close()


def hits(knowledge: Knowledge, questions: list[str], **more: object) -> list[list[dict[str, object]]]:
    lines = [json.dumps({"id": at, "query": question, **more}) for at, question in enumerate(questions)]
    return [json.loads(line)["hits"] for line in search_lines(knowledge, lines)]


async def test_a_question_the_articles_answer_finds_the_right_one_among_three(tmp_path: Path) -> None:
    async with the_sample(tmp_path) as knowledge:
        found = hits(knowledge, [question for question, _ in LABELLED["answerable"]])

        missed = [
            (question, slug)
            for (question, slug), one in zip(LABELLED["answerable"], found, strict=True)
            if slug not in {hit["slug"] for hit in one}
        ]
        assert len(missed) <= len(found) // 10, missed
        assert all(len(one) <= 3 for one in found)


async def test_questions_about_what_was_never_written_find_nothing(tmp_path: Path) -> None:
    questions = LABELLED["unanswerable"]
    assert len(questions) >= 100
    async with the_sample(tmp_path) as knowledge:
        found = hits(knowledge, questions)

        wrong = {question: one[0] for question, one in zip(questions, found, strict=True) if one}
        assert len(wrong) <= len(questions) // 20, wrong


async def test_a_short_follow_up_borrows_from_the_question_before_it(tmp_path: Path) -> None:
    async with the_sample(tmp_path) as knowledge:
        [alone] = hits(knowledge, ["那红茶呢？"], limit=1)
        [after] = hits(knowledge, ["需要多久？"], previous=["绿茶用多少度的水？"])

        assert alone and alone[0]["slug"] == "boiling-water"
        assert after and after[0]["slug"] == "boiling-water"


async def test_a_limit_above_three_ranks_without_the_floor(tmp_path: Path) -> None:
    async with the_sample(tmp_path) as knowledge:
        [ranked] = hits(knowledge, ["the water in the kitchen"], limit=10)

        scores = [hit["score"] for hit in ranked]
        assert len(ranked) > 3 and scores == sorted(scores, key=lambda score: -float(str(score)))


@pytest.mark.parametrize("line", ["{", "[]", '{"id": 1}', '{"query": "tea"}', '{"id": 1, "query": "tea", "limit": 0}'])
async def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str) -> None:
    async with the_sample(tmp_path) as knowledge:
        with pytest.raises(BadInput, match="line 2"):
            list(search_lines(knowledge, ['{"id": 1, "query": "tea"}', line]))
