"""Markdown of a reply as Telegram's plain text with entities. Pure.

Entities need no escaping and cannot fail to parse, as both markup modes can. Only what a chat shows well is turned: code
blocks, inline code, bold, links. Everything else stays as it was written. Removing marks only makes a text shorter, so a
part that was cut to Telegram's limit stays within it.
"""

import re
from collections.abc import Iterator

from core.text.split import Unit, length_in

Entity = dict[str, object]

MAX_ENTITIES = 100
"""Telegram ignores what comes after about a hundred."""

_BLOCK = re.compile(r"^```([A-Za-z0-9+#-]*)[ \t]*\n(.*?)\n?^```[ \t]*$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(
    r"`(?P<code>[^`\n]+)`"
    r"|\*\*(?P<bold>[^\s*](?:[^*\n]*[^\s*])?)\*\*"
    r"|\[(?P<label>[^\[\]\n]+)\]\((?P<url>https?://[^\s()]+)\)"
)

Piece = tuple[str, Entity | None]


def with_entities(markdown: str) -> tuple[str, list[Entity]]:
    """
    >>> with_entities("好😀 **bold** `x`")
    ('好😀 bold x', [{'type': 'bold', 'offset': 4, 'length': 4}, {'type': 'code', 'offset': 9, 'length': 1}])
    """
    text, offset = "", 0
    entities: list[Entity] = []
    for piece, entity in _pieces(markdown):
        length = length_in(Unit.UTF16, piece)
        if entity is not None and length and len(entities) < MAX_ENTITIES:
            entities.append({**entity, "offset": offset, "length": length})
        text, offset = text + piece, offset + length
    return text, entities


def _pieces(markdown: str) -> Iterator[Piece]:
    at = 0
    for block in _BLOCK.finditer(markdown):
        yield from _inline(markdown[at : block.start()])
        language = {"language": block[1]} if block[1] else {}
        yield block[2], {"type": "pre", **language}
        at = block.end()
    yield from _inline(markdown[at:])


def _inline(text: str) -> Iterator[Piece]:
    at = 0
    for found in _INLINE.finditer(text):
        yield text[at : found.start()], None
        if found["code"]:
            yield found["code"], {"type": "code"}
        elif found["bold"]:
            yield found["bold"], {"type": "bold"}
        else:
            yield found["label"], {"type": "text_link", "url": found["url"]}
        at = found.end()
    yield text[at:], None
