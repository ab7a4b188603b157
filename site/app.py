"""Builds the site: its parts, its routes, and the headers around them."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from litestar import Litestar
from litestar.di import Provide
from litestar.types import ASGIApp, ControllerRouterHandler

from core.clock import Clock, system_clock
from core.ids import RandomBytes
from core.settings import Settings
from core.store import open_store

from .headers import security_headers
from .parts import Parts
from .routes import health
from .store.schema import SCHEMA

HANDLERS: list[ControllerRouterHandler] = [*health.HANDLERS]


def open_parts(
    settings: Settings, clock: Clock = system_clock, random_bytes: RandomBytes = secrets.token_bytes
) -> Parts:
    return Parts(settings, open_store(settings.site_db_url, SCHEMA), clock, random_bytes)


def create_app(parts: Parts) -> ASGIApp:
    """The ASGI application over open parts. Closing the store is the caller's, who opened it."""
    app = create_litestar(parts)
    return security_headers(app, script_hashes=(), https=parts.settings.site_url.startswith("https://"))


def create_litestar(parts: Parts) -> Litestar:
    @asynccontextmanager
    async def lifespan(_app: Litestar) -> AsyncIterator[None]:
        yield

    return Litestar(
        route_handlers=HANDLERS,
        dependencies={"parts": Provide(lambda: parts, sync_to_thread=False)},
        lifespan=[lifespan],
        openapi_config=None,
        logging_config=None,
    )
