"""Promises of `core/lexical`: scopes never mix, tail and committed part agree, crashes lose nothing committed."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.lexical.committer import Committer
from core.lexical.entry import Entry, Hit, LexicalError, LexicalLocked
from core.lexical.index import LexicalIndex, prepare_rebuild, swap_rebuilt

WORDS = ["tea", "coffee", "rain", "bike", "咖啡", "下雨", "_茶", "paris", "dog", "book"]


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LexicalIndex]:
    opened = LexicalIndex.open(tmp_path / "index", writable=True)
    yield opened
    opened.close()


def some_entries(count: int, seed: int = 7) -> list[Entry]:
    chance = random.Random(seed)
    return [
        Entry(
            seq=100 + number,
            id=number,
            scope=f"chat{number % 2}",
            tokens=[chance.choice(WORDS) for _ in range(chance.randint(1, 70))],
            session=number // 10,
            day=738_000 + number // 20,
            flags=number % 4,
        )
        for number in range(1, count + 1)
    ]


def ids(hits: list[Hit]) -> list[int]:
    return [hit.id for hit in hits]


def one(seq: int, words: str, scope: str = "mine", day: int = 0) -> Entry:
    return Entry(seq, seq, scope, words.split(), day=day)


ASKED = {"tea": 1.0, "咖啡": 1.0, "_茶": 0.3, "paris": 2.0}


def answers(index: LexicalIndex) -> list[tuple[list[int], list[float]]]:
    searches = [
        index.search(["chat1"], ASKED, 50),
        index.search(["chat0", "chat1"], ASKED, 50),
        index.search(["chat1"], ASKED, 50, days=[738_002, 738_003]),
        index.search(["chat0"], {}, 50, days=[738_001]),
    ]
    return [(ids(hits), [round(hit.score, 3) for hit in hits]) for hits in searches]


def test_tail_commit_reopening_and_rebuild_give_the_same_answer(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = LexicalIndex.open(path, writable=True)
    for entry in some_entries(240):
        index.add(entry)

    in_the_tail = answers(index)
    index.commit()
    committed = answers(index)
    index.close()
    reopened = LexicalIndex.open(path, writable=True)
    after_reopening = answers(reopened)
    reopened.close()
    prepare_rebuild(path, reversed(some_entries(240)), commit_every=50)
    swap_rebuilt(path)
    rebuilt = LexicalIndex.open(path, writable=False)

    assert all(found for found, _ in in_the_tail)
    assert committed == after_reopening == answers(rebuilt) == in_the_tail


def test_a_half_committed_index_ranks_as_one(index: LexicalIndex) -> None:
    entries = [one(number, "tea " + "rain " * 20) for number in range(1, 101)]
    for entry in entries[:50]:
        index.add(entry)
    index.commit()
    for entry in entries[50:]:
        index.add(entry)

    hits = index.search(["mine"], {"tea": 1.0}, 100)

    assert ids(hits) == list(range(100, 0, -1))
    assert max(hit.score for hit in hits) - min(hit.score for hit in hits) < 1e-4


@pytest.mark.parametrize("commit", [False, True])
def test_a_cut_through_equal_texts_does_not_depend_on_where_they_lie(index: LexicalIndex, commit: bool) -> None:
    for number in range(1, 31):
        index.add(one(number, "rare tea" if number in (4, 9) else "tea rain"))
    if commit:
        index.commit()

    assert ids(index.search(["mine"], {"rare": 1.0, "tea": 1.0}, 10)) == [9, 4]
    assert ids(index.search(["mine"], {"rain": 1.0}, 3)) == [30, 29, 28]


def test_hits_carry_what_was_stored_beside_the_words(index: LexicalIndex) -> None:
    index.add(Entry(seq=5, id=9, scope="mine", tokens=["tea"], session=4, day=738_001, flags=3))
    [in_the_tail] = index.search(["mine"], {"tea": 1.0}, 5)

    index.commit()
    [committed] = index.search(["mine"], {"tea": 1.0}, 5)

    assert in_the_tail[2:] == committed[2:] == (4, 738_001, 3)


@pytest.mark.parametrize("commit", [False, True])
def test_the_words_of_one_person_never_surface_for_another(index: LexicalIndex, commit: bool) -> None:
    index.add(one(1, "secret tea", scope="alice", day=738_000))
    index.add(one(2, "tea", scope="bob", day=738_000))
    index.add(one(3, "tea", scope="alice2", day=738_000))
    if commit:
        index.commit()

    assert ids(index.search(["bob"], {"secret": 1.0, "tea": 1.0}, 10)) == [2]
    assert ids(index.search(["bob"], {}, 10, days=[738_000])) == [2]
    assert index.search(["nobody"], {"secret": 1.0, "tea": 1.0}, 10, days=[738_000]) == []


@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize("token", ["alice|secret", "|", "@738000", "", "secret OR tea", "*", 'scope:"alice"', "a\x00b"])
def test_a_query_is_never_a_query_language(index: LexicalIndex, commit: bool, token: str) -> None:
    index.add(one(1, "secret tea", scope="alice", day=738_000))
    index.add(one(2, "coffee", scope="bob", day=738_000))
    if commit:
        index.commit()

    assert all(hit.id == 2 for hit in index.search(["bob"], {token: 1.0}, 10))


@pytest.mark.parametrize("scopes", [[], "mine", [""], ["a b"], ["alice|"]])
def test_a_search_without_a_proper_scope_is_refused(index: LexicalIndex, scopes: list[str]) -> None:
    with pytest.raises(LexicalError, match="scope"):
        index.search(scopes, {"tea": 1.0}, 10)


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        (one(1, "tea", scope="a|b"), "scope"),
        (Entry(1, 1, "mine", ["two words"]), "white space"),
        (Entry(1, 1, "mine", [""]), "empty token"),
        (Entry(1, 1, "mine", ["@5"]), "'@'"),
        (Entry(1, -1, "mine", ["tea"]), "negative"),
    ],
)
def test_an_entry_that_would_break_the_terms_is_refused(index: LexicalIndex, entry: Entry, complaint: str) -> None:
    with pytest.raises(LexicalError, match=complaint):
        index.add(entry)


def test_an_edited_text_replaces_the_old_one_at_once_and_after_the_commit(index: LexicalIndex) -> None:
    index.add(one(1, "tea"))
    index.commit()
    index.add(Entry(2, 1, "mine", ["coffee"]))

    before = (index.search(["mine"], {"tea": 1.0}, 5), ids(index.search(["mine"], {"coffee": 1.0}, 5)))
    index.commit()
    after = (index.search(["mine"], {"tea": 1.0}, 5), ids(index.search(["mine"], {"coffee": 1.0}, 5)))

    assert before == after == ([], [1])


def test_a_forgotten_text_is_gone_at_once_and_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = LexicalIndex.open(path, writable=True)
    index.add(one(1, "tea"))
    index.commit()
    index.add(one(2, "tea"))

    index.forget(1)
    index.forget(2)
    at_once = index.search(["mine"], {"tea": 1.0}, 5)
    index.commit()
    index.close()
    reopened = LexicalIndex.open(path, writable=False)

    assert at_once == reopened.search(["mine"], {"tea": 1.0}, 5) == []


def test_a_rebuild_leaves_no_byte_of_what_was_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = LexicalIndex.open(path, writable=True)
    index.add(one(1, "unforgettable"))
    index.commit()
    index.close()

    prepare_rebuild(path, [one(2, "tea")])
    swap_rebuilt(path)

    assert not [file for file in tmp_path.rglob("*") if file.is_file() and b"unforgettable" in file.read_bytes()]


def test_a_swap_that_was_cut_short_leaves_an_empty_index_and_no_remains(tmp_path: Path) -> None:
    path = tmp_path / "index"
    prepare_rebuild(path, [one(1, "unforgettable")])
    path.with_name("index.new").rename(path.with_name("index.old"))

    index = LexicalIndex.open(path, writable=True)
    cursor = index.cursor()
    index.close()

    assert cursor == 0
    assert not path.with_name("index.old").exists()


def test_the_cursor_is_the_last_committed_change(index: LexicalIndex) -> None:
    empty = index.cursor()
    index.add(one(7, "tea"))
    uncommitted = index.cursor()
    index.commit()

    assert (empty, uncommitted, index.cursor()) == (0, 0, 7)


def test_changes_fed_again_after_a_crash_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "index"
    index = LexicalIndex.open(path, writable=True)
    for entry in some_entries(40):
        index.add(entry)
    index.commit()
    expected = [found for found, _ in answers(index)]

    for entry in some_entries(40)[30:]:
        index.add(entry)
    index.commit()
    index.close()

    assert [found for found, _ in answers(LexicalIndex.open(path, writable=False))] == expected


def test_a_second_writer_is_refused_and_readers_are_not(index: LexicalIndex, tmp_path: Path) -> None:
    reader = LexicalIndex.open(tmp_path / "index", writable=False)
    index.add(one(1, "tea"))
    index.commit()
    before = reader.search(["mine"], {"tea": 1.0}, 5)
    reader.refresh()

    assert before == []
    assert ids(reader.search(["mine"], {"tea": 1.0}, 5)) == [1]
    with pytest.raises(LexicalLocked, match="already has a writer"):
        LexicalIndex.open(tmp_path / "index", writable=True)
    with pytest.raises(LexicalError, match="not open for writing"):
        reader.add(one(2, "tea"))


def test_a_reader_of_a_missing_index_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(LexicalError, match="there is no index"):
        LexicalIndex.open(tmp_path / "index", writable=False)


def test_a_foreign_directory_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "index"
    path.mkdir()
    (path / "meta.json").write_text('{"not": "ours"}')

    with pytest.raises(LexicalError, match="rebuild"):
        LexicalIndex.open(path, writable=True)
    assert (path / "meta.json").read_text() == '{"not": "ours"}'


@pytest.mark.parametrize("damage", ["empty", "cut", "missing"])
def test_a_corrupt_index_says_so_and_can_be_rebuilt(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "index"
    prepare_rebuild(path, some_entries(60))
    swap_rebuilt(path)
    for file in path.glob("*.term" if damage != "missing" else "*.*"):
        if damage == "missing" and file.name not in ("meta.json", ".managed.json"):
            file.unlink()
        elif damage != "missing":
            file.write_bytes(file.read_bytes()[: 0 if damage == "empty" else 20])

    with pytest.raises(LexicalError, match="reindex"):
        LexicalIndex.open(path, writable=False).search(["chat1"], ASKED, 10)
    prepare_rebuild(path, some_entries(60))
    swap_rebuilt(path)

    assert LexicalIndex.open(path, writable=False).search(["chat1"], ASKED, 10)


def test_searches_go_on_while_a_thread_adds_and_commits(index: LexicalIndex) -> None:
    index.add(one(1, "tea tea tea"))
    missed: list[int] = []
    done = threading.Event()

    def keep_searching() -> None:
        while not done.is_set():
            if 1 not in ids(index.search(["mine"], {"tea": 1.0}, 500)):
                missed.append(1)

    searcher = threading.Thread(target=keep_searching)
    searcher.start()
    for number in range(2, 60):
        index.add(one(number, "tea"))
        index.add(one(1, "tea tea tea"))
        if number % 10 == 0:
            index.commit()
    done.set()
    searcher.join()

    assert not missed


def test_a_committer_commits_by_count_by_time_and_at_the_end(index: LexicalIndex) -> None:
    with Committer(index, changes=3, wait_s=0.05) as committer:
        for number in range(1, 4):
            index.add(one(number, "tea"))
            committer.changed()
        by_count = committer.wait_until_idle(5) and index.cursor()
        index.add(one(4, "tea"))
        committer.changed()
        by_time = committer.wait_until_idle(5) and index.cursor()
        index.add(one(5, "tea"))

    assert (by_count, by_time, index.cursor()) == (3, 4, 5)
    assert committer.failure is None


def test_a_committer_keeps_the_failure_for_the_doctor(tmp_path: Path) -> None:
    index = LexicalIndex.open(tmp_path / "index", writable=True)
    index.add(one(1, "tea"))
    with Committer(index, changes=1, wait_s=0.01) as committer:
        index.close()
        committer.changed()
        committer.wait_until_idle(5)

    assert isinstance(committer.failure, LexicalError)


def test_a_kill_in_the_middle_of_commits_loses_nothing_that_was_committed(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from core.lexical.entry import Entry
        from core.lexical.index import LexicalIndex
        index = LexicalIndex.open(Path(sys.argv[1]), writable=True)
        for seq in range(index.cursor() + 1, 100000):
            index.add(Entry(seq, seq, "mine", ["tea", f"w{seq}"]))
            index.commit()
            print(seq, flush=True)
        """
    )
    path = tmp_path / "index"
    for wanted in (2, 7, 4):
        child = subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout is not None
        acknowledged = [int(child.stdout.readline()) for _ in range(wanted)]
        os.kill(child.pid, signal.SIGKILL)
        acknowledged += [int(line) for line in child.stdout.read().splitlines()]
        child.wait()
        child.stdout.close()

        reader = LexicalIndex.open(path, writable=False)

        assert reader.cursor() >= acknowledged[-1]
        assert {*range(1, acknowledged[-1] + 1)} <= {*ids(reader.search(["mine"], {"tea": 1.0}, 10_000))}
