"""The memory commands of the running bridge, behind the same token as the rest of its loopback HTTP."""

import asyncio
from collections.abc import Sequence
from typing import TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from core.errors import BadInput, PenfriendError

from .gateway import Gateway
from .memory.desk import MemoryDesk
from .memory.import_formats import GenericLine, ImportedLine, line_of

Body = TypeVar("Body", bound=BaseModel)


class ImportBody(BaseModel):
    model_config = ConfigDict(extra="forbid")
    lines: list[GenericLine] = Field(max_length=5000)
    apart: bool = False


class ForgetBody(BaseModel):
    model_config = ConfigDict(extra="forbid")
    refs: list[str] = Field([], max_length=1000)
    chat: str | None = None


class EditBody(BaseModel):
    """`text` of None takes the preference back and leaves the message."""

    model_config = ConfigDict(extra="forbid")
    preference: int
    text: str | None = Field(max_length=2000)


class MemoryRoutes:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._desk = MemoryDesk(gateway.store, gateway.clock, gateway.mint)
        self._reindexing: asyncio.Task[None] | None = None

    def routes(self) -> Sequence[web.RouteDef]:
        return [
            web.post("/memory/import", self.import_),
            web.post("/memory/forget", self.forget),
            web.post("/memory/edit", self.edit),
            web.post("/memory/reindex", self.reindex),
        ]

    async def import_(self, request: web.Request) -> web.Response:
        body = await _body(request, ImportBody)
        lines: list[ImportedLine] = [line_of(one) for one in body.lines]
        done = await self._desk.import_(lines, apart=body.apart)
        self._gateway.memory_bell.ring()
        return web.json_response(vars(done))

    async def forget(self, request: web.Request) -> web.Response:
        body = await _body(request, ForgetBody)
        done = await self._desk.forget(body.refs, body.chat)
        self._gateway.memory_bell.ring()
        self._gateway.sync_bell.ring()
        return web.json_response({**vars(done), "index": "is being rebuilt"})

    async def edit(self, request: web.Request) -> web.Response:
        body = await _body(request, EditBody)
        if body.text is None:
            await self._desk.undo(body.preference)
        else:
            await self._desk.edit(body.preference, body.text)
        self._gateway.memory_bell.ring()
        return web.json_response({"preference": body.preference})

    async def reindex(self, _request: web.Request) -> web.Response:
        """Begun and not waited for: `penfriend doctor` says when something is wrong with it."""
        if self._reindexing is None or self._reindexing.done():
            self._reindexing = asyncio.create_task(self._reindex())
        return web.json_response({"index": "is being rebuilt"})

    async def _reindex(self) -> None:
        gateway = self._gateway
        gateway.memory.ask_for_rebuild()
        gateway.memory_bell.ring()
        try:
            await self._desk.note_all_again()
            gateway.problems.pop("reindex", None)
        except PenfriendError as problem:
            gateway.problems["reindex"] = str(problem)


async def _body(request: web.Request, kind: type[Body]) -> Body:
    try:
        return kind.model_validate_json(await request.read())
    except ValidationError as wrong:
        first = wrong.errors()[0]
        raise BadInput(f"{'.'.join(str(part) for part in first['loc']) or 'body'}: {first['msg']}") from wrong
