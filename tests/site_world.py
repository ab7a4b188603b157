"""A site for tests: a real store in a folder of its own, the real application, articles written as files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from litestar.types import ASGIApp

from core.clock import Instant
from core.settings import Settings
from website.app import create_app, open_parts
from website.content import Imported, import_folder
from website.parts import Parts

NOON = Instant(1_780_000_000_000)


@dataclass
class SiteWorld:
    """`folder` holds the Markdown files; `publish` imports it."""

    parts: Parts
    app: ASGIApp
    folder: Path
    client: httpx.AsyncClient

    def write(self, slug: str, body: str, **front: object) -> None:
        """A post in English, published, unless `front` says otherwise."""
        facts = {"slug": slug, "title": slug, "date": "2026-03-14", "kind": "post", "language": "en", **front}
        head = "\n".join(f"{key}: {_yaml(value)}" for key, value in facts.items())
        self.folder.mkdir(exist_ok=True)
        (self.folder / f"{slug}.md").write_text(f"---\n{head}\n---\n\n{body}\n", "utf-8")

    async def publish(self) -> Imported:
        return await import_folder(self.parts.store, self.parts.settings.data_dir, self.folder, self.parts.clock)

    async def get(self, path: str, **headers: str) -> httpx.Response:
        return await self.client.get(path, headers={name.replace("_", "-"): text for name, text in headers.items()})

    async def ask(self, question: str, **more: str) -> httpx.Response:
        return await self.client.post("/ask", data={"question": question, **more})


@asynccontextmanager
async def a_site(tmp_path: Path, **settings: object) -> AsyncIterator[SiteWorld]:
    chosen = Settings.model_validate({"data_dir": tmp_path / "data", **settings})
    parts = open_parts(chosen, clock=lambda: NOON)
    async with parts.store:
        app = create_app(parts)
        transport = httpx.ASGITransport(app=app)  # type: ignore[arg-type]  # Litestar and httpx spell ASGI's types differently
        async with httpx.AsyncClient(transport=transport, base_url="http://blog.test") as client:
            yield SiteWorld(parts, app, tmp_path / "articles", client)


def _yaml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
