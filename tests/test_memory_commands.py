"""`penfriend memory` and `penfriend pack`: with no bridge, and beside a running one over real processes."""

import json
import shutil
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from core.errors import BadInput
from tests.installation import Installation

TALK = [
    {
        "chat": "old",
        "id": "1",
        "who": "person",
        "at": "2026-01-05T09:00:00+08:00",
        "text": "备用钥匙在门口第三个花盆下面",
    },
    {"chat": "old", "id": "2", "who": "persona", "at": "2026-01-05T09:01:00+08:00", "text": "记下了。"},
    {"chat": "old", "id": "3", "who": "person", "at": "2026-02-05T09:00:00+08:00", "text": "Call me Lin."},
    {"chat": "old", "id": "4", "who": "other", "at": "2026-02-05T09:05:00+08:00", "text": "Call me Bob."},
    {
        "chat": "new",
        "id": "1",
        "who": "person",
        "at": "2026-03-05T09:00:00+08:00",
        "text": "The boiler man comes on Friday",
    },
]


def written(folder: Path) -> str:
    file = folder / "talk.jsonl"
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in TALK), "utf-8")
    return str(file)


class Alone:
    """The same commands inside this process, over a folder that no bridge has."""

    def __init__(self, folder: Path) -> None:
        self._env = {"PENFRIEND_DATA_DIR": str(folder / "data")}

    def run(self, *arguments: str) -> str:
        """What it printed. Raises what the command raised."""
        done = CliRunner().invoke(app, list(arguments), env=self._env)
        if done.exception is not None:
            raise done.exception
        return done.stdout


def search(penfriend: Installation, text: str, *more: str) -> list[str]:
    found = json.loads(penfriend.run("memory", "search", text, "--json", *more).stdout)
    return [hit["text"] for hit in found["hits"]]


def until(done: object, says: str) -> None:
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if callable(done) and done():
            return
        time.sleep(0.3)
    raise AssertionError(says)


def test_with_no_bridge_the_commands_do_all_themselves(tmp_path: Path) -> None:
    penfriend, file = Alone(tmp_path), written(tmp_path)

    assert json.loads(penfriend.run("memory", "import", file, "--json")) == {
        "added": 5, "known": 0, "empty": 0, "unreadable": 0,
    }  # fmt: skip
    batch = tmp_path / "batch.jsonl"
    questions = [
        {"id": 1, "query": "备用钥匙在哪里？", "chat": "old", "limit": 3},
        {
            "id": "b",
            "query": "那在哪里？",
            "chat": "old",
            "previous": ["备用钥匙在门口吗？"],
            "at": "2026-03-01T00:00:00Z",
        },
        {"id": 3, "query": "boiler man", "chat": "old"},
        {"id": 4, "query": "boiler man"},
    ]
    batch.write_text("".join(json.dumps(one) + "\n" for one in questions), "utf-8")
    answers = [json.loads(line) for line in penfriend.run("memory", "search", "--batch", str(batch)).splitlines()]
    assert [answer["id"] for answer in answers] == [1, "b", 3, 4]
    assert [answer["hits"][0]["id"] if answer["hits"] else None for answer in answers] == ["1", "1", None, "1"]
    assert set(answers[0]["hits"][0]) == {"id", "score", "parts"}

    [held] = json.loads(penfriend.run("memory", "list", "--json"))["preferences"]
    assert held["quote"] == "Call me Lin."
    penfriend.run("memory", "edit", str(held["id"]), "Call me Lin Xi.")
    history = json.loads(penfriend.run("memory", "history", str(held["id"]), "--json"))["preferences"]
    assert [one["quote"] for one in history] == ["Call me Lin.", "Call me Lin Xi."]
    penfriend.run("memory", "reindex")
    [now_held] = json.loads(penfriend.run("memory", "list", "--json"))["preferences"]
    assert now_held["quote"] == "Call me Lin Xi."

    told = json.loads(penfriend.run("pack", "--dry-run", "备用钥匙在哪里？", "--chat", "old", "--json"))
    assert told["bytes"] <= told["limit"] and told["recent"]
    exported = penfriend.run("memory", "export", "--chat", "new")
    assert json.loads(exported)["text"] == "The boiler man comes on Friday"

    done = json.loads(penfriend.run("memory", "forget", "1", "--chat", "old", "--json"))
    assert done["messages"] == 1 and "rebuilt" in done["index"]
    assert json.loads(penfriend.run("memory", "search", "备用钥匙在哪里？", "--json"))["hits"] == []
    assert not [
        path for path in tmp_path.joinpath("data").rglob("*") if path.is_file() and "花盆".encode() in path.read_bytes()
    ]


def test_beside_a_running_bridge_they_go_through_it_and_a_lost_index_comes_back(tmp_path: Path) -> None:
    penfriend, file = Installation(tmp_path), written(tmp_path)

    with penfriend.up():
        assert json.loads(penfriend.run("memory", "import", file, "--json").stdout)["added"] == 5
        until(lambda: search(penfriend, "备用钥匙在哪里？"), "imported talk was never found")
        assert "花盆" in penfriend.say("备用钥匙在哪里？")
        assert "Call me Lin." in penfriend.run("pack", "--dry-run", "what is my name?", "--body").stdout
        assert "imported said before" in penfriend.say("/why")

        shutil.rmtree(tmp_path / "data" / "index")
        assert penfriend.say("今天天气不错")
        until(lambda: (tmp_path / "data" / "index" / "memory" / "meta.json").is_file(), "the index was not built anew")
        assert "花盆" in penfriend.say("备用钥匙在哪里呢？")

        done = json.loads(penfriend.run("memory", "forget", "1", "--chat", "old", "--json").stdout)
        assert done["messages"] == 1 and done["replies"] >= 1
        until(lambda: not search(penfriend, "第三个花盆"), "the words were still found")
        refused = penfriend.run("memory", "forget", "no-such-id", check=False)
        assert refused.returncode == 2 and "neither a message nor a preference" in refused.stderr


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (("memory", "import", "EMPTY"), "neither generic JSONL nor"),
        (("memory", "search"), "either QUERY or --batch"),
        (("memory", "search", "--batch", "BAD"), "line 1 of the batch: more"),
        (("memory", "search", "--batch", "MISSING"), "cannot be read"),
        (("memory", "search", "x", "--chat", "nobody"), "no chat 'nobody'"),
        (("memory", "edit", "77", "x"), "no preference 77"),
        (("memory", "history", "77"), "no preference 77"),
        (("memory", "forget"), "say what to forget"),
        (("memory", "forget", "x", "--keep-message"), "no number of a preference"),
        (("pack", "x"), "--dry-run"),
        (("pack", "--dry-run", "x"), "nothing was said here yet"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(tmp_path: Path, command: tuple[str, ...], says: str) -> None:
    files = {name: str(tmp_path / name) for name in ("EMPTY", "BAD", "MISSING")}
    Path(files["EMPTY"]).write_text("hello\n")
    Path(files["BAD"]).write_text('{"id": 1, "query": "x", "more": 2}\n')

    with pytest.raises(BadInput, match=says):
        Alone(tmp_path).run(*(files.get(word, word) for word in command))
