"""A full disk: everybody who waits is told, nothing that was acknowledged is lost, and reading goes on."""

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection

from core.errors import StoreFull
from core.store import Schema, Store, open_store, sqlite_url

from .disk import Disk, disks
from .store_world import a_schema, add, keys

NOTE = " " + "字" * 400


@pytest.fixture
def schema(tmp_path: Path) -> Schema:
    return a_schema(tmp_path / "revisions")


def limit_pages(conn: Connection, pages: int) -> None:
    conn.exec_driver_sql(f"PRAGMA max_page_count={pages}")


async def fill(store: Store) -> set[str]:
    """Writes from 40 senders until the disk is full; what was acknowledged."""
    acknowledged: set[str] = set()

    async def send(sender: int) -> None:
        for number in range(10_000):
            key = f"{sender}-{number}" + NOTE
            await store.write(add, key)
            acknowledged.add(key)

    outcomes = await asyncio.wait_for(asyncio.gather(*(send(each) for each in range(40)), return_exceptions=True), 30)
    assert {type(outcome) for outcome in outcomes} == {StoreFull}
    assert all("free disk space" in str(outcome) for outcome in outcomes)
    return acknowledged


async def check_full(store: Store, acknowledged: set[str]) -> None:
    with pytest.raises(StoreFull):
        await store.write(add, "one more")
    assert isinstance(store.broken, StoreFull)
    assert set(await store.read(keys)) >= acknowledged


@pytest.mark.parametrize("pages", range(20, 60, 3))
async def test_at_every_size_limit_nothing_acknowledged_is_lost(pages: int, schema: Schema, tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "notes.db")
    async with open_store(url, schema) as store:
        await store.write(limit_pages, pages)
        acknowledged = await fill(store)
        await check_full(store, acknowledged)

    async with open_store(url, schema) as again:
        found = set(await again.read(keys))
        assert found >= acknowledged
        assert await again.write(add, "room again")


@pytest.mark.parametrize("disk", disks())
async def test_on_a_full_disk_nothing_acknowledged_is_lost_and_there_is_a_way_back(
    disk: Disk, schema: Schema, tmp_path: Path
) -> None:
    with disk(tmp_path / "disk") as folder:
        url = sqlite_url(folder / "notes.db")
        ballast = folder / "something the owner can delete"
        ballast.write_bytes(b"x" * 400_000)
        async with open_store(url, schema) as store:
            await store.write(limit_pages, 400)
            acknowledged = await fill(store)
            await check_full(store, acknowledged)
        ballast.unlink()

        async with open_store(url, schema) as again:
            assert set(await again.read(keys)) >= acknowledged
            assert await again.write(add, "room again")
