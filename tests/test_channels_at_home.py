"""Channels in a whole Penfriend of real processes: pairing by code, an answer, typing, doctor, and no token anywhere."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from bridge.channels.telegram import TelegramChannel
from core.settings import Telegram

from .fakes.ilink_server import BOT, USER, IlinkServer
from .fakes.ilink_server import TOKEN as WECHAT_TOKEN
from .fakes.telegram_server import TOKEN, TelegramServer
from .installation import Installation

WAIT_S = 20.0


@pytest.fixture
async def telegram(tmp_path: Path) -> AsyncIterator[TelegramServer]:
    async with TelegramServer(tmp_path / "telegram.log") as server:
        yield server


@pytest.fixture
async def ilink(tmp_path: Path) -> AsyncIterator[IlinkServer]:
    async with IlinkServer(tmp_path / "ilink.log") as server:
        yield server


def a_home(folder: Path, telegram: TelegramServer, ilink: IlinkServer) -> Installation:
    home = folder / "home"
    secrets = home / "data" / "secrets"
    secrets.mkdir(parents=True)
    session = {"token": WECHAT_TOKEN, "bot": BOT, "user": USER, "base_url": ilink.base_url}
    (secrets / "wechat.json").write_text(json.dumps(session))
    return Installation(
        home,
        PENFRIEND_CHANNELS__TELEGRAM__ENABLED="true",
        PENFRIEND_CHANNELS__TELEGRAM__TOKEN=TOKEN,
        PENFRIEND_CHANNELS__TELEGRAM__BASE_URL=telegram.base_url,
        PENFRIEND_CHANNELS__WECHAT__ENABLED="true",
        PENFRIEND_CHANNELS__WECHAT__BASE_URL=ilink.base_url,
    )


async def until_sent(server: TelegramServer | IlinkServer, count: int) -> list[str]:
    async with asyncio.timeout(WAIT_S):
        while len(server.sent) < count:
            await asyncio.sleep(0.05)
    return [str(one["text"]) for one in server.sent]


async def run(home: Installation, *words: str) -> str:
    done = await asyncio.to_thread(home.run, *words, check=False)
    return done.stdout + done.stderr


async def findings(home: Installation) -> str:
    return await run(home, "doctor", "--json")


async def a_code(home: Installation, *words: str) -> str:
    return str(json.loads(await run(home, "pair", "new", "--json", *words))["code"])


async def test_people_are_let_in_by_code_in_two_messengers_and_answered(
    tmp_path: Path, telegram: TelegramServer, ilink: IlinkServer
) -> None:
    home = a_home(tmp_path, telegram, ilink)
    up = home.up()
    await asyncio.to_thread(up.__enter__)
    try:
        await a_stranger_is_greeted_once_and_then_let_in_by_a_code(home, telegram)
        await the_same_on_wechat(home, ilink)
        await doctor_names_what_goes_wrong(home, telegram, ilink)
        await a_revoked_person_is_a_stranger_again(home, telegram)
    finally:
        await asyncio.to_thread(up.__exit__, None, None, None)
    await pairings_can_be_made_with_nothing_running(home)
    log = home.log.read_text()
    assert "canary" not in log, "no token in any line"
    assert "豆豆" not in log, "no words in any line"


async def a_stranger_is_greeted_once_and_then_let_in_by_a_code(home: Installation, telegram: TelegramServer) -> None:
    telegram.say("hello?")
    telegram.say("hello??")
    telegram.say(f"/start {await a_code(home)}")
    assert "paired" in (await until_sent(telegram, 2))[-1].lower()

    telegram.say("我的猫叫豆豆。")
    await until_sent(telegram, 3)
    telegram.say("我的猫叫什么名字？")
    assert "豆豆" in (await until_sent(telegram, 4))[-1]
    assert telegram.noted("action"), "typing was shown"


async def the_same_on_wechat(home: Installation, ilink: IlinkServer) -> None:
    ilink.say(await a_code(home, "--guest"))
    await until_sent(ilink, 1)
    ilink.say("hello there")
    await until_sent(ilink, 2)
    paired = json.loads(await run(home, "pair", "list", "--json"))
    assert {(one["account"], one["role"]) for one in paired} == {
        ("console:local", "owner"),
        ("telegram:7301", "owner"),
        ("wechat:persona", "guest"),
    }


async def doctor_names_what_goes_wrong(home: Installation, telegram: TelegramServer, ilink: IlinkServer) -> None:
    assert '"fault"' not in await findings(home)
    ilink.send_answers.append({"ret": -2, "errmsg": "prepare failed"})
    ilink.say("a context that is stale already")
    await doctor_says(home, "prepare failed")

    ilink.token = "another"
    second = TelegramChannel(Telegram(token=SecretStr(TOKEN), base_url=telegram.base_url), hold_s=1)
    await second.poll(None)
    await second.close()
    found = await doctor_says(home, "signed out", "another program polls this telegram bot")
    assert "canary" not in found


async def doctor_says(home: Installation, *signs: str) -> str:
    found = ""
    async with asyncio.timeout(WAIT_S):
        while not all(sign in found for sign in signs):
            await asyncio.sleep(0.3)
            found = await findings(home)
    return found


async def a_revoked_person_is_a_stranger_again(home: Installation, telegram: TelegramServer) -> None:
    paired = json.loads(await run(home, "pair", "list", "--json"))
    binding = next(one["id"] for one in paired if one["account"] == "telegram:7301")
    assert "revoked" in await run(home, "pair", "revoke", binding)
    assert "there is no pairing" in await run(home, "pair", "revoke", binding)
    assert "telegram" not in await run(home, "pair", "list", "--json")


async def pairings_can_be_made_with_nothing_running(home: Installation) -> None:
    assert len(await a_code(home)) == 8
    assert "wechat:persona" in await run(home, "pair", "list", "--json")
    assert "there is no pairing" in await run(home, "pair", "revoke", "nobody")


async def test_signing_in_to_wechat_shows_a_code_and_keeps_the_session_private(
    tmp_path: Path, telegram: TelegramServer, ilink: IlinkServer
) -> None:
    home = a_home(tmp_path, telegram, ilink)
    facts = {"bot_token": "canary-new", "ilink_bot_id": BOT, "ilink_user_id": USER, "baseurl": ilink.base_url}
    ilink.statuses.extend([{"status": "scaned"}, {"status": "confirmed", **facts}])

    said = await run(home, "pair", "wechat")

    assert "https://liteapp.weixin.qq.com/q/code-1" in said
    assert "█" in said, "the code is drawn"
    assert "Signed in" in said and "canary" not in said
    kept = home.folder / "data" / "secrets" / "wechat.json"
    assert "canary-new" in kept.read_text() and kept.stat().st_mode & 0o077 == 0


async def test_a_token_that_cannot_be_one_is_named_by_doctor_and_keeps_the_bridge_from_starting(
    tmp_path: Path, telegram: TelegramServer, ilink: IlinkServer
) -> None:
    home = a_home(tmp_path, telegram, ilink)
    home.env["PENFRIEND_CHANNELS__TELEGRAM__TOKEN"] = "canary"
    found = await findings(home)
    assert "copy it from BotFather" in found
    assert "canary" not in found
