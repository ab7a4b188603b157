"""Markdown to a document: tokens become blocks, inline tokens become runs.

Decisions a reader of the code should know:
- a line break that only wraps the source is a space, or nothing between two Chinese or Japanese characters;
- a paragraph that is one image is a media block; `![alt](src "title"){width=800 height=600}` gives it its size;
- an unknown `:::name` is refused, never guessed: it may be a block of a newer version. `\\:::name` is text;
- `:::block` holds one whole block as JSON, for what Markdown cannot say (columns, bookmark, file, embed, odd marks);
- headings of level 5 and 6 become level 4; a tight and a loose list are the same list.
"""

import re
from collections.abc import Sequence
from typing import Final, get_args

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from markdown_it.utils import EnvType
from pydantic import TypeAdapter, ValidationError

from core.errors import DocumentError

from .model import (
    MAX_DEPTH,
    Align,
    Block,
    Blocks,
    Callout,
    CalloutKind,
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
    Row,
    Run,
    Table,
    explain,
)
from .naming import new_document, without_ids
from .syntax import MAX_CHARACTERS, is_cjk, parser

CALLOUTS: Final = {**{kind: kind for kind in get_args(CalloutKind)}, "info": "note", "danger": "caution"}
_BLOCK: TypeAdapter[Block] = TypeAdapter(Block)
_SIZE = re.compile(r"\{width=(\d{1,5}) height=(\d{1,5})\}")
_TASK = re.compile(r"\[([ xX])\] (?=\S)")


def from_markdown(text: str, previous: FlowDocument | None = None) -> FlowDocument:
    """The document a Markdown text says; blocks that are also in `previous` keep their ids.

    Raises DocumentError for more than MAX_CHARACTERS, lone surrogates, unknown directives, blocks nested too deep.
    It takes milliseconds a kilobyte: call it off the event loop.
    """
    if len(text) > MAX_CHARACTERS:
        raise DocumentError(f"text of {len(text)} characters: at most {MAX_CHARACTERS} make one document; split it")
    return new_document(read_blocks(text), previous)


def read_blocks(text: str) -> Blocks:
    """Blocks without ids, of a text of any length."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise DocumentError(f"character {error.start} is half a surrogate pair: save the text as UTF-8") from error
    try:
        return _parsed(text, {}, 1, 0)
    except ValidationError as error:
        raise DocumentError(f"this Markdown makes no document: {explain(error)}") from error


def _parsed(text: str, env: EnvType, depth: int, line: int) -> Blocks:
    tree = SyntaxTreeNode(parser().parse(text, env))
    return _Reader(env, depth, line).blocks(tree.children)


class _Reader:
    """Reads the nodes of one parsed text. `env` holds its link definitions, `line` where it begins in the file."""

    def __init__(self, env: EnvType, depth: int, line: int) -> None:
        self.env, self.depth, self.first_line = env, depth, line

    def blocks(self, nodes: Sequence[SyntaxTreeNode]) -> Blocks:
        return tuple(block for node in nodes if (block := self.block(node)) is not None)

    def block(self, node: SyntaxTreeNode) -> Block | None:
        match node.type:
            case "paragraph":
                return _paragraph(_inline(node))
            case "heading":
                return Heading(level=min(int(node.tag[1]), 4), text=rich_text(_inline(node)))
            case "blockquote":
                return Quote(blocks=self.blocks(node.children))
            case "bullet_list" | "ordered_list":
                return self.list(node)
            case "fence" | "code_block":
                return _code(node)
            case "math_block":
                return Equation(tex=node.content.strip())
            case "table":
                return _table(node)
            case "hr":
                return Divider()
            case "footnote_reference":
                return self.footnote(node)
            case "directive":
                return self.directive(node)
        raise DocumentError(f"line {self.line(node)}: a {node.type} is nothing a document can hold")

    def line(self, node: SyntaxTreeNode) -> int:
        return self.first_line + (node.map[0] if node.map else 0) + 1

    def list(self, node: SyntaxTreeNode) -> List:
        items = tuple(self.item(child) for child in node.children)
        if node.type == "bullet_list":
            return List(items=items)
        return List(ordered=True, start=int(node.attrs.get("start", 1)), items=items)

    def item(self, node: SyntaxTreeNode) -> Item:
        blocks = self.blocks(node.children)
        first = node.children[0] if node.children else None
        task = _TASK.match(_inline(first).content) if first and first.type == "paragraph" else None
        if not task or not isinstance(blocks[0], Paragraph) or not blocks[0].text[0].text.startswith(task.group()):
            return Item(blocks=blocks)
        head = blocks[0].text[0]
        shorter = head.model_copy(update={"text": head.text[len(task.group()) :]})
        text = Paragraph(text=(shorter, *blocks[0].text[1:]))
        return Item(checked=task.group(1) != " ", blocks=(text, *blocks[1:]))

    def footnote(self, node: SyntaxTreeNode) -> Footnote:
        label = node.meta["label"]
        try:
            return Footnote(label=label, blocks=self.blocks(node.children))
        except ValidationError as error:
            raise DocumentError(
                f"line {self.line(node)}: {label[:80]!r} is no note label: use up to 64 letters and digits"
            ) from error

    def directive(self, node: SyntaxTreeNode) -> Block:
        name, rest = node.info, node.meta["rest"]
        if name == "block":
            return self.whole(node)
        if name not in CALLOUTS and name != "details":
            known = ", ".join([*CALLOUTS, "details", "block"])
            raise DocumentError(
                f"line {self.line(node)}: unknown block «:::{name[:80]}»; known are {known}. "
                f"For text, write a backslash before it; a newer version may know it"
            )
        if self.depth >= MAX_DEPTH:
            raise DocumentError(f"line {self.line(node)}: blocks are nested more than {MAX_DEPTH} deep: flatten them")
        inner = _parsed(node.content, self.env, self.depth + 1, self.line(node))
        if name == "details":
            return Details(summary=rest, blocks=inner)
        return Callout.model_validate({"kind": CALLOUTS[name], "title": rest, "blocks": inner})

    def whole(self, node: SyntaxTreeNode) -> Block:
        try:
            return without_ids((_BLOCK.validate_json(node.content),))[0]
        except ValidationError as error:
            raise DocumentError(
                f"line {self.line(node)}: «:::block» does not hold a block: {explain(error)}; "
                f"restore its JSON, or leave the directive out"
            ) from error


def _inline(node: SyntaxTreeNode) -> Token:
    token = node.children[0].token
    assert token is not None
    return token


def _paragraph(inline: Token) -> Block | None:
    runs = rich_text(inline)
    if not runs:
        return None
    return _media(runs) or Paragraph(text=runs)


def _media(runs: tuple[Run, ...]) -> Media | None:
    first, rest = runs[0], runs[1:]
    if first.image is None or first.link or first.bold or first.italic or first.strike or len(rest) > 1:
        return None
    size = _SIZE.fullmatch(rest[0].text) if rest and rest[0] == Run(text=rest[0].text) else None
    if rest and not size:
        return None
    width, height = (int(size[1]), int(size[2])) if size else (None, None)
    return Media(src=first.image.href, alt=first.text, title=first.image.title, width=width, height=height)


def _code(node: SyntaxTreeNode) -> Code:
    language, _, info = re.sub(r"\s+", " ", node.info.strip()).partition(" ")
    return Code(language=language, info=info, text=node.content.removesuffix("\n"))


def _table(node: SyntaxTreeNode) -> Table:
    rows = [row for part in node.children for row in part.children]
    align = tuple(_align(cell) for cell in rows[0].children)
    header, *body = (_row(row) for row in rows)
    return Table(align=align, header=header, rows=tuple(body))


def _row(row: SyntaxTreeNode) -> Row:
    return tuple(rich_text(_inline(cell)) for cell in row.children)


def _align(cell: SyntaxTreeNode) -> Align | None:
    for align in get_args(Align):
        if cell.attrs.get("style") == f"text-align:{align}":
            return align  # type: ignore[no-any-return]
    return None


def rich_text(inline: Token) -> tuple[Run, ...]:
    """The runs of an inline token. Marks are counted, not nested, so that no text can exhaust the stack."""
    runs: list[Run] = []
    wraps: set[int] = set()
    open_marks = {"strong": 0, "em": 0, "s": 0}
    link: Link | None = None
    for token in inline.children or ():
        mark = token.type.rpartition("_")[0]
        if mark in open_marks:
            open_marks[mark] += token.nesting
        elif token.type == "link_open":
            link = _link(token, "href")
        elif token.type == "link_close":
            link = None
        elif run := _run(token):
            if token.type == "softbreak":
                wraps.add(len(runs))
            strong, em, s = (open_marks[name] > 0 for name in ("strong", "em", "s"))
            runs.append(run.model_copy(update={"bold": strong, "italic": em, "strike": s, "link": link}))
    return Paragraph(text=tuple(_unwrapped(runs, wraps))).text


def _run(token: Token) -> Run | None:
    match token.type:
        case "text" | "text_special":
            return Run(text=_tidy(token.content))
        case "softbreak":
            return Run(text=" ")
        case "hardbreak":
            return Run(text="\n")
        case "code_inline":
            return Run(kind="code", text=token.content)
        case "math_inline":
            return Run(kind="math", text=token.content.replace("\n", " "))
        case "note":
            return Run(kind="note", text=token.content)
        case "image":
            return Run(kind="image", text=_one_line(_alt(token)), image=_link(token, "src"))
    raise DocumentError(f"a {token.type} is nothing a text can hold")


def _link(token: Token, attribute: str) -> Link:
    return Link(href=_one_line(str(token.attrs[attribute])), title=_one_line(str(token.attrs.get("title", ""))))


def _alt(image: Token) -> str:
    """The words of an image's description, whatever marks they carry."""
    words = (t.content if t.type != "softbreak" else " " for t in image.children or ())
    return "".join(words)


def _tidy(text: str) -> str:
    """What entities can smuggle in: carriage returns become line ends."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _one_line(text: str) -> str:
    return re.sub(r"[\r\n]+", " ", text).strip()


def _unwrapped(runs: Sequence[Run], wraps: set[int]) -> list[Run]:
    """Drops the space of a wrapped line between two characters of a script that knows no spaces."""

    def edge(index: int, at: int) -> str:
        inside = 0 <= index < len(runs) and runs[index].kind == "text"
        return runs[index].text[at] if inside and runs[index].text else ""

    joined = {i for i in wraps if _is_han(edge(i - 1, -1)) and _is_han(edge(i + 1, 0))}
    return [run for i, run in enumerate(runs) if i not in joined]


def _is_han(character: str) -> bool:
    """Chinese and Japanese are written without spaces; Korean has them."""
    hangul = "\u1100" <= character <= "\u11ff" or "\uac00" <= character <= "\ud7ff"
    return bool(character) and is_cjk(character) and not hangul
