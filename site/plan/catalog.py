"""Every action there is. Server, browser and terminal use this one list; the browser gets it as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Who = Literal["reader", "owner"]

MOST_STEPS = 4
LONGEST_TEXT = 200


@dataclass(frozen=True)
class Argument:
    """`choice` takes one of `values`, `text` a line of at most LONGEST_TEXT characters, `article` a slug of a source."""

    kind: Literal["choice", "text", "article"]
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Action:
    """`leaves`: it goes to another page or opens a form, so nothing can come after it."""

    tool: str
    action: str
    who: Who
    leaves: bool
    arguments: Mapping[str, Argument] = field(default_factory=dict)


PAGES = ("home", "posts", "notes", "projects", "journal", "tags", "search", "ask", "about")
THEMES = ("light", "dark", "auto")

ACTIONS = (
    Action("page", "open", "reader", True, {"page": Argument("choice", PAGES)}),
    Action("article", "open", "reader", True, {"slug": Argument("article")}),
    Action("search", "run", "reader", True, {"words": Argument("text")}),
    Action("theme", "set", "reader", False, {"theme": Argument("choice", THEMES)}),
    Action("language", "set", "reader", True, {"language": Argument("choice", ("zh", "en"))}),
    Action("intro", "play", "reader", True),
    Action("inbox", "open", "owner", True),
    Action("draft", "begin", "owner", True, {"title": Argument("text")}),
)

CATALOG = {(one.tool, one.action): one for one in ACTIONS}


def as_json() -> dict[str, object]:
    """The catalog for the browser's own check: the same limits and the same actions."""
    return {
        "mostSteps": MOST_STEPS,
        "longestText": LONGEST_TEXT,
        "actions": [
            {
                "tool": one.tool,
                "action": one.action,
                "who": one.who,
                "leaves": one.leaves,
                "arguments": {
                    name: {"kind": argument.kind, "values": list(argument.values)}
                    for name, argument in one.arguments.items()
                },
            }
            for one in ACTIONS
        ],
    }
