"""The tables of turn, attempt and part: every step that is not in them is an error that names both."""

from collections.abc import Callable
from enum import StrEnum
from itertools import product
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy import text as sql
from sqlalchemy.exc import IntegrityError

from bridge.turn import (
    NEXT_ATTEMPT,
    NEXT_PART,
    NEXT_TURN,
    ON_ITS_WAY,
    AttemptEvent,
    AttemptState,
    PartEvent,
    PartState,
    TurnEvent,
    TurnPhase,
    next_attempt,
    next_part,
    next_turn,
)
from core.errors import TransitionError

from .crash.world import World, a_world

TURNS = list(product(TurnPhase, TurnEvent))
ATTEMPTS = list(product(AttemptState, AttemptEvent))
PARTS = list(product(PartState, PartEvent))


def test_a_step_that_is_not_in_the_table_is_an_error_that_names_both() -> None:
    refused = 0
    for step, table, take in (
        *((step, NEXT_TURN, next_turn) for step in TURNS),
        *((step, NEXT_ATTEMPT, next_attempt) for step in ATTEMPTS),
        *((step, NEXT_PART, lambda state, event: next_part(state, event, "owner")) for step in PARTS),
    ):
        refused += _refused(step, table, take)  # type: ignore[arg-type]  # three tables of one shape

    assert refused > 100


def _refused(
    step: tuple[StrEnum, StrEnum],
    table: dict[tuple[StrEnum, StrEnum], StrEnum],
    take: Callable[[StrEnum, StrEnum], StrEnum],
) -> bool:
    if step in table:
        assert take(*step) is table[step]
        return False
    with pytest.raises(TransitionError, match=f"{step[0]}.*{step[1]}"):
        take(*step)
    return True


def test_what_may_have_cost_money_is_never_called_again_by_itself() -> None:
    ways_out = {event for (phase, event) in NEXT_TURN if phase is TurnPhase.UNKNOWN}

    assert ways_out == {TurnEvent.ASKED_AGAIN}


@pytest.mark.parametrize("event", [event for (state, event) in NEXT_PART if state is PartState.UNKNOWN])
def test_the_bridge_alone_never_takes_a_part_out_of_unknown(event: PartEvent) -> None:
    with pytest.raises(TransitionError, match="from the platform or the owner"):
        next_part(PartState.UNKNOWN, event, "bridge")

    assert next_part(PartState.UNKNOWN, event, "owner") is not PartState.UNKNOWN


def test_every_state_can_be_reached_and_nothing_on_its_way_is_a_dead_end() -> None:
    assert {NEXT_PART[step] for step in NEXT_PART} | {PartState.INTENT} == set(PartState)
    assert {NEXT_TURN[step] for step in NEXT_TURN} == set(TurnPhase)
    assert {state for state, _ in NEXT_PART} >= ON_ITS_WAY


def _insert_turn(conn: Connection, phase: str) -> None:
    conn.execute(
        sql(
            "INSERT INTO turns (trace, conversation_id, phase, opened_at_ms, answer_after_ms, updated_at_ms) "
            "VALUES (hex(randomblob(8)), 1, :phase, 0, 0, 0)"
        ),
        {"phase": phase},
    )


@pytest.mark.parametrize(("first", "second"), list(product(("composing", "calling"), repeat=2)))
async def test_the_database_itself_holds_one_active_turn_a_conversation(
    tmp_path: Path, first: str, second: str
) -> None:
    async with a_world(tmp_path) as world:
        await _talked(world)
        await world.store.write(_insert_turn, first)

        with pytest.raises(IntegrityError):
            await world.store.write(_insert_turn, second)


@pytest.mark.parametrize("state", ["dispatched", "settled", "unknown"])
async def test_the_database_itself_holds_one_maybe_charged_attempt_a_turn(tmp_path: Path, state: str) -> None:
    def insert(conn: Connection) -> None:
        conn.execute(
            sql(
                "INSERT INTO attempts (id, turn_id, tries, lease_id, provider, model, reserved_micros, state, dispatched_at_ms) "
                "SELECT 'another', turn_id, 2, lease_id, provider, model, 1, :state, 0 FROM attempts"
            ),
            {"state": state},
        )

    async with a_world(tmp_path) as world:
        await _talked(world)

        with pytest.raises(IntegrityError):
            await world.store.write(insert)


async def _talked(world: World) -> None:
    world.say("hello")
    await world.settle()
