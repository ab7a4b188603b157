"""Renders the owner's pages: server-made, whole without a script, in the language of the session.

Templates write `t("English words")`; the Chinese for them is in `words.py`. A test holds the two together.
"""

import re
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

from jinja2 import Environment
from litestar import Response
from litestar.datastructures import Cookie
from markupsafe import Markup, escape

from core.budget import Language, money_text
from core.clock import Instant, local_time
from core.settings import Settings

from ..assets import Assets
from ..pages import HTML, new_environment
from ..store.sessions import Session
from .words import ZH

LANGUAGES: tuple[Language, ...] = ("zh", "en")
LANG_TAG = {"zh": "zh-Hans", "en": "en"}
NAVIGATION = (
    ("/owner", "Desk"),
    ("/owner/inbox", "Inbox"),
    ("/owner/drafts", "Articles"),
    ("/owner/memory", "Memory"),
    ("/owner/outbox", "Outbox"),
    ("/owner/voice", "Voice"),
    ("/owner/pairings", "Pairings"),
    ("/owner/money", "Money"),
    ("/owner/security", "Security"),
)
# Where a page stands in the navigation; the others go by their own name.
STANDS_AT = {
    "desk.html": "/owner",
    "review.html": "/owner/inbox",
    "conflict.html": "/owner/inbox",
    "draft.html": "/owner/drafts",
    "draft_conflict.html": "/owner/drafts",
    "versions.html": "/owner/drafts",
    "exchange.html": "/owner/memory",
    "pictures.html": "/owner/drafts",
    "links.html": "/owner/drafts",
}


def speaker(language: str) -> Callable[..., str]:
    """The function templates know as `t`.

    >>> speaker("en")("{n} waiting", n=2), speaker("zh")("Money")
    ('2 waiting', '费用')
    """

    def t(english: str, **filled: object) -> str:
        words = ZH[english] if language == "zh" else english
        return words.format(**filled) if filled else words

    return t


def chosen_language(settings: Settings, asked: str | None, accept: str) -> Language:
    """For pages before the sign-in: what was asked for, else what the browser prefers among our two, else the house's."""
    for tag in (asked or "", *(part.split(";")[0].strip() for part in accept.split(","))):
        for language in LANGUAGES:
            if tag.lower().split("-")[0] == language:
                return language
    return settings.persona.language


class DeskPages:
    """Made once for the application. `Any` in the contexts: a template takes whatever it names."""

    def __init__(self, settings: Settings, assets: Assets) -> None:
        self.settings = settings
        self._zone = zone_of(settings)
        self._env: Environment = new_environment(settings, assets)
        self._env.globals.update(
            money=money_text,
            currency=settings.budgets.currency,
            when=self._when,
            navigation=NAVIGATION,
            marked=marked,
            browser_name=browser_name,
        )

    def page(
        self,
        template: str,
        session: Session,
        *,
        status: int = 200,
        cookies: tuple[Cookie, ...] = (),
        **context: Any,
    ) -> Response[str]:
        body = self.render(template, session.language, session=session, **context)
        return Response(body, status_code=status, media_type=HTML, cookies=list(cookies))

    def outside(self, template: str, language: Language, *, status: int = 200, **context: Any) -> Response[str]:
        """A page for somebody who is not signed in."""
        return Response(self.render(template, language, session=None, **context), status_code=status, media_type=HTML)

    def render(self, template: str, language: str, **context: Any) -> str:
        here = STANDS_AT.get(template, f"/owner/{template.removesuffix('.html')}")
        frame = {"t": speaker(language), "language": language, "tag": LANG_TAG[language], "here": here}
        return self._env.get_template(f"owner/{template}").render(frame, **context)

    def _when(self, at: Instant | None) -> str:
        return "" if at is None else local_time(at, self._zone).strftime("%Y-%m-%d %H:%M")


def marked(text: str, words: str) -> Markup:
    """The text with every place that holds these words as they stand, whatever their case, in a `mark`.

    >>> str(marked("Tea & <tea>", "tea"))
    '<mark>Tea</mark> &amp; &lt;<mark>tea</mark>&gt;'
    """
    if not words:
        return escape(text)
    pieces = re.split(f"({re.escape(words)})", text, flags=re.IGNORECASE)
    return Markup().join(
        Markup("<mark>{}</mark>").format(one) if at % 2 else escape(one) for at, one in enumerate(pieces)
    )


_BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"), ("Version", "Safari"))
_SYSTEMS = ("iPhone", "iPad", "Android", "Windows", "Mac OS X", "Linux")


def browser_name(agent: str) -> str:
    """Enough of a User-Agent for the owner to know the browser again; nothing for one that is no browser's.

    >>> browser_name("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36")
    'Chrome 139, Linux'
    >>> browser_name("curl/8"), browser_name("Mozilla/5.0 (iPhone; …) Version/18.2 Mobile/15E148 Safari/604.1")
    ('', 'Safari 18, iPhone')
    """
    found = ((name, re.search(rf"\b{mark}/(\d+)", agent)) for mark, name in _BROWSERS)
    told = next((f"{name} {match[1]}" for name, match in found if match), "")
    system = next((name for name in _SYSTEMS if name in agent), "")
    return ", ".join(part for part in (told, system) if part)


def zone_of(settings: Settings) -> ZoneInfo:
    return ZoneInfo(settings.persona.timezone)
