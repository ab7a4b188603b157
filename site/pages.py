"""Renders pages: our own Jinja environment, with what every template knows. Which page shows what is in `routes/`."""

import base64
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Response
from markupsafe import Markup

from core.settings import Settings

from .assets import Assets
from .conditional import WebRequest, conditional
from .language import LANGUAGES, Language, localised, other_language
from .plan.catalog import as_json
from .words import WORDS, spoken_date

TEMPLATES = Path(__file__).parent / "templates"
HTML = "text/html"

# Runs before the first paint, so that neither theme nor intro flashes. The CSP allows it by its hash, see `headers.py`.
FIRST_SCRIPT = (TEMPLATES / "first.js").read_text("utf-8").strip()


def script_hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def catalog_version() -> str:
    return hashlib.sha256(json.dumps(as_json()).encode()).hexdigest()[:8]


@dataclass(frozen=True)
class View:
    """The address and language of the request a page answers."""

    language: Language
    path: str

    @classmethod
    def of(cls, request: WebRequest, house: Language) -> "View":
        state = request.scope.get("state", {})
        return cls(state.get("language", house), state.get("path", request.scope["path"]))


class Pages:
    """Made once for the application. `Any` in the contexts below: a template takes whatever it names."""

    def __init__(self, settings: Settings, assets: Assets) -> None:
        self.settings = settings
        self.house: Language = settings.persona.language
        self._env = new_environment(settings, assets)

    def page(self, request: WebRequest, template: str, *, status: int = 200, **context: Any) -> Response[bytes]:
        """A page that may be kept and asked about again; an answer to a POST is for whoever asked."""
        body = self.render(template, View.of(request, self.house), **context).encode()
        if request.method == "POST" or status != 200:
            return Response(body, status_code=status, headers={"Cache-Control": "no-store"}, media_type=HTML)
        return conditional(request, body, HTML)

    def render(self, template: str, view: View, **context: Any) -> str:
        return self._env.get_template(template).render(**self._frame(view), **context)

    def absolute(self, path: str, language: Language | None = None) -> str:
        return self.settings.site_url + quote(localised(path, language or self.house, self.house))

    @staticmethod
    def relative(path: str) -> str:
        """The address of a path as it may stand in a header or in a feed."""
        return quote(path)

    def _frame(self, view: View) -> dict[str, Any]:
        """What every template knows: words, language, and addresses in that language."""

        def url(path: str) -> str:
            return quote(localised(path, view.language, self.house), safe="/?=&#:~,")

        return {
            "t": WORDS[view.language],
            "language": view.language,
            "path": view.path,
            "url": url,
            "other": other_language(view.language),
            "other_url": quote(localised(view.path, other_language(view.language), self.house)),
            "canonical": self.absolute(view.path, view.language),
            "alternates": {language: self.absolute(view.path, language) for language in LANGUAGES},
            "absolute": self.absolute,
            "spoken": lambda day: spoken_date(day, view.language),
        }


def new_environment(settings: Settings, assets: Assets) -> Environment:
    env = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals.update(
        site_title=settings.site_title,
        persona=settings.persona.name,
        house=settings.persona.language,
        site_url=settings.site_url,
        asset=assets.url,
        catalog=f"/assistant/catalog.json?v={catalog_version()}",
        first_script=Markup(FIRST_SCRIPT),  # noqa: S704 - our own file, checked against its hash by the browser
        lang_tag={"zh": "zh-Hans", "en": "en"},
    )
    return env
