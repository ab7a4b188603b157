"""FlowDocument: the one body format of articles, drafts and journal entries.

Here live the block types, rich text and the rules of a well-formed document. Reading Markdown is `reading`, writing it
`writing`, names of blocks `naming`, HTML and plain text `html` and `plain`.

As JSON a document is `{"schemaVersion": 1, "blocks": [{"id", "type", ...}]}`. Every model is frozen and refuses
fields it does not know. Rich text is a tuple of runs, kept canonical (no empty run, no two neighbours that could be
one), so that equal texts are equal values. A "\\n" inside a text run is a line break the author asked for.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from core.errors import DocumentError
from core.ids import BlockId

SCHEMA_VERSION = 1
MAX_DEPTH = 16
"""Blocks inside blocks. Deeper nesting is no reading matter, and recursion stays far from the interpreter's limit."""
MAX_JSON_BYTES = 4_000_000


def _storable(text: str) -> str:
    if "\0" in text or "\r" in text:
        raise ValueError("a text holds neither NUL nor carriage returns: replace them")
    return text


def _one_line(text: str) -> str:
    if "\n" in text or text != text.strip():
        raise ValueError("must be one line without white space at its ends")
    return text


Text = Annotated[str, AfterValidator(_storable)]
Line = Annotated[Text, AfterValidator(_one_line)]
Word = Annotated[Line, Field(pattern=r"^\S*$")]
NoteLabel = Annotated[str, Field(pattern=r"^[^\s\[\]]{1,64}$")]
Id = Annotated[BlockId, Field(pattern=r"^b[0-9a-z]{1,40}(-[0-9]{1,6})?$")]
Pixels = Annotated[int, Field(ge=1, le=20_000)]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_by_name=True, serialize_by_alias=True)


class Link(Frozen):
    href: Line
    title: Line = ""


class Run(Frozen):
    """A piece of rich text. `text` is what is read: words, code, a formula's source, a note's label, an image's alt."""

    kind: Literal["text", "code", "math", "note", "image"] = "text"
    text: Text
    bold: bool = False
    italic: bool = False
    strike: bool = False
    link: Link | None = None
    image: Link | None = None
    """Where an image comes from (`href`) and its title; only for `kind="image"`."""

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if (self.kind == "image") != (self.image is not None):
            raise ValueError("an image run, and no other, says where its image is")
        if self.kind != "text" and "\n" in self.text:
            raise ValueError(f"a {self.kind} run is one line")
        if self.kind == "note" and (not self.text or any(c.isspace() or c in "[]" for c in self.text)):
            raise ValueError(f"{self.text!r} is no note label: use letters and digits")
        return self

    @model_serializer(mode="wrap")
    def _short(self, serialize: SerializerFunctionWrapHandler) -> dict[str, object]:
        full: dict[str, object] = serialize(self)
        return {k: v for k, v in full.items() if k == "text" or v not in (False, None, "text")}

    def marks(self) -> tuple[object, ...]:
        return self.kind, self.bold, self.italic, self.strike, self.link


def _canonical(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    kept: list[Run] = []
    for run in runs:
        if not run.text and run.kind in ("text", "code", "math"):
            continue
        if kept and run.kind in ("text", "code") and kept[-1].marks() == run.marks():
            kept[-1] = kept[-1].model_copy(update={"text": kept[-1].text + run.text})
        else:
            kept.append(run)
    return tuple(kept)


RichText = Annotated[tuple[Run, ...], AfterValidator(_canonical)]


class Named(Frozen):
    """What all blocks share. An empty id means "not named yet": only a document's validator insists on one."""

    id: Id = BlockId("")


class Paragraph(Named):
    type: Literal["paragraph"] = "paragraph"
    text: RichText


class Heading(Named):
    type: Literal["heading"] = "heading"
    level: Annotated[int, Field(ge=1, le=4)]
    text: RichText


class Quote(Named):
    type: Literal["quote"] = "quote"
    blocks: "Blocks"


class Item(Frozen):
    """`checked` is None for an ordinary item, else the state of a task."""

    checked: bool | None = None
    blocks: "Blocks"

    @model_validator(mode="after")
    def _task_has_text(self) -> Self:
        if self.checked is not None and not (self.blocks and isinstance(self.blocks[0], Paragraph)):
            raise ValueError("a task begins with a paragraph that says what is to be done")
        return self


class List(Named):
    type: Literal["list"] = "list"
    ordered: bool = False
    start: Annotated[int, Field(ge=0, le=999_999_999)] = 1
    items: tuple[Item, ...]


class Code(Named):
    type: Literal["code"] = "code"
    language: Word = ""
    info: Line = ""
    """What follows the language on a fence's first line."""
    text: Text

    @model_validator(mode="after")
    def _info_follows_language(self) -> Self:
        if self.info and not self.language:
            raise ValueError("info without a language cannot be written: name the language first")
        return self


class Equation(Named):
    type: Literal["equation"] = "equation"
    tex: Text


class Media(Named):
    type: Literal["media"] = "media"
    src: Line
    alt: Line = ""
    title: Line = ""
    width: Pixels | None = None
    height: Pixels | None = None

    @model_validator(mode="after")
    def _both_sizes(self) -> Self:
        if (self.width is None) != (self.height is None):
            raise ValueError("width and height come together: give both or neither")
        return self


Align = Literal["left", "center", "right"]
Row = tuple[RichText, ...]


class Table(Named):
    type: Literal["table"] = "table"
    align: tuple[Align | None, ...]
    header: Row
    rows: tuple[Row, ...] = ()

    @model_validator(mode="after")
    def _is_a_rectangle(self) -> Self:
        width = len(self.header)
        if not width or len(self.align) != width or any(len(row) != width for row in self.rows):
            raise ValueError("a table has at least one column, and as many alignments and cells a row as header cells")
        return self


CalloutKind = Literal["note", "tip", "important", "warning", "caution"]


class Callout(Named):
    type: Literal["callout"] = "callout"
    kind: CalloutKind
    title: Line = ""
    blocks: "Blocks"


class Details(Named):
    type: Literal["details"] = "details"
    summary: Line
    blocks: "Blocks"


class Divider(Named):
    type: Literal["divider"] = "divider"


class Footnote(Named):
    """Stands where it was written; readers find it at the end of the page."""

    type: Literal["footnote"] = "footnote"
    label: NoteLabel
    blocks: "Blocks"


class Column(Frozen):
    blocks: "Blocks"


class Columns(Named):
    type: Literal["columns"] = "columns"
    columns: tuple[Column, ...]


class Bookmark(Named):
    type: Literal["bookmark"] = "bookmark"
    url: Line
    title: Line = ""
    description: Text = ""


class File(Named):
    type: Literal["file"] = "file"
    src: Line
    name: Line
    size_bytes: Annotated[int, Field(ge=0)] | None = None


class Embed(Named):
    type: Literal["embed"] = "embed"
    url: Line
    title: Line = ""
    width: Pixels | None = None
    height: Pixels | None = None


Block = Annotated[
    Paragraph
    | Heading
    | Quote
    | List
    | Code
    | Equation
    | Media
    | Table
    | Callout
    | Details
    | Divider
    | Footnote
    | Columns
    | Bookmark
    | File
    | Embed,
    Field(discriminator="type"),
]
Blocks = tuple[Block, ...]


class FlowDocument(Frozen):
    schema_version: Literal[1] = Field(default=1, alias="schemaVersion")
    blocks: Blocks = ()

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        seen: set[BlockId] = set()
        for block, _ in walk(self.blocks):
            if not block.id or block.id in seen:
                raise ValueError(f"{block.type} has the id {block.id!r}: every block needs one of its own")
            seen.add(block.id)
        return self


def groups(block: Block) -> tuple[Blocks, ...]:
    """The sequences of blocks directly inside a block."""
    match block:
        case Quote() | Callout() | Details() | Footnote():
            return (block.blocks,)
        case List():
            return tuple(item.blocks for item in block.items)
        case Columns():
            return tuple(column.blocks for column in block.columns)
    return ()


def walk(blocks: Blocks, depth: int = 1) -> Iterator[tuple[Block, int]]:
    """Every block with its depth (1 at the top), a block before what is in it."""
    if blocks and depth > MAX_DEPTH:
        raise ValueError(f"blocks are nested more than {MAX_DEPTH} deep: flatten the quotes or lists")
    for block in blocks:
        yield block, depth
        for group in groups(block):
            yield from walk(group, depth + 1)


def with_each_block(blocks: Blocks, change: Callable[[Block], Block]) -> Blocks:
    """The same tree after `change`, called on a block before it is called on what is in it."""
    return tuple(_with_inner(change(block), change) for block in blocks)


def _with_inner(block: Block, change: Callable[[Block], Block]) -> Block:
    match block:
        case Quote() | Callout() | Details() | Footnote():
            return block.model_copy(update={"blocks": with_each_block(block.blocks, change)})
        case List():
            items = (i.model_copy(update={"blocks": with_each_block(i.blocks, change)}) for i in block.items)
            return block.model_copy(update={"items": tuple(items)})
        case Columns():
            columns = (c.model_copy(update={"blocks": with_each_block(c.blocks, change)}) for c in block.columns)
            return block.model_copy(update={"columns": tuple(columns)})
    return block


def explain(error: ValidationError) -> str:
    """The first fault of a refused document as one clause: where, and what."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])


def load_document(text: str | bytes) -> FlowDocument:
    """The document a JSON text says. Raises DocumentError for all else, newer schemas and unknown types included."""
    if len(text) > MAX_JSON_BYTES:
        raise DocumentError(f"document of {len(text)} bytes: at most {MAX_JSON_BYTES} are read; split it")
    try:
        return FlowDocument.model_validate_json(text)
    except ValidationError as error:
        raise DocumentError(f"not a document of schema {SCHEMA_VERSION}: {explain(error)}") from error


def dump_document(document: FlowDocument) -> str:
    """One line of JSON; `load_document` gives back an equal document."""
    return document.model_dump_json()
