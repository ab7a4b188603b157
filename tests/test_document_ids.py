"""Ids of blocks: the same text gets the same ids, and an edit keeps the ids of what it did not touch."""

import pytest

from core.document import FlowDocument, dump_document, from_markdown, load_document, new_document
from core.document.model import MAX_JSON_BYTES, Divider, Heading, Paragraph, Quote, Run, walk
from core.errors import DocumentError

BEFORE = "# 茶\n\n第一段。\n\n第二段。\n\n- 甲\n- 乙\n\n第三段。\n"


def ids(document: FlowDocument) -> dict[str, str]:
    """Text of each paragraph and heading, and its id."""
    named: dict[str, str] = {}
    for block, _ in walk(document.blocks):
        if isinstance(block, Paragraph | Heading):
            named["".join(run.text for run in block.text)] = block.id
    return named


def test_the_same_text_gets_the_same_ids_and_repeats_get_an_ordinal() -> None:
    first = from_markdown("同\n\n同\n\n***\n\n***")

    assert first == from_markdown("同\n\n同\n\n***\n\n***")
    one, two, *_ = (block.id for block in first.blocks)
    assert two == f"{one}-2"


def test_an_edit_keeps_the_id_of_the_changed_block_and_of_all_others() -> None:
    before = from_markdown(BEFORE)

    after = from_markdown(BEFORE.replace("第二段", "第二段，改过"), before)

    assert [b.id for b in after.blocks] == [b.id for b in before.blocks]
    assert after != before


def test_an_insertion_gets_a_new_id_and_moves_none() -> None:
    before = from_markdown(BEFORE)

    after = from_markdown(BEFORE.replace("第一段。", "第一段。\n\n新的一段。"), before)

    kept = ids(before)
    assert {text: ids(after)[text] for text in kept} == kept
    assert ids(after)["新的一段。"] not in kept.values()


def test_a_moved_or_quoted_block_keeps_its_id() -> None:
    before = from_markdown(BEFORE)

    after = from_markdown("第三段。\n\n> 第一段。\n\n# 茶\n\n第二段。\n\n- 乙\n- 甲\n", before)

    assert ids(after) == ids(before)


def test_a_changed_item_leaves_its_list_and_neighbours_their_ids() -> None:
    before = from_markdown(BEFORE)

    after = from_markdown(BEFORE.replace("- 乙", "- 乙二"), before)

    assert [b.id for b, _ in walk(after.blocks)] == [b.id for b, _ in walk(before.blocks)]


def test_an_id_that_is_still_in_use_is_never_given_twice() -> None:
    first = from_markdown("甲")
    second = from_markdown("乙", first)

    third = from_markdown("乙\n\n甲", second)

    assert second.blocks[0].id == first.blocks[0].id
    assert third.blocks[0].id == first.blocks[0].id
    assert third.blocks[1].id != third.blocks[0].id


def test_ten_thousand_equal_blocks_are_named_in_seconds() -> None:
    before = from_markdown("#\n" * 5_000)

    after = from_markdown("#\n" * 5_001, before)

    assert len({block.id for block in after.blocks}) == 5_001


def test_a_document_survives_json() -> None:
    document = from_markdown(BEFORE)

    assert load_document(dump_document(document)) == document
    assert dump_document(document).startswith('{"schemaVersion":1,"blocks":[{"id":"b')


def test_rich_text_is_canonical() -> None:
    pieces = (Run(text="a"), Run(text=""), Run(text="b"), Run(text="c", bold=True), Run(text="d", bold=True))

    assert Paragraph(text=pieces).text == (Run(text="ab"), Run(text="cd", bold=True))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"schemaVersion": 2, "blocks": []}', "not a document of schema 1: schemaVersion"),
        ('{"blocks": [{"id": "b1", "type": "poll"}]}', "poll"),
        ('{"blocks": [{"id": "b1", "type": "divider", "colour": 1}]}', "colour: Extra inputs"),
        ('{"blocks": [{"id": "main", "type": "divider"}]}', "id: String should match"),
        ('{"blocks": [{"type": "divider"}]}', "every block needs one of its own"),
        ('{"blocks": [{"id": "b1", "type": "divider"}, {"id": "b1", "type": "divider"}]}', "'b1': every block needs"),
        ('{"blocks": [{"id": "b1", "type": "heading", "level": 5, "text": []}]}', "level"),
        ('{"blocks": [{"id": "b1", "type": "paragraph", "text": [{"text": "a\\u0000"}]}]}', "neither NUL"),
        ('{"blocks": [{"id": "b1", "type": "paragraph", "text": [{"text": "\\ud800"}]}]}', "not a document"),
        ('{"blocks": [{"id": "b1", "type": "paragraph", "text": [{"text": "a", "bold": "yes"}]}]}', "bold"),
        ('{"blocks": [{"id": "b1", "type": "table", "align": [null], "header": [[], []]}]}', "as many alignments"),
        ('{"blocks": [{"id": "b1", "type": "media", "src": "a", "width": 3}]}', "width and height come together"),
        ('{"blocks": [{"id": "b1", "type": "list", "items": [{"checked": true, "blocks": []}]}]}', "a task begins"),
        ("[" * 100_000, "not a document"),
        ("nonsense", "not a document"),
        (" " * (MAX_JSON_BYTES + 1), f"at most {MAX_JSON_BYTES} are read"),
    ],
)
def test_json_that_is_no_document_is_refused_with_the_place(text: str, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        load_document(text)


def test_blocks_nested_too_deep_are_refused() -> None:
    deep: Divider | Quote = Divider()
    for _ in range(16):
        deep = Quote(blocks=(deep,))

    with pytest.raises(DocumentError, match="nested more than 16 deep"):
        new_document((deep,))
