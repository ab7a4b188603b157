"""Tells the site what it should know. The only step that is retried blindly: every record is idempotent by its key."""

from dataclasses import dataclass

from sqlalchemy import Connection

from core.clock import Clock, Instant
from core.control.client import ControlClient
from core.control.messages import SaidRecord, StateRecord, SyncAnswer, SyncBatch, UsageEvent, UsageReport
from core.errors import ControlError, ControlRefused
from core.store import Store

from .store.sync_records import WaitingRecord, mark_synced, waiting_records

USAGE = "usage"


@dataclass
class Syncing:
    store: Store
    control: ControlClient
    clock: Clock
    problem: str = ""

    async def sync_waiting(self) -> bool:
        """Sends one round of what waits; False when nothing waited or the site did not take it."""
        waiting = await self.store.read(waiting_records)
        if not waiting:
            return False
        try:
            answers = await self._send(waiting)
        except ControlError as problem:
            self.problem = str(problem)
            return False
        self.problem = ""
        await self.store.write(_mark, answers, self.clock())
        return True

    async def _send(self, waiting: list[WaitingRecord]) -> list[tuple[WaitingRecord, str | None]]:
        usage = [record for record in waiting if record.kind == USAGE]
        other = [record for record in waiting if record.kind != USAGE]
        answers: list[tuple[WaitingRecord, str | None]] = []
        if usage:
            events = tuple(UsageEvent.model_validate_json(record.body) for record in usage)
            await self.control.usage(UsageReport(events=events))
            answers += [(record, None) for record in usage]
        if other:
            answers += await self._sync(other)
        return answers

    async def _sync(self, waiting: list[WaitingRecord]) -> list[tuple[WaitingRecord, str | None]]:
        try:
            answer = await self.control.sync(SyncBatch(records=tuple(_record(record) for record in waiting)))
        except ControlRefused as refused:
            if refused.status not in (400, 413) or len(waiting) == 1:
                raise
            # One record the site cannot take must not hold up the others: send them in halves.
            middle = len(waiting) // 2
            return await self._sync(waiting[:middle]) + await self._sync(waiting[middle:])
        return [(record, answer.refused.get(record.key)) for record in waiting if _answered(record, answer)]


def _answered(record: WaitingRecord, answer: SyncAnswer) -> bool:
    return record.key in answer.kept or record.key in answer.refused


def _record(record: WaitingRecord) -> SaidRecord | StateRecord:
    kind = SaidRecord if record.kind == "said" else StateRecord
    return kind.model_validate_json(record.body)


def _mark(conn: Connection, answers: list[tuple[WaitingRecord, str | None]], now: Instant) -> None:
    for record, refused in answers:
        mark_synced(conn, record, now, refused)
