"""Builds the site: its parts, its routes, and the headers around them."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from litestar import Litestar
from litestar.di import Provide
from litestar.types import ASGIApp, ControllerRouterHandler

from core.clock import Clock, system_clock
from core.ids import RandomBytes
from core.settings import Settings
from core.store import open_store

from .assets import Assets
from .head import answer_head
from .headers import security_headers
from .language import language_in_path
from .pages import FIRST_SCRIPT, Pages, script_hash
from .parts import Parts
from .routes import article, errors, health, public, static
from .store.publications import PublicReader
from .store.schema import SCHEMA

HANDLERS: list[ControllerRouterHandler] = [
    *health.HANDLERS,
    *static.HANDLERS,
    *public.HANDLERS,
    *article.HANDLERS,
]


def open_parts(
    settings: Settings, clock: Clock = system_clock, random_bytes: RandomBytes = secrets.token_bytes
) -> Parts:
    return Parts(settings, open_store(settings.site_db_url, SCHEMA), clock, random_bytes)


def create_app(parts: Parts) -> ASGIApp:
    """The ASGI application over open parts. Closing the store is the caller's, who opened it."""
    app = language_in_path(create_litestar(parts), parts.settings.persona.language)
    https = parts.settings.site_url.startswith("https://")
    return security_headers(answer_head(app), script_hashes=(script_hash(FIRST_SCRIPT),), https=https)


def create_litestar(parts: Parts) -> Litestar:
    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        yield

    assets = Assets()
    pages = Pages(parts.settings, assets)
    given = {"parts": parts, "assets": assets, "pages": pages, "reader": PublicReader(parts.store)}
    return Litestar(
        route_handlers=HANDLERS,
        dependencies={name: Provide(partial(_same, thing), sync_to_thread=False) for name, thing in given.items()},
        exception_handlers=errors.error_handlers(pages),
        lifespan=[lifespan],
        openapi_config=None,
        logging_config=None,
    )


def _same(thing: object) -> object:
    return thing
