"""Rendered HTML as a tree of plain data, from which a script builds the preview node by node.

The owner's pages forbid scripts to parse HTML (Trusted Types), so that no text can ever become markup in them; a tree
of element names, attributes and texts needs no parsing. It is made of what `core.document` rendered and sanitised.
"""

from html.parser import HTMLParser
from typing import TypeAlias

Node: TypeAlias = str | tuple[str, dict[str, str], list["Node"]]

_EMPTY = frozenset({"br", "hr", "img", "input"})


def tree(html: str) -> list[Node]:
    """
    >>> tree('<p id="a">x <em>y</em><br>z &amp; w</p>')
    [('p', {'id': 'a'}, ['x ', ('em', {}, ['y']), ('br', {}, []), 'z & w'])]
    """
    parser = _Tree()
    parser.feed(html)
    parser.close()
    return parser.root


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root: list[Node] = []
        self._open: list[list[Node]] = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        inside: list[Node] = []
        self._open[-1].append((tag, {name: value or "" for name, value in attrs}, inside))
        if tag not in _EMPTY:
            self._open.append(inside)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _EMPTY and len(self._open) > 1:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].append(data)
