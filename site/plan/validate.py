"""Whether a plan may be shown, and again whether it may be run. Pure; `static/plan.js` has the same rules in the same order.

A plan is `{"reply": text, "steps": [{"tool", "action", …arguments}]}`. Nothing is repaired: a plan that is not exactly
right is refused whole.
"""

import json
from collections.abc import Collection, Mapping

from .catalog import CATALOG, LONGEST_TEXT, MOST_STEPS, Action, Argument, Who

LONGEST_REPLY = 2_000


class PlanRefused(ValueError):
    """`str()` says which rule, for logs and tests; readers are told only that the plan was not usable."""


def check_plan(plan: object, who: Who, articles: Collection[str]) -> list[Mapping[str, str]]:
    """The steps of a plan that `who` may run; `articles` are the slugs of this answer's sources.

    Raises PlanRefused.
    """
    if not isinstance(plan, dict) or set(plan) != {"reply", "steps"}:
        raise PlanRefused("a plan has a reply and steps, and nothing else")
    reply, steps = plan["reply"], plan["steps"]
    if not isinstance(reply, str) or len(reply) > LONGEST_REPLY:
        raise PlanRefused("the reply is a text of bounded length")
    if not isinstance(steps, list) or not 1 <= len(steps) <= MOST_STEPS:
        raise PlanRefused(f"a plan has 1 to {MOST_STEPS} steps")
    checked = [_check_step(step, who, articles) for step in steps]
    if len({json.dumps(step, sort_keys=True) for step in checked}) != len(checked):
        raise PlanRefused("a step is there twice")
    if any(CATALOG[step["tool"], step["action"]].leaves for step in checked[:-1]):
        raise PlanRefused("a step that leaves the page is not the last one")
    return checked


def _check_step(step: object, who: Who, articles: Collection[str]) -> Mapping[str, str]:
    if not isinstance(step, dict) or not all(isinstance(text, str) for item in step.items() for text in item):
        raise PlanRefused("a step is an object of texts")
    action = CATALOG.get((step.get("tool", ""), step.get("action", "")))
    if action is None:
        raise PlanRefused("there is no such tool or action")
    if action.who == "owner" and who != "owner":
        raise PlanRefused("a reader's plan has an owner's action")
    _check_arguments(step, action, articles)
    return step


def _check_arguments(step: Mapping[str, str], action: Action, articles: Collection[str]) -> None:
    if set(step) != {"tool", "action", *action.arguments}:
        raise PlanRefused("a step has exactly the arguments of its action")
    for name, argument in action.arguments.items():
        if not _fits(step[name], argument, articles):
            raise PlanRefused(f"{name} is not a value this action takes")


def _fits(value: str, argument: Argument, articles: Collection[str]) -> bool:
    if argument.kind == "choice":
        return value in argument.values
    if argument.kind == "article":
        return value in articles
    return 0 < len(value) <= LONGEST_TEXT and value == value.strip() and value.isprintable()
