"""Digest drafts take whole turns, oldest first, within their limits, and account for every source."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.batch import MAX_BYTES, SourceFact, choose_batch
from core.clock import Instant
from core.errors import BadInput
from core.ids import SourceId


def turn(number: int, *sizes: int) -> list[SourceFact]:
    return [
        SourceFact(SourceId(f"{number}{'abc'[side]}"), f"t{number}", size, Instant(number * 1_000 + side))
        for side, size in enumerate(sizes)
    ]


def test_no_sources_make_no_draft() -> None:
    chosen = choose_batch([])

    assert (chosen.batches, chosen.too_long, chosen.rest) == ((), (), 0)


def test_a_draft_takes_fifty_turns_and_the_next_draft_the_fifty_first() -> None:
    sources = [source for number in range(51) for source in turn(number, 10, 10)]

    chosen = choose_batch(sources)

    assert [len(batch) for batch in chosen.batches] == [100, 2]


def test_a_draft_is_filled_to_its_last_byte_and_not_over() -> None:
    full = choose_batch(turn(1, MAX_BYTES - 1) + turn(2, 1))
    over = choose_batch(turn(1, MAX_BYTES - 1) + turn(2, 2))

    assert full.batches == (("1a", "2a"),)
    assert over.batches == (("1a",), ("2a",))


def test_both_sides_of_a_turn_stay_together() -> None:
    chosen = choose_batch(turn(1, 600) + turn(2, 300, 200), max_bytes=1_000)

    assert chosen.batches == (("1a",), ("2a", "2b"))


def test_sources_come_oldest_first_whatever_order_they_are_given_in() -> None:
    sources = turn(3, 1, 1) + turn(1, 1, 1) + turn(2, 1)

    assert choose_batch(sources).batches == (("1a", "1b", "2a", "3a", "3b"),)


def test_a_turn_too_long_for_a_draft_stays_visible_and_holds_up_nobody() -> None:
    chosen = choose_batch(turn(1, 900, 200) + turn(2, 10), max_bytes=1_000)

    assert chosen.batches == (("2a",),)
    assert chosen.too_long == ("1a", "1b")
    assert chosen.rest == 0


def test_what_does_not_fit_the_drafts_of_a_slot_is_counted_as_rest() -> None:
    sources = [source for number in range(5) for source in turn(number, 400, 400)]

    chosen = choose_batch(sources, max_bytes=800, max_batches=3)

    assert len(chosen.batches) == 3
    assert chosen.rest == 4


@pytest.mark.parametrize("limit", ["max_turns", "max_bytes", "max_batches"])
def test_a_limit_that_leaves_nothing_is_refused_by_name(limit: str) -> None:
    with pytest.raises(BadInput, match=f"digest.{limit} = 0"):
        choose_batch(turn(1, 1), **{limit: 0})


def test_a_damaged_or_doubled_source_is_refused() -> None:
    with pytest.raises(BadInput, match="negative"):
        choose_batch(turn(1, -1))
    with pytest.raises(BadInput, match="twice"):
        choose_batch(turn(1, 1) + turn(1, 1))


TALK = st.lists(st.lists(st.integers(0, 700), min_size=1, max_size=3), max_size=30)


@given(TALK, st.integers(1, 8), st.integers(1, 1_500), st.integers(1, 4), st.randoms(use_true_random=False))
def test_every_source_is_in_one_draft_or_too_long_or_rest(
    talk: list[list[int]], max_turns: int, max_bytes: int, max_batches: int, shuffle: Random
) -> None:
    sources = [source for number, sizes in enumerate(talk) for source in turn(number, *sizes)]
    by_id = {source.id: source for source in sources}
    given_order = list(sources)
    shuffle.shuffle(given_order)

    chosen = choose_batch(given_order, max_turns, max_bytes, max_batches)

    taken = [source for batch in chosen.batches for source in batch]
    assert len(taken) + len(chosen.too_long) + chosen.rest == len(sources)
    assert not set(taken) & set(chosen.too_long)
    assert taken == sorted(taken, key=lambda source: by_id[source].said_at)
    assert len(chosen.batches) <= max_batches
    for batch in chosen.batches:
        turns = {by_id[source].turn for source in batch}
        assert batch and len(turns) <= max_turns
        assert sum(by_id[source].bytes for source in batch) <= max_bytes
        assert len(batch) == sum(source.turn in turns for source in sources)
    # Nothing younger is taken before something older that would have fitted a draft.
    if chosen.rest and taken:
        left = [source for source in sources if source.id not in taken and source.id not in chosen.too_long]
        assert min(source.said_at for source in left) > max(by_id[source].said_at for source in taken)
