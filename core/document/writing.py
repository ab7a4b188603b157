"""A document to Markdown, so that reading it back gives an equal document.

Every block has a natural spelling. The whole is read back once; if it says something else, the blocks that do not read
back alone are written as a `:::block` of JSON, and as a last resort all of them are. So the law does not rest on the
escaping rules being complete; they only decide how pleasant the text is to edit.
"""

import json
import re
from collections.abc import Sequence

from core.errors import DocumentError

from .inline_writing import Emphasis, write_image, write_line, write_text
from .model import (
    Block,
    Blocks,
    Callout,
    Code,
    Details,
    Divider,
    Equation,
    FlowDocument,
    Footnote,
    Heading,
    Item,
    Link,
    List,
    Media,
    Paragraph,
    Quote,
    RichText,
    Table,
)
from .naming import without_ids
from .reading import read_blocks

_RULES = {"left": ":---", "center": ":---:", "right": "---:", None: "---"}


def to_markdown(document: FlowDocument) -> str:
    """Markdown that reads back as an equal document (ids too, given the document as `previous`).

    It may be longer than what `from_markdown` takes when the document was near that limit. Costs one reading, at worst
    a few.
    """
    blocks = without_ids(document.blocks)
    natural = _page(_write_all(blocks, "*"))
    if _says(natural, blocks):
        return natural
    careful = _page([_careful(block, text) for block, text in zip(blocks, _write_all(blocks, "*"), strict=True)])
    return careful if _says(careful, blocks) else _page([_whole(block) for block in blocks])


def _page(parts: Sequence[str]) -> str:
    return "\n\n".join(parts) + "\n" if parts else ""


def _says(text: str, blocks: Blocks) -> bool:
    try:
        return read_blocks(text) == blocks
    except DocumentError:
        return False


def _careful(block: Block, natural: str) -> str:
    if _says(natural, (block,)):
        return natural
    other = _write(block, "_", second=False)
    return other if _says(other, (block,)) else _whole(block)


def _whole(block: Block) -> str:
    content = json.dumps(_nameless(block.model_dump(mode="json")), ensure_ascii=False, indent=1)
    return f":::block\n{content}\n:::"


def _nameless(value: object) -> object:
    if isinstance(value, dict):
        return {k: _nameless(v) for k, v in value.items() if not (k == "id" and v == "")}
    return [_nameless(v) for v in value] if isinstance(value, list) else value


def _write_all(blocks: Blocks, emphasis: Emphasis) -> list[str]:
    """Neighbouring lists of one kind would become one list: every second one has another marker."""
    parts = []
    second = False
    for index, block in enumerate(blocks):
        before = blocks[index - 1] if index else None
        touching = isinstance(block, List) and isinstance(before, List) and block.ordered == before.ordered
        second = touching and not second
        parts.append(_write(block, emphasis, second=second))
    return parts


def _inside(blocks: Blocks, emphasis: Emphasis) -> str:
    return "\n\n".join(_write_all(blocks, emphasis))


def _write(block: Block, emphasis: Emphasis, *, second: bool) -> str:
    match block:
        case Paragraph():
            return write_text(block.text, emphasis)
        case Heading():
            return _heading(block, emphasis)
        case Quote():
            return _indented(_inside(block.blocks, emphasis), "> ", "> ")
        case List():
            return _list(block, emphasis, second)
        case Code():
            return _code(block)
        case Equation():
            return f"$$\n{block.tex}\n$$"
        case Media():
            return _media(block)
        case Table():
            return _table(block, emphasis)
        case Callout():
            return _directive(f"{block.kind} {block.title}".strip(), _inside(block.blocks, emphasis))
        case Details():
            return _directive(f"details {block.summary}".strip(), _inside(block.blocks, emphasis))
        case Divider():
            return "***"
        case Footnote():
            return _indented(_inside(block.blocks, emphasis), f"[^{block.label}]: ", "    ")
    return _whole(block)


def _heading(block: Heading, emphasis: Emphasis) -> str:
    text = write_line(block.text, emphasis)
    if text.endswith("#"):
        text = f"{text[:-1]}\\#"
    return f"{'#' * block.level} {text}".rstrip()


def _indented(text: str, first: str, rest: str) -> str:
    lines = [(first if i == 0 else rest) + line for i, line in enumerate(text.split("\n"))]
    return "\n".join(line.rstrip(" ") if not line.strip("> ") else line for line in lines)


def _list(block: List, emphasis: Emphasis, second: bool) -> str:
    items = [_item(item, _marker(block, index, second), emphasis) for index, item in enumerate(block.items)]
    return ("\n" if all(map(_is_short, block.items)) else "\n\n").join(items)


def _marker(block: List, index: int, second: bool) -> str:
    if block.ordered:
        return f"{min(block.start + index, 999_999_999)}{')' if second else '.'} "
    return "+ " if second else "- "


def _is_short(item: Item) -> bool:
    """One line, perhaps with lists of such lines under it: needs no blank lines."""
    if not item.blocks:
        return False
    head, *rest = item.blocks
    return isinstance(head, Paragraph) and len(rest) <= 1 and all(map(_is_short_list, rest))


def _is_short_list(block: Block) -> bool:
    """Only a list that begins with 1 may follow a paragraph without a blank line."""
    return isinstance(block, List) and block.start == 1 and bool(block.items) and all(map(_is_short, block.items))


def _item(item: Item, marker: str, emphasis: Emphasis) -> str:
    parts = _write_all(item.blocks, emphasis)
    text = ("\n" if _is_short(item) else "\n\n").join(parts)
    box = {None: "", False: "[ ] ", True: "[x] "}[item.checked]
    return _indented(box + text, marker, " " * len(marker))


def _code(block: Code) -> str:
    longest = max((len(ticks) for ticks in re.findall("`{3,}", block.text)), default=2)
    fence = "`" * (longest + 1)
    lines = [f"{fence}{block.language} {block.info}".rstrip(), *([block.text] if block.text else []), fence]
    return "\n".join(lines)


def _media(block: Media) -> str:
    size = f"{{width={block.width} height={block.height}}}" if block.width else ""
    return write_image(block.alt, Link(href=block.src, title=block.title)) + size


def _table(block: Table, emphasis: Emphasis) -> str:
    rules = "| " + " | ".join(_RULES[align] for align in block.align) + " |"
    header, *rows = (_row(row, emphasis) for row in (block.header, *block.rows))
    return "\n".join([header, rules, *rows])


def _row(cells: tuple[RichText, ...], emphasis: Emphasis) -> str:
    return "| " + " | ".join(write_line(cell, emphasis).replace("|", "\\|") for cell in cells) + " |"


def _directive(head: str, inner: str) -> str:
    longest = max((len(colons) for colons in re.findall(":{3,}", inner)), default=2)
    colons = ":" * (longest + 1)
    return "\n".join([f"{colons}{head}", *([inner] if inner else []), colons])
