"""A model's answer, with each `[n]` checked against the sources it was given. A number nobody offered disappears. Pure."""

import re
from collections.abc import Collection
from dataclasses import dataclass

MARK = re.compile(r"\s?[\[［【](\d{1,2}(?:\s?[,，、]\s?\d{1,2})*)[\]］】]")


@dataclass(frozen=True)
class Said:
    """A piece of an answer: words, or (with `source`) the number of the source they rest on."""

    text: str
    source: int = 0


Paragraph = tuple[Said, ...]


def read_answer(text: str, offered: Collection[int]) -> tuple[Paragraph, ...]:
    """
    >>> read_answer("Boil it [1][7].", {1, 2})
    ((Said(text='Boil it', source=0), Said(text='', source=1), Said(text='.', source=0)),)
    """
    blocks = (block.strip() for block in re.split(r"\n\s*\n", text))
    return tuple(_paragraph(block, offered) for block in blocks if block)


def cited(paragraphs: tuple[Paragraph, ...]) -> set[int]:
    return {piece.source for paragraph in paragraphs for piece in paragraph if piece.source}


def _paragraph(block: str, offered: Collection[int]) -> Paragraph:
    pieces: list[Said] = []
    end = 0
    for mark in MARK.finditer(block):
        pieces.append(Said(block[end : mark.start()]))
        numbers = (int(number) for number in re.findall(r"\d+", mark[1]))
        pieces.extend(Said("", number) for number in numbers if number in offered)
        end = mark.end()
    pieces.append(Said(block[end:]))
    return tuple(piece for piece in pieces if piece.text or piece.source)
