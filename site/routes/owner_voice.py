"""The persona's private voice: written by the owner, every version kept, never told to a reader."""

from datetime import datetime
from zoneinfo import ZoneInfo

from litestar import Response, get, post
from litestar.di import NamedDependency
from litestar.exceptions import NotFoundException
from litestar.params import FromPath
from litestar.response import Redirect
from sqlalchemy import Connection

from core.clock import Instant, local_time
from core.errors import BadInput
from core.model.system_text import DigestBrief, PersonaFacts, ReplyBrief, build_system_text

from ..owner.default_voices import DEFAULT_VOICES
from ..owner.door import AnyRequest, fields_of, number_in
from ..owner.pages import DeskPages
from ..parts import Parts
from ..store import audit, voices
from ..store.sessions import Session

VOICE = "/owner/voice"
MAX_VOICE = 8_000


@get("/voice")
async def voice_page(
    parts: NamedDependency[Parts], desk: NamedDependency[DeskPages], session: NamedDependency[Session]
) -> Response[str]:
    found = await parts.store.read(voices.history)
    return _page(parts, desk, session, found, found[0].text if found else _default(parts))


def _default(parts: Parts) -> str:
    return DEFAULT_VOICES[parts.settings.persona.language]


def _page(
    parts: Parts,
    desk: DeskPages,
    session: Session,
    history: tuple[voices.VoiceVersion, ...],
    text: str,
    *,
    mine_on: int | None = None,
) -> Response[str]:
    """`mine_on` is the old version a refused text was written on."""
    now = local_time(parts.clock(), ZoneInfo(parts.settings.persona.timezone))
    status = 200 if mine_on is None else 409
    return desk.page(
        "voice.html",
        session,
        status=status,
        history=history,
        text=text,
        built=built(parts, text, now),
        mine_on=mine_on,
        default=_default(parts),
    )


def built(parts: Parts, voice: str, now: datetime) -> dict[str, str]:
    """What a model is told with this voice, by task; what changes from call to call is left out."""
    chosen = parts.settings.persona
    persona = PersonaFacts(chosen.name, chosen.language, chosen.timezone)
    return {
        "reply": build_system_text(ReplyBrief(persona, now, voice, "[]")).stable,
        "digest": build_system_text(DigestBrief(persona, now, voice, "[]")).stable,
    }


@post("/voice", status_code=200)
async def save_voice(
    request: AnyRequest,
    parts: NamedDependency[Parts],
    desk: NamedDependency[DeskPages],
    session: NamedDependency[Session],
) -> Response[str] | Redirect:
    fields = await fields_of(request)
    text, based_on = fields.get("text", "").strip(), number_in(fields, "version")
    if len(text) > MAX_VOICE:
        raise BadInput(f"a voice has at most {MAX_VOICE} characters, this one has {len(text)}")
    if await parts.store.write(_save, session, based_on, text, parts.clock()):
        return Redirect(VOICE, status_code=303)
    return _page(parts, desk, session, await parts.store.read(voices.history), text, mine_on=based_on)


def _save(conn: Connection, session: Session, based_on: int, text: str, now: Instant) -> bool:
    """False when another version was saved since the page was loaded."""
    newest = voices.newest(conn)
    if (newest.version if newest else 0) != based_on:
        return False
    if newest is None or newest.text != text:
        version = voices.add(conn, text, now)
        audit.write(conn, audit.Deed("owner", session.address, "saved_voice", f"version {version}"), now)
    return True


@post("/voice/{version:int}/restore", status_code=200)
async def restore_voice(
    parts: NamedDependency[Parts], session: NamedDependency[Session], version: FromPath[int]
) -> Redirect:
    if not await parts.store.write(_restore, session, version, parts.clock()):
        raise NotFoundException
    return Redirect(VOICE, status_code=303)


def _restore(conn: Connection, session: Session, version: int, now: Instant) -> bool:
    """An old version becomes the newest; none is ever taken away."""
    old = voices.one(conn, version)
    if old is None:
        return False
    made = voices.add(conn, old.text, now)
    audit.write(conn, audit.Deed("owner", session.address, "restored_voice", f"version {version} as {made}"), now)
    return True


HANDLERS = [voice_page, save_voice, restore_voice]
