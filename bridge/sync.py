"""Tells the site what it should know. The only step that is retried blindly: every record is idempotent by its key."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Clock, Instant
from core.control.client import ControlClient
from core.control.messages import SaidRecord, StateRecord, SyncAnswer, SyncBatch, UsageEvent, UsageReport
from core.errors import ControlError, ControlRefused
from core.store import Store

from .store.sync_records import WaitingRecord, mark_synced, waiting_records

USAGE = "usage"

Answer = tuple[WaitingRecord, str | None]
Send = Callable[[list[WaitingRecord]], Awaitable[list[Answer]]]


@dataclass
class Syncing:
    store: Store
    control: ControlClient
    clock: Clock
    problem: str = ""

    async def sync_waiting(self) -> bool:
        """Sends one round of what waits; False when the site took nothing of it, or nothing waited."""
        waiting = await self.store.read(waiting_records)
        if not waiting:
            return False
        try:
            usage = await self._in_halves([record for record in waiting if record.kind == USAGE], self._send_usage)
            other = await self._in_halves([record for record in waiting if record.kind != USAGE], self._send_records)
        except ControlError as problem:
            self.problem = str(problem)
            return False
        self.problem = ""
        await self.store.write(_mark, usage + other, self.clock())
        return bool(usage or other)

    async def _in_halves(self, waiting: list[WaitingRecord], send: Send) -> list[Answer]:
        """One record the site cannot take must not hold up the others: it is found, and kept with the refusal."""
        if not waiting:
            return []
        try:
            return await send(waiting)
        except ControlRefused as refused:
            if refused.status not in (400, 413):
                raise
            if len(waiting) == 1:
                return [(waiting[0], str(refused))]
            middle = len(waiting) // 2
            return await self._in_halves(waiting[:middle], send) + await self._in_halves(waiting[middle:], send)

    async def _send_usage(self, waiting: list[WaitingRecord]) -> list[Answer]:
        events = tuple(UsageEvent.model_validate_json(record.body) for record in waiting)
        await self.control.usage(UsageReport(events=events))
        return [(record, None) for record in waiting]

    async def _send_records(self, waiting: list[WaitingRecord]) -> list[Answer]:
        answer = await self.control.sync(SyncBatch(records=tuple(_record(record) for record in waiting)))
        return [(record, answer.refused.get(record.key)) for record in waiting if _answered(record, answer)]


def _answered(record: WaitingRecord, answer: SyncAnswer) -> bool:
    return record.key in answer.kept or record.key in answer.refused


def _record(record: WaitingRecord) -> SaidRecord | StateRecord:
    kind = SaidRecord if record.kind == "said" else StateRecord
    return kind.model_validate_json(record.body)


def _mark(conn: Connection, answers: list[Answer], now: Instant) -> None:
    for record, refused in answers:
        mark_synced(conn, record, now, refused)
