"""Ids of blocks: made from content, kept through edits.

Without a previous document an id is a hash of what the block says, with an ordinal for repeats: the same text always
gets the same ids, on any machine. With a previous document, a block whose content is there keeps its id wherever it
moved to; of the others, a changed block takes the id of the block of its type that stood in its place. Both passes are
linear.
"""

import hashlib
from collections import Counter, defaultdict, deque
from collections.abc import Sequence

from pydantic import ValidationError

from core.errors import DocumentError
from core.ids import BlockId

from .model import Block, Blocks, FlowDocument, explain, walk, with_each_block

_ID_DIGITS = 8


def new_document(blocks: Blocks, previous: FlowDocument | None = None) -> FlowDocument:
    """A document of these blocks, all named anew. Raises DocumentError when they nest too deep."""
    try:
        nameless = without_ids(blocks)
        names = iter(_names([block for block, _ in walk(nameless)], previous))
        return FlowDocument(blocks=with_each_block(nameless, lambda b: b.model_copy(update={"id": next(names)})))
    except ValidationError as error:
        raise DocumentError(f"these blocks make no document: {explain(error)}") from error
    except ValueError as error:
        raise DocumentError(str(error)) from error


def without_ids(blocks: Blocks) -> Blocks:
    """What the blocks say, whoever they are: compare these to compare content."""
    return with_each_block(blocks, lambda block: block.model_copy(update={"id": BlockId("")}))


def _names(blocks: Sequence[Block], previous: FlowDocument | None) -> list[BlockId]:
    keys = [block.model_dump_json() for block in blocks]
    kept = _kept(blocks, keys, previous) if previous else [None] * len(blocks)
    used = {name for name in kept if name}
    repeats: Counter[str] = Counter()
    return [name or _minted(key, repeats, used) for key, name in zip(keys, kept, strict=True)]


def _minted(key: str, repeats: Counter[str], used: set[BlockId]) -> BlockId:
    stem = "b" + hashlib.sha256(key.encode()).hexdigest()[:_ID_DIGITS]
    while True:
        repeats[stem] += 1
        name = BlockId(stem if repeats[stem] == 1 else f"{stem}-{repeats[stem]}")
        if name not in used:
            return name


def _kept(blocks: Sequence[Block], keys: Sequence[str], previous: FlowDocument) -> list[BlockId | None]:
    old = [block for block, _ in walk(previous.blocks)]
    old_keys = [block.model_dump_json() for block, _ in walk(without_ids(previous.blocks))]
    match = _same_content(keys, old_keys)
    _same_place(blocks, old, match)
    return [None if at is None else old[at].id for at in match]


def _same_content(keys: Sequence[str], old_keys: Sequence[str]) -> list[int | None]:
    """For each new block the index of the old one that says the same, ends first so that repeats stay in place."""
    shorter = min(len(keys), len(old_keys))
    head = next((i for i in range(shorter) if keys[i] != old_keys[i]), shorter)
    tail = next((i for i in range(shorter - head) if keys[-1 - i] != old_keys[-1 - i]), shorter - head)
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for index in range(head, len(old_keys) - tail):
        waiting[old_keys[index]].append(index)
    match: list[int | None] = list(range(head))
    for key in keys[head : len(keys) - tail]:
        match.append(waiting[key].popleft() if waiting[key] else None)
    match.extend(range(len(old_keys) - tail, len(old_keys)))
    return match


def _same_place(blocks: Sequence[Block], old: Sequence[Block], match: list[int | None]) -> None:
    """Pairs blocks that are still without a partner, in order and by type, inside the gap after the same neighbour."""
    taken = {at for at in match if at is not None}
    gap = _gap(old, 0, taken)
    for index, block in enumerate(blocks):
        at = match[index]
        if at is not None:
            gap = _gap(old, at + 1, taken)
        elif gap[block.type]:
            match[index] = gap[block.type].popleft()


def _gap(old: Sequence[Block], start: int, taken: set[int]) -> defaultdict[str, deque[int]]:
    free: defaultdict[str, deque[int]] = defaultdict(deque)
    index = start
    while index < len(old) and index not in taken:
        free[old[index].type].append(index)
        index += 1
    return free
