"""The fake iLink server, checked by the official client: what its published module understands is what our fake speaks."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from .fakes.ilink_server import TOKEN, USER, IlinkServer

DRIVER = Path(__file__).parent / "fakes" / "official_wechat.mjs"


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[IlinkServer]:
    async with IlinkServer(tmp_path / "ilink.log") as server:
        yield server


async def official(
    server: IlinkServer, folder: Path, command: str, *rest: str, token: str = TOKEN
) -> dict[str, object]:
    """One call of the official client's module, in Node."""
    environment = {**os.environ, "ORACLE_DIR": str(folder), "OPENCLAW_STATE_DIR": str(folder), "HOME": str(folder)}
    node = await asyncio.create_subprocess_exec(
        "node", str(DRIVER), server.base_url, token, command, *rest, env=environment, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(node.communicate(), 30)
    found: dict[str, object] = json.loads(out.decode().splitlines()[-1])
    return found


async def test_the_official_client_polls_answers_and_types_against_our_fake(
    server: IlinkServer, tmp_path: Path
) -> None:
    assert await official(server, tmp_path, "notifyStart") == {"answer": {"ret": 0}}
    said = server.say("你好")

    polled = (await official(server, tmp_path, "getUpdates", ""))["answer"]
    assert isinstance(polled, dict)
    message = polled["msgs"][0]
    assert message["message_id"] == str(said["message_id"]), "an id beyond 2**53 survives"
    assert message["item_list"][0]["text_item"]["text"] == "你好"
    assert polled["get_updates_buf"] == "place-1"

    context = str(said["context_token"])
    sent = (await official(server, tmp_path, "sendMessage", USER, context, "hello"))["answer"]
    assert isinstance(sent, dict) and sent["ret"] == 0 and sent["message_id"]
    config = (await official(server, tmp_path, "getConfig", USER, context))["answer"]
    assert isinstance(config, dict)
    await official(server, tmp_path, "sendTyping", USER, str(config["typing_ticket"]))
    await official(server, tmp_path, "notifyStop")

    assert [one["text"] for one in server.sent] == ["hello"]
    assert len(server.noted("typing")) == 1
    assert {one["wrong"] for one in server.noted("called")} == {""}, "the fake asks for no header that it does not send"


async def test_the_official_client_sees_our_refusals_as_the_platforms(server: IlinkServer, tmp_path: Path) -> None:
    refused = await official(server, tmp_path, "sendMessage", USER, "no-such-context", "hello")
    dead = (await official(server, tmp_path, "getUpdates", "", token="another"))["answer"]

    assert "ret=-2" in str(refused["error"])
    assert isinstance(dead, dict) and dead["errcode"] == -14
