"""Hot statements as the driver's own text: the same answers and errors as SQLAlchemy's, on both databases."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import Column, Connection, Integer, MetaData, Table, bindparam, delete, insert, select, update
from sqlalchemy.dialects.postgresql import insert as insert_or
from sqlalchemy.exc import DBAPIError, IntegrityError

from core.store import Store, open_store, sqlite_url
from core.store.compiled import Compiled, driver_text

from .store_world import NOTES, a_schema, keys

ADD = Compiled(insert(NOTES).values(key=bindparam("key"), body=bindparam("body")).returning(NOTES.c.id))
ADD_SILENTLY = Compiled(insert(NOTES).values(key=bindparam("key")))
ADD_ONCE = Compiled(
    insert_or(NOTES).values(key=bindparam("key")).on_conflict_do_nothing(index_elements=["key"]).returning(NOTES.c.id)
)
BUMP = Compiled(
    update(NOTES)
    .where(NOTES.c.key == bindparam("which"), NOTES.c.size + 1 <= bindparam("limit"))
    .values(size=NOTES.c.size + 1)
    .returning(NOTES.c.size)
)
UNREAD = Compiled(select(NOTES.c.key, NOTES.c.body).where(NOTES.c.read == 0).order_by(NOTES.c.id))
REMOVE = Compiled(delete(NOTES).where(NOTES.c.key == bindparam("which")))


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    sqlite = request.param == "sqlite"
    url = sqlite_url(tmp_path / "notes.db") if sqlite else str(request.getfixturevalue("postgres").new_store())
    async with open_store(url, a_schema(tmp_path / "revisions")) as store:
        yield store


async def test_rows_come_back_as_tuples_in_the_order_that_was_written_down(store: Store) -> None:
    first = await store.write(ADD.run, {"key": "a", "body": "一"})
    await store.write(ADD.run, {"key": "b", "body": "two %s ? :x"})

    assert len(first) == 1 and isinstance(first[0][0], int)
    assert await store.read(UNREAD.run) == [("a", "一"), ("b", "two %s ? :x")]


async def test_a_statement_without_an_answer_has_no_rows(store: Store) -> None:
    assert await store.write(ADD_SILENTLY.run, {"key": "a"}) == []
    assert await store.write(REMOVE.run, {"which": "a"}) == []

    assert await store.read(keys) == []


async def test_what_an_update_changed_is_what_it_returns(store: Store) -> None:
    await store.write(ADD_SILENTLY.run, {"key": "a"})

    outcomes = [await store.write(lambda conn: BUMP.run(conn, {"which": "a", "limit": 2})) for _ in range(3)]

    assert outcomes == [[(1,)], [(2,)], []]


async def test_one_insert_with_on_conflict_serves_both_databases(store: Store) -> None:
    assert len(await store.write(ADD_ONCE.run, {"key": "a"})) == 1
    assert await store.write(ADD_ONCE.run, {"key": "a"}) == []


async def test_many_rows_are_one_transaction(store: Store) -> None:
    await store.write(ADD_SILENTLY.run_many, [{"key": "a"}, {"key": "b"}])

    with pytest.raises(IntegrityError):
        await store.write(ADD_SILENTLY.run_many, [{"key": "c"}, {"key": "a"}])

    assert await store.read(keys) == ["a", "b"]


async def test_errors_are_those_of_sqlalchemy_and_show_no_values(store: Store) -> None:
    await store.write(ADD_SILENTLY.run, {"key": "taken"})

    with pytest.raises(IntegrityError):
        await store.write(ADD_SILENTLY.run, {"key": "taken"})
    with pytest.raises(DBAPIError) as refused:
        await store.read(ADD.run, {"key": "a", "body": "a secret"})

    assert "a secret" not in str(refused.value)


@pytest.mark.parametrize(
    "values", [{}, {"key": "a"}, {"key": "a", "body": "b", "mood": "c"}, {"key": "a", "mood": "c"}]
)
async def test_values_that_do_not_fit_are_named_and_write_nothing(store: Store, values: dict[str, str]) -> None:
    with pytest.raises(TypeError, match=r"(body|mood).* is missing or too much"):
        await store.write(ADD.run, values)

    assert await store.read(keys) == []


async def test_one_failing_neighbour_in_a_group_fails_alone(store: Store) -> None:
    outcomes = await asyncio.gather(
        *(store.write(ADD_SILENTLY.run, {"key": key}) for key in ("a", "b", "a", "c")), return_exceptions=True
    )

    assert [isinstance(outcome, IntegrityError) for outcome in outcomes] == [False, False, True, False]
    assert sorted(await store.read(keys)) == ["a", "b", "c"]


async def test_a_statement_whose_values_are_known_only_when_it_runs_is_refused(store: Store) -> None:
    moody = Table("moods", MetaData(), Column("id", Integer), Column("mood", Integer, default=lambda: 7))
    listed = select(NOTES.c.id).where(NOTES.c.key.in_(bindparam("keys", expanding=True)))

    def dialect_of(conn: Connection) -> None:
        for statement in (insert(moody).values(id=1), listed):
            with pytest.raises(ValueError, match="cannot be compiled ahead"):
                driver_text(statement, conn.dialect)

    await store.read(dialect_of)
