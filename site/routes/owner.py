"""The owner's pages under one router with one door. A new topic is one file and one line here."""

from functools import partial
from typing import Any

from litestar import Response, Router
from litestar.di import Provide
from litestar.exceptions import HTTPException, NotFoundException
from litestar.types import ExceptionHandlersMap

from core.errors import BadInput

from ..assets import Assets
from ..inbox.review import EditConflict
from ..owner.door import AnyRequest, owner_door, signed_in
from ..owner.pages import DeskPages, chosen_language
from ..parts import Parts
from ..store.articles import DraftConflict
from . import (
    owner_desk,
    owner_drafts,
    owner_export,
    owner_inbox,
    owner_memory,
    owner_money,
    owner_outbox,
    owner_pairings,
    owner_passkeys,
    owner_pictures,
    owner_previews,
    owner_publishing,
    owner_security,
    owner_sign_in,
    owner_voice,
)
from .owner_drafts import by_script

MAX_BODY_BYTES = 2 * 1024 * 1024

HANDLERS = [
    *owner_desk.HANDLERS,
    *owner_inbox.HANDLERS,
    *owner_memory.HANDLERS,
    *owner_drafts.HANDLERS,
    *owner_publishing.HANDLERS,
    *owner_pictures.HANDLERS,
    *owner_previews.HANDLERS,
    *owner_pairings.HANDLERS,
    *owner_outbox.HANDLERS,
    *owner_voice.HANDLERS,
    *owner_money.HANDLERS,
    *owner_security.HANDLERS,
    *owner_passkeys.HANDLERS,
    *owner_export.HANDLERS,
]


def owner_routers(parts: Parts, assets: Assets) -> list[Router]:
    desk = DeskPages(parts.settings, assets)
    common = {"desk": Provide(lambda: desk, sync_to_thread=False)}
    refusals: ExceptionHandlersMap = {BadInput: partial(_refused, desk), HTTPException: partial(_refused, desk)}
    inside = Router(
        "/owner",
        route_handlers=HANDLERS,
        before_request=owner_door(parts.store, parts.clock, desk),
        dependencies={"session": Provide(signed_in)},
        request_max_body_size=MAX_BODY_BYTES,
    )
    outside = owner_sign_in.sign_in_router(parts)
    return [
        Router(
            "/",
            route_handlers=[inside, outside, owner_previews.preview_router(), owner_passkeys.passkey_router(parts)],
            dependencies=common,
            exception_handlers=refusals,
        )
    ]


def _refused(desk: DeskPages, request: AnyRequest, error: Exception) -> Response[Any]:
    """What happened and what to do, as a page, with the status of the fault."""
    status = error.status_code if isinstance(error, HTTPException) else 400
    if isinstance(error, DraftConflict | EditConflict):
        status = 409
    detail = "" if isinstance(error, NotFoundException) else _sentence(error)
    if by_script(request):
        return Response({"detail": _sentence(error)}, status_code=status)
    language = chosen_language(desk.settings, None, request.headers.get("accept-language", ""))
    return desk.outside("refused.html", language, status=status, heading=status, detail=detail)


def _sentence(error: Exception) -> str:
    return error.detail if isinstance(error, HTTPException) else str(error)
