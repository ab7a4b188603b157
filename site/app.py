"""Builds the site: its parts, its routes, and the headers around them."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import fields

from litestar import Litestar
from litestar.di import Provide
from litestar.types import ASGIApp, ControllerRouterHandler

from core.clock import Clock, system_clock
from core.ids import RandomBytes
from core.settings import Settings
from core.store import open_store

from .cross_site import refuse_cross_site
from .head import answer_head
from .headers import security_headers
from .language import language_in_path
from .owner.start import prepare
from .page_cache import keep_pages
from .pages import FIRST_SCRIPT, script_hash
from .parts import Parts
from .public_side import PublicSide, build_public_side
from .routes import article, ask, assistant, errors, feeds, health, public, search, static
from .routes.control import control_router
from .routes.owner import owner_routers
from .store.schema import SCHEMA

HANDLERS: list[ControllerRouterHandler] = [
    *health.HANDLERS,
    *static.HANDLERS,
    *public.HANDLERS,
    *feeds.HANDLERS,
    *search.HANDLERS,
    *ask.HANDLERS,
    *assistant.HANDLERS,
    *article.HANDLERS,
]


def open_parts(
    settings: Settings, clock: Clock = system_clock, random_bytes: RandomBytes = secrets.token_bytes
) -> Parts:
    return Parts(settings, open_store(settings.site_db_url, SCHEMA), clock, random_bytes)


def create_app(parts: Parts) -> ASGIApp:
    """The ASGI application over open parts. Closing the store is the caller's, who opened it."""
    public_side = build_public_side(parts)
    app = keep_pages(create_litestar(parts, public_side), public_side.editions)
    app = language_in_path(app, parts.settings.persona.language)
    app = refuse_cross_site(answer_head(app))
    https = parts.settings.site_url.startswith("https://")
    return security_headers(app, script_hashes=(script_hash(FIRST_SCRIPT),), https=https)


def create_litestar(parts: Parts, public_side: PublicSide) -> Litestar:
    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        await prepare(parts)
        yield
        await public_side.close()

    given = {"parts": parts, **{field.name: getattr(public_side, field.name) for field in fields(public_side)}}
    return Litestar(
        route_handlers=[*HANDLERS, control_router(parts), *owner_routers(parts, public_side.assets)],
        dependencies={name: _always(thing) for name, thing in given.items()},
        exception_handlers=errors.error_handlers(public_side.pages),
        lifespan=[lifespan],
        openapi_config=None,
        logging_config=None,
    )


def _always(thing: object) -> Provide:
    return Provide(lambda: thing, sync_to_thread=False)
