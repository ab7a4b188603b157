"""Plans: what is in the catalog, what a plan may hold, and that only the plan that was shown can be confirmed."""

import json
from pathlib import Path

import pytest

from website.plan.catalog import ACTIONS, CATALOG, as_json
from website.plan.propose import propose
from website.plan.seal import Seals
from website.plan.validate import PlanRefused, check_plan

CASES = json.loads((Path(__file__).parent / "plans.json").read_text("utf-8"))
ARTICLES = frozenset(CASES["articles"])


@pytest.mark.parametrize("case", CASES["good"], ids=lambda case: case["name"])
def test_a_good_plan_may_be_shown(case: dict[str, object]) -> None:
    assert check_plan(case["plan"], "reader", ARTICLES)


@pytest.mark.parametrize("case", CASES["bad"], ids=lambda case: case["name"])
def test_a_bad_plan_is_refused_whole(case: dict[str, object]) -> None:
    with pytest.raises(PlanRefused):
        check_plan(case["plan"], "reader", ARTICLES)


def test_an_owner_may_do_what_a_reader_may_not() -> None:
    plan = {"reply": "", "steps": [{"tool": "inbox", "action": "open"}]}

    assert check_plan(plan, "owner", ())
    with pytest.raises(PlanRefused, match="owner's action"):
        check_plan(plan, "reader", ())


def test_nothing_that_publishes_deletes_or_runs_code_is_in_the_catalog() -> None:
    words = json.dumps(as_json())

    assert not any(word in words for word in ("publish", "delete", "remove", "run_code", "eval", "send"))
    assert len(CATALOG) == len(ACTIONS)


@pytest.mark.parametrize(
    ("request_text", "steps"),
    [
        ("/theme dark", [("theme", "dark")]),
        ("换成深色模式", [("theme", "dark")]),
        ("open the journal", [("page", "journal")]),
        ("打开首页", [("page", "home")]),
        ("search for green tea", [("search", "green tea")]),
        ("搜索绿茶", [("search", "绿茶")]),
        ("play the intro", [("intro", None)]),
        ("播放片头", [("intro", None)]),
        ("light mode, then go to notes", [("theme", "light"), ("page", "notes")]),
        ("浅色，然后打开札记", [("theme", "light"), ("page", "notes")]),
    ],
)
def test_a_request_that_is_nothing_but_commands_becomes_a_plan(
    request_text: str, steps: list[tuple[str, str | None]]
) -> None:
    plan = propose(request_text, "en")

    assert plan is not None
    made = check_plan(plan, "reader", ())
    assert [(step["tool"], [*step.values(), None][2]) for step in made] == steps


@pytest.mark.parametrize(
    "request_text",
    ["", "How dark is the tea?", "what is in the journal", "open the door", "go to notes then dark mode then open posts",
     "dark and light and auto and dark and light", "日记里写了什么", "publish everything", "x" * 300],
)  # fmt: skip
def test_everything_else_is_a_question(request_text: str) -> None:
    assert propose(request_text, "en") is None


def a_plan(theme: str = "dark") -> dict[str, object]:
    return {"reply": "", "steps": [{"tool": "theme", "action": "set", "theme": theme}]}


def test_a_plan_is_confirmed_once_and_only_as_it_was_shown() -> None:
    seals = Seals(lambda length: b"k" * length)
    seal = seals.seal(a_plan(), "reader", ())

    with pytest.raises(PlanRefused):
        seals.confirm(a_plan("light"), seal, "reader")
    seals.confirm(a_plan(), seal, "reader")
    with pytest.raises(PlanRefused):
        seals.confirm(a_plan(), seal, "reader")


def test_a_restart_voids_a_plan() -> None:
    seal = Seals(lambda length: b"a" * length).seal(a_plan(), "reader", ())

    with pytest.raises(PlanRefused):
        Seals(lambda length: b"b" * length).confirm(a_plan(), seal, "reader")


@pytest.mark.parametrize("seal", ["", ".", "x.y", "é.ü"])
def test_a_seal_that_was_never_made_opens_nothing(seal: str) -> None:
    with pytest.raises(PlanRefused):
        Seals(lambda length: b"k" * length).confirm(a_plan(), seal, "reader")


def test_an_owners_plan_is_checked_again_when_it_is_run() -> None:
    plan = {"reply": "", "steps": [{"tool": "inbox", "action": "open"}]}
    seals = Seals(lambda length: b"k" * length)
    seal = seals.seal(plan, "owner", ())

    with pytest.raises(PlanRefused, match="owner's action"):
        seals.confirm(plan, seal, "reader")
