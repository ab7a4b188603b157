"""The pure parts of the digest worker: what is asked, what it costs, what the draft looks like."""

import json
from datetime import datetime
from decimal import Decimal
from typing import Literal
from zoneinfo import ZoneInfo

import pytest

from core.clock import instant_of
from core.control.messages import Claim, ClaimSource, Voice
from core.ids import SourceId
from core.model.config import ModelConfig
from core.model.contract import Finish, ModelResult, Usage
from core.model.outcomes import Signal, outcome_of
from digest.ask import SCHEMA, Refused, Terms, most_cost, request_for
from digest.check import DigestOutput
from digest.cost import Call, total_cost
from digest.draft import excerpt_draft, write_draft
from digest.report import exit_code, sentences
from digest.rounds import Round

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = instant_of(datetime(2026, 3, 5, 21, 30, tzinfo=SHANGHAI))
CONFIG = ModelConfig("openai", "http://127.0.0.1:1/v1", name="m", price_input_per_mtok=Decimal(1))
TERMS = Terms("Ada", SHANGHAI, CONFIG)


def said(text: str, speaker: Literal["person", "persona"] = "person", hours_ago: int = 1) -> ClaimSource:
    at = NOW - hours_ago * 3_600_000
    return ClaimSource(id=f"record-{text[:9]}", turn="t", speaker=speaker, text=text, said_at_ms=at, heard=True)


def a_claim(*sources: ClaimSource, language: Literal["zh", "en"] = "en", voice: str = "", most: int = 2048) -> Claim:
    return Claim(
        id="c1",
        day="2026-03-05",
        language=language,
        voice=Voice(version=1, text=voice),
        sources=sources,
        output_tokens=most,
    )


def test_the_request_holds_voice_task_and_sources_and_no_id_of_the_record() -> None:
    claim = a_claim(said("I ran."), voice="Speak softly.", most=500)

    request = request_for(TERMS.within(claim), claim, NOW)

    body = json.loads(request.body)
    assert "Speak softly." in body["messages"][0]["content"]
    assert body["messages"][0]["content"].endswith(
        '[{"id": "s1", "who": "person", "at": "2026-03-05 20:30", "text": "I ran."}]'
    )
    assert b"record-" not in request.body
    assert body["max_tokens"] == 500
    assert body["response_format"]["json_schema"]["strict"] is True


def test_the_asked_shape_is_the_checked_shape() -> None:
    asked, checked = SCHEMA.schema, DigestOutput.model_json_schema()

    assert isinstance(asked["properties"], dict)
    assert list(asked["properties"]) == list(checked["properties"]) == checked["required"]
    for name, definition in (("facts", "Fact"), ("open_threads", "OpenThread")):
        part = asked["properties"][name]["items"]
        assert sorted(part["required"]) == sorted(checked["$defs"][definition]["properties"])


def test_a_repair_leaves_out_the_refused_text_where_it_does_not_fit() -> None:
    claim, refused = a_claim(said("I ran.")), Refused("long " * 20_000, ("too long",))

    request = request_for(TERMS, claim, NOW, refused)

    assert len(request.body) <= TERMS.limit_bytes
    assert [message["role"] for message in json.loads(request.body)["messages"]] == ["system", "user", "user"]


def test_the_reservation_covers_two_requests_of_the_largest_size() -> None:
    micros, tokens = most_cost(TERMS)

    assert micros == 2 * TERMS.limit_bytes
    assert tokens == 2 * CONFIG.context_tokens


def call(signal: Signal, usage: Usage | None = None) -> Call:
    result = ModelResult(outcome_of(signal), "", "{}", Finish.STOP, usage)
    return Call(request_for(TERMS, a_claim(said("I ran.")), NOW), result)


@pytest.mark.parametrize(
    ("calls", "verdict", "micros"),
    [
        ((), "release", 0),
        ((call(Signal.RATE_LIMITED),), "release", 0),
        ((call(Signal.ANSWERED, Usage(7, 1)),), "settle", 7),
        ((call(Signal.ANSWERED, Usage(7, 1)), call(Signal.ANSWERED, Usage(9, 1))), "settle", 16),
        ((call(Signal.ANSWERED, Usage(7, 1)), call(Signal.RATE_LIMITED)), "settle", 7),
        ((call(Signal.ANSWERED, Usage(7, 1)), call(Signal.CUT_OFF)), "unknown", 99),
    ],
)
def test_two_calls_are_one_line_for_the_ledger(calls: tuple[Call, ...], verdict: str, micros: int) -> None:
    cost = total_cost(CONFIG, calls, 99)

    assert (cost.verdict, cost.micros, cost.incomplete) == (verdict, micros, False)


def test_an_answer_without_usage_is_charged_in_full_and_marked() -> None:
    bare = call(Signal.USAGE_MISSING)

    cost = total_cost(CONFIG, (bare,), 99_999)

    assert cost.incomplete and cost.micros == len(bare.request.body)


@pytest.mark.parametrize(
    ("language", "headings"),
    [("en", ["Facts", "Ada's reflections", "Left open"]), ("zh", ["事实", "Ada的感想", "还没有下文的事"])],
)
def test_facts_reflections_and_open_threads_stand_apart(language: Literal["zh", "en"], headings: list[str]) -> None:
    output = DigestOutput.model_validate(
        {
            "title": "A\nrun",
            "facts": [
                {"statement": "# Ran\n12 km", "source_ids": ["s1", "s1"], "who": "owner"},
                {"statement": "Good pace", "source_ids": ["s1"], "who": "persona"},
            ],
            "reflections": ["*Slow*"],
            "open_threads": [{"statement": "Again?", "source_ids": ["s1"]}],
        }
    )

    written = write_draft(output, a_claim(said("x"), language=language), "Ada", {SourceId("s1"): "r1"})

    lines = written.body.splitlines()
    assert [line.removeprefix("## ") for line in lines if line.startswith("#")] == headings
    assert written.title == "A run"
    assert any("Ada" in line and "Good pace" in line for line in lines if line.startswith("- "))
    assert [(fact.statement, fact.sources) for fact in written.facts] == [
        ("# Ran 12 km", ("r1",)),
        ("Good pace", ("r1",)),
    ]


def test_excerpts_of_an_earlier_day_carry_their_date() -> None:
    written = excerpt_draft(a_claim(said("old", hours_ago=30), said("new")), "Ada", SHANGHAI)

    assert written is not None
    assert "- 2026-03-04 15:30 old" in written.body
    assert "- 20:30 new" in written.body


def test_a_batch_of_nothing_but_hidden_characters_makes_no_excerpts() -> None:
    assert excerpt_draft(a_claim(said("\u202e\0 \r\n")), "Ada", SHANGHAI) is None


@pytest.mark.parametrize("ended", ["budget", "released", "failed", "unknown", "stopped", "slot_taken"])
def test_every_end_without_a_draft_is_a_sentence_and_a_failure(ended: str) -> None:
    done = Round((), ended, "the reason")

    assert exit_code(done) == 1
    assert sentences(done) != ["Nothing waits for a digest."]
