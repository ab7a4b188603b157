"""`penfriend memory`: what is remembered, looked at, corrected, forgotten, brought in and taken out."""

import asyncio
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from bridge.memory.forget import Forgotten
from bridge.memory.naming import owners_own
from bridge.store.preferences import Preference, find_preference, holding, of_topic
from core.clock import Instant, local_time
from core.errors import BadInput
from core.settings import Settings
from core.settings_files import load_settings

from .bridge_client import ask_bridge
from .memory_door import held, readable, settle
from .memory_export import export_chats
from .memory_import import ImportOptions, import_file
from .memory_search import SearchOptions, search_batch, search_once, show_hits
from .output import AsJson, console, show_json, show_table

app = typer.Typer(help="What your persona remembers.", no_args_is_help=True)

Chat = Annotated[str | None, typer.Option("--chat", help="Only this chat, by its name.")]
NEVER = Instant(2**60)


@app.command("import", help="Bring in a chat: generic JSONL, Telegram's JSON or WhatsApp's text. May be repeated.")
def import_(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="The exported file.")],
    me: Annotated[str | None, typer.Option("--me", help="Your name in a messenger's export.")] = None,
    chat: Annotated[str | None, typer.Option("--chat", help="The chat's name, for an export without one.")] = None,
    apart: Annotated[
        bool, typer.Option("--apart", help="Somebody else's talk: only `memory search` finds it, no conversation does.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    settings = load_settings()
    facts = asyncio.run(import_file(settings, ImportOptions(file, me, chat, apart, quiet=as_json)))
    if as_json:
        show_json(facts)
        return
    console.print(
        f"{facts['added']} messages imported, {facts['known']} were there already, {facts['empty']} without text, "
        f"{facts['unreadable']} unreadable"
    )


@app.command(help="Look for old words, as an answer would. With --batch: JSONL in, JSONL out.")
def search(
    query: Annotated[str | None, typer.Argument(help="What to look for.")] = None,
    batch: Annotated[Path | None, typer.Option("--batch", help="A file of questions; - for standard input.")] = None,
    chat: Chat = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100)] = 10,
    as_json: AsJson = False,
) -> None:
    settings = load_settings()
    if (query is None) == (batch is None):
        raise BadInput("give either QUERY or --batch FILE")
    if batch is not None:
        asyncio.run(search_batch(settings, batch, SearchOptions(chat, limit)))
        return
    hits = asyncio.run(search_once(settings, query or "", SearchOptions(chat, limit)))
    if as_json:
        show_json({"hits": hits})
    else:
        show_hits(hits, ZoneInfo(settings.persona.timezone))


@app.command(help="Derive statements and index anew from the messages.")
def reindex() -> None:
    settings = load_settings()
    console.print(asyncio.run(_reindex(settings)))


async def _reindex(settings: Settings) -> str:
    async with held(settings) as mine:
        if mine is None:
            ask_bridge(settings, "POST", "/memory/reindex")
            return "The bridge is rebuilding; it goes on answering meanwhile."
        read = await mine.desk.note_all_again()
        await mine.index.rebuild()
        await settle(mine.index)
        return f"Rebuilt: statements of {read} messages, and the index."


@app.command("list", help="What you stated and what holds now.")
def list_(chat: Chat = None, as_json: AsJson = False) -> None:
    settings = load_settings()
    held_now = asyncio.run(_holding(settings, chat))
    _show(held_now, settings, as_json)


async def _holding(settings: Settings, chat: str | None) -> list[Preference]:
    async with readable(settings) as memory:
        return memory.read_now(holding, memory.read_now(owners_own, chat), NEVER)


@app.command(help="All that was stated on the topic of a preference, oldest first.")
def history(
    preference: Annotated[int, typer.Argument(help="Its number in `memory list`.")], as_json: AsJson = False
) -> None:
    settings = load_settings()
    _show(asyncio.run(_history(settings, preference)), settings, as_json)


async def _history(settings: Settings, preference: int) -> list[Preference]:
    async with readable(settings) as memory:
        one = memory.read_now(find_preference, preference)
        if one is None:
            raise BadInput(f"there is no preference {preference}: see `penfriend memory list`")
        mine = memory.read_now(owners_own, None)
        where = mine if one.conversation in mine else [one.conversation]
        return memory.read_now(of_topic, where, one.topic)


def _show(preferences: list[Preference], settings: Settings, as_json: bool) -> None:
    if as_json:
        show_json({"preferences": [vars(one) for one in preferences]})
        return
    zone = ZoneInfo(settings.persona.timezone)
    rows = [
        (one.id, f"{local_time(one.said_at, zone):%Y-%m-%d}", one.kind, one.topic, one.quote, _standing(one))
        for one in preferences
    ]
    show_table(("", "said", "kind", "topic", "in your words", ""), rows, "Nothing was stated yet.")


def _standing(one: Preference) -> str:
    if one.deleted_at is not None:
        return "taken back" if one.quote else "forgotten"
    return "" if one.superseded_at is None else "replaced"


@app.command(help="Put a preference into new words.")
def edit(
    preference: Annotated[int, typer.Argument(help="Its number in `memory list`.")],
    text: Annotated[str, typer.Argument(help="Your new words.")],
) -> None:
    asyncio.run(_edit(load_settings(), preference, text))
    console.print("Kept; the words before it are its history.")


async def _edit(settings: Settings, preference: int, text: str | None) -> None:
    async with held(settings) as mine:
        if mine is None:
            ask_bridge(settings, "POST", "/memory/edit", {"preference": preference, "text": text})
        elif text is None:
            await mine.desk.undo(preference)
        else:
            await mine.desk.edit(preference, text)
            await settle(mine.index)


@app.command(help="Remove words for good: preferences by number, messages by id, or with --chat alone a whole chat.")
def forget(
    refs: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="From `memory list` or `search`.")] = None,
    chat: Chat = None,
    keep_message: Annotated[
        bool, typer.Option("--keep-message", help="Take a preference back, but keep the message it stands in.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    settings = load_settings()
    named = refs or []
    if not named and chat is None:
        raise BadInput("say what to forget: ids, or --chat NAME for a whole chat")
    if keep_message:
        for ref in named:
            asyncio.run(_edit(settings, _preference(ref), None))
        console.print("Taken back; what held before it on the topic holds again.")
        return
    facts = asyncio.run(_forget(settings, named, chat))
    if as_json:
        show_json(facts)
    else:
        for what, count in facts.items():
            console.print(f"{what.replace('_', ' ')}: {count}", highlight=False)
        console.print(_backups(settings))


def _preference(ref: str) -> int:
    if not ref.isdecimal():
        raise BadInput(f"{ref!r} is no number of a preference: see `penfriend memory list`")
    return int(ref)


async def _forget(settings: Settings, refs: list[str], chat: str | None) -> dict[str, object]:
    async with held(settings) as mine:
        if mine is None:
            return ask_bridge(settings, "POST", "/memory/forget", {"refs": refs, "chat": chat})
        done: Forgotten = await mine.desk.forget(refs, chat)
        await mine.index.rebuild()
        return {**vars(done), "index": "rebuilt, and the store's log emptied"}


def _backups(settings: Settings) -> str:
    kept = sorted((settings.data_dir / "backups").glob("**/*.db"))
    if not kept:
        return "No backup holds it."
    return f"{len(kept)} backups in {settings.data_dir / 'backups'} still hold it, until you delete them."


@app.command(help="Write everything that was said as generic JSONL, to a file or to standard output.")
def export(
    file: Annotated[Path | None, typer.Argument(help="The file; standard output without one.")] = None,
    chat: Chat = None,
) -> None:
    settings = load_settings()
    number = asyncio.run(export_chats(settings, file, chat))
    if file is not None:
        console.print(f"{number} messages written to {file}")
