"""`penfriend chat`: a terminal of the console channel. It repeats a message until the bridge says that it is kept."""

import asyncio
import json
import re
import secrets
import sys
from typing import Annotated

import aiohttp
import typer
from rich.markdown import Markdown

from core.errors import BadInput, ControlUnreachable
from core.local_token import read_token
from core.settings import Settings
from core.settings_files import load_settings

from .output import console

REPLY_WAIT_S = 240.0

_DRIVING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters but line feed and tab, and marks that turn the direction of writing."""


def register(app: typer.Typer) -> None:
    app.command("chat", help="Talk with your persona in this terminal.")(chat)


def chat(
    once: Annotated[str | None, typer.Option("--once", metavar="TEXT", help="Say TEXT, print the answer, end.")] = None,
) -> None:
    settings = load_settings()
    try:
        if once is not None:
            asyncio.run(_say_once(settings, once))
        elif sys.stdin.isatty():
            asyncio.run(_talk(settings))
        else:
            asyncio.run(_say_once(settings, sys.stdin.read().strip()))
    except (KeyboardInterrupt, EOFError):
        console.print()


class Line:
    """One connection to the bridge."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.bridge_url
        self._headers = {"Authorization": f"Bearer {read_token(settings.secrets_dir)}"}

    async def __aenter__(self) -> "Line":
        self._session = aiohttp.ClientSession(headers=self._headers)
        try:
            self._socket = await self._session.ws_connect(f"{self._url}/console", heartbeat=20, max_msg_size=0)
        except (aiohttp.ClientError, OSError) as problem:
            await self._session.close()
            raise ControlUnreachable(
                f"no bridge answers at {self._url} ({type(problem).__name__}): start it with `penfriend up`"
            ) from problem
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._socket.close()
        await self._session.close()

    async def say(self, text: str) -> str:
        name = secrets.token_hex(12)
        await self._socket.send_str(json.dumps({"id": name, "text": text}, ensure_ascii=False))
        return name

    async def next(self) -> dict[str, object]:
        """The next frame; a part is confirmed before it is given back, because it is shown at once."""
        frame = await self._socket.receive()
        if frame.type is not aiohttp.WSMsgType.TEXT:
            raise ControlUnreachable(
                "the bridge has closed the line: look at `penfriend status`, then start `penfriend chat` again"
            )
        facts: dict[str, object] = json.loads(frame.data)
        if "text" in facts:
            await self._socket.send_str(json.dumps({"shown": facts["id"]}))
        return facts


def printable(text: str) -> str:
    """The text without what would drive the terminal: a model's answer must not move a cursor or hide a line.

    >>> printable("a\\x1b[2Jb\\u202ec")
    'a[2Jbc'
    """
    return _DRIVING.sub("", text)


async def _say_once(settings: Settings, text: str) -> None:
    """Prints the parts of the answer to this one message, and nothing else that may come meanwhile."""
    if not text.strip():
        raise BadInput('there is nothing to say: write a message, as in penfriend chat --once "Good morning"')
    async with Line(settings) as line:
        name = await line.say(text)
        async with asyncio.timeout(REPLY_WAIT_S):
            while True:
                facts = await line.next()
                if "wrong" in facts:
                    raise ControlUnreachable(f"the bridge did not take it: {facts['wrong']}")
                if facts.get("answers") != name:
                    continue
                print(printable(str(facts["text"])))
                if facts["last"]:
                    return


async def _talk(settings: Settings) -> None:
    name = settings.persona.name
    console.print(f"[dim]{name}. /help shows commands; Ctrl-D ends.[/dim]")
    async with Line(settings) as line:
        hearing = asyncio.create_task(_hear(line, name))
        typing = asyncio.create_task(_type(line))
        done, pending = await asyncio.wait({hearing, typing}, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for task in done:
            task.result()


async def _hear(line: Line, name: str) -> None:
    while True:
        facts = await line.next()
        if "text" in facts:
            console.print(f"\n[bold]{name}[/bold]")
            console.print(Markdown(printable(str(facts["text"]))))
        elif "wrong" in facts:
            console.print(f"[red]{facts['wrong']}[/red]")


async def _type(line: Line) -> None:
    while True:
        text = await asyncio.get_running_loop().run_in_executor(None, input, "\n> ")
        if text.strip():
            await line.say(text)
