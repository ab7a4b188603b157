"""What commands print: a table for a person, or the same facts as JSON."""

import json
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

console = Console()


def show_json(facts: object) -> None:
    print(json.dumps(facts, ensure_ascii=False, indent=2))


def show_table(columns: Sequence[str], rows: Sequence[Sequence[object]], empty: str) -> None:
    if not rows:
        console.print(empty, highlight=False, markup=False)
        return
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    console.print(table)
