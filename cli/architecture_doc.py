"""Prints the state tables and the outcome table into docs/ARCHITECTURE.md: `python -m cli.architecture_doc`."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from bridge.turn import NEXT_PART, NEXT_TURN
from core.model.outcomes import TABLE

State = TypeVar("State", bound=StrEnum)
Event = TypeVar("Event", bound=StrEnum)

PAGE = Path("docs/ARCHITECTURE.md")


def printed() -> dict[str, str]:
    """Each printed piece by its name."""
    return {"turn": diagram(NEXT_TURN), "part": diagram(NEXT_PART), "outcomes": outcomes()}


def diagram(table: Mapping[tuple[State, Event], State]) -> str:
    rows = [f"    {before} --> {after}: {event.replace('_', ' ')}" for (before, event), after in table.items()]
    return "```mermaid\nstateDiagram-v2\n" + "\n".join(rows) + "\n```"


def outcomes() -> str:
    head = "| row | what happened | the reservation | another attempt |\n| --- | --- | --- | --- |\n"
    rows = [
        f"| {one.row} | {one.says.partition(';')[0]} | {one.verdict.value} | {one.retry.value.replace('_', ' ')} |"
        for one in sorted(TABLE.values(), key=lambda one: one.row)
    ]
    return head + "\n".join(rows)


def renewed(page: str) -> str:
    """The page with each printed piece between its marks made anew."""
    for name, text in printed().items():
        before, opening, rest = page.partition(f"<!-- {name} -->\n")
        _, closing, after = rest.partition(f"\n<!-- end {name} -->")
        assert opening and closing, f"docs/ARCHITECTURE.md has lost its marks for {name}"
        page = before + opening + text + closing + after
    return page


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text("utf-8")), "utf-8")
