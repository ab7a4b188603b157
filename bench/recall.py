"""How well old words and articles are found: `python -m bench.recall [DATA_DIR] [--sizes 10000,100000] [--plot FILE]`.

Without a folder it measures the sample that comes with Penfriend. Runs the path the bridge runs (entry, tail, reopened index, `recall`) on the sets of `recall_sets.py` that lie in
DATA_DIR, next to a plain SQLite FTS5 table of the same bigram tokens, with CPU time; how well the score floor turns away questions that nothing answers; then
latency, index size and grown memory by number of messages. A figure that differs between tail and reopened index is marked, for that is a bug.
"""

import argparse
import gc
import random
import re
import resource
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.recall_plot import Plot
from bench.recall_sets import SAMPLE, Chat, Probe, every_set, unanswerable
from bridge.memory.recall import MessageFact, RecallQuery, recall
from core.lexical.index import LexicalIndex

RANKS = (1, 3, 5, 10)
Search = Callable[[Chat, Probe], list[int]]


@dataclass(frozen=True, slots=True)
class Facts:
    known: Mapping[int, MessageFact]

    def of(self, ids: Sequence[int]) -> Mapping[int, MessageFact]:
        return {at: self.known[at] for at in ids if at in self.known}


@dataclass(frozen=True, slots=True)
class Figures:
    recall: tuple[float, ...]
    reciprocal: float
    cpu_ms: tuple[float, float]

    def line(self) -> str:
        ranks = "  ".join(f"R@{rank} {share:5.1f}" for rank, share in zip(RANKS, self.recall, strict=True))
        return f"{ranks}  MRR {self.reciprocal:5.1f}  CPU ms p50 {self.cpu_ms[0]:.2f} p95 {self.cpu_ms[1]:.2f}"


def measure(chats: Sequence[Chat], search: Search) -> Figures:
    """Mean share of the gold units in the first ranks, in percent; several messages may be one unit."""
    shares = [0.0] * len(RANKS)
    reciprocal, times = 0.0, []
    for chat, probe in [(one, probe) for one in chats for probe in one.probes]:
        started = time.process_time()
        found = search(chat, probe)
        times.append(time.process_time() - started)
        units = list(dict.fromkeys(chat.units[at] for at in found))
        for place, rank in enumerate(RANKS):
            shares[place] += len(probe.gold.intersection(units[:rank])) / len(probe.gold)
        reciprocal += next((1 / rank for rank, unit in enumerate(units[:10], 1) if unit in probe.gold), 0.0)
    share = 100 / len(times)
    return Figures(tuple(value * share for value in shares), reciprocal * share, quantiles(times))


def quantiles(seconds: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(seconds)
    return ordered[len(ordered) // 2] * 1000, ordered[len(ordered) * 95 // 100] * 1000


def recalling(index: LexicalIndex) -> Search:
    def search(chat: Chat, probe: Probe) -> list[int]:
        query = RecallQuery(probe.text, chat.scope, chat.asked_at, chat.zone, probe.previous, limit=30)
        return [hit.id for hit in recall(index, Facts(chat.facts), query).hits]

    return search


def plain_tokens(text: str) -> list[str]:
    """What a first FTS5 table of Chinese does: pairs of characters and words; no folding, stems or stop words."""
    tokens = []
    for run in re.findall(r"[\u3400-\u9fff]+|[^\W_]+", text.lower()):
        pairs = [run[at : at + 2] for at in range(len(run) - 1)] or [run]
        tokens.extend(pairs if "\u3400" <= run[0] <= "\u9fff" else [run])
    return tokens


def plain(chats: Sequence[Chat], file: str = ":memory:") -> Search:
    table = sqlite3.connect(file)
    table.execute("CREATE VIRTUAL TABLE texts USING fts5(scope UNINDEXED, body, tokenize = 'unicode61')")
    for chat in chats:
        rows = ((entry.id, chat.scope, " ".join(plain_tokens(chat.texts[entry.id]))) for entry in chat.entries)
        table.executemany("INSERT INTO texts(rowid, scope, body) VALUES (?, ?, ?)", rows)
    table.commit()

    def search(chat: Chat, probe: Probe) -> list[int]:
        asked = " OR ".join(f'"{token}"' for token in dict.fromkeys(plain_tokens(probe.text)))
        statement = "SELECT rowid FROM texts WHERE texts MATCH ? AND scope = ? ORDER BY rank LIMIT 30"
        return [at for (at,) in table.execute(statement, (asked, chat.scope))] if asked else []

    return search


def print_floor(chats: Sequence[Chat], search: Search, folder: Path) -> None:
    """Of questions that nothing answers, how many find nothing; of those with an answer, how many find nothing too."""
    asked = [(chat, Probe(text, frozenset())) for chat in chats for text in chat.nothing or _nothing_for(chat, folder)]
    empty = sum(not search(chat, probe) for chat, probe in asked)
    answered = [(chat, probe) for chat in chats for probe in chat.probes]
    lost = sum(not search(chat, probe) for chat, probe in answered)
    print(
        f"  floor       turns away {100 * empty / len(asked):.0f} % of {len(asked)} questions that nothing answers, "
        f"and {100 * lost / len(answered):.1f} % of those that have an answer"
    )


def _nothing_for(chat: Chat, folder: Path) -> list[str]:
    han = sum(bool(re.search(r"[\u3400-\u9fff]", probe.text)) for probe in chat.probes)
    return unanswerable(folder, "zh" if 2 * han > len(chat.probes) else "en")


def print_set(name: str, chats: Sequence[Chat], folder: Path, data: Path, plot: Plot) -> None:
    path = folder / re.sub(r"\W+", "-", name)
    index = LexicalIndex.open(path, writable=True)
    for entry in (entry for chat in chats for entry in chat.entries):
        index.add(entry)
    in_the_tail = measure(chats, recalling(index))
    index.commit()
    index.close()
    reopened = recalling(LexicalIndex.open(path, writable=False))
    ours, theirs = measure(chats, reopened), measure(chats, plain(chats))
    same = "" if in_the_tail.recall == ours.recall else f"  DIFFERS IN THE TAIL: {in_the_tail.line()}"
    count = sum(len(chat.probes) for chat in chats)
    print(f"{name} ({count})\n  recall      {ours.line()}{same}\n  plain FTS5  {theirs.line()}")
    print_floor(chats, reopened, data)
    plot.sets.append((name, ours.recall[2], theirs.recall[2]))


def grown(chats: Sequence[Chat], size: int) -> Chat:
    """A chat of `size` messages, each made of halves of two real sentences of one language, four in five Chinese."""
    chance, made, moment = random.Random(7), Chat("grown", chats[0].zone), 1_500_000_000_000
    texts = [text for chat in chats for text in chat.texts.values()]
    sentences = [part for text in texts for part in re.split(r"(?<=[。！？.!?])\s*", text) if len(part) > 6]
    chinese = [sentence for sentence in sentences if re.search(r"[\u3400-\u9fff]", sentence)]
    english = [sentence for sentence in sentences if not re.search(r"[\u3400-\u9fff]", sentence)]
    for _ in range(size):
        pool = chinese if chinese and chance.random() < 0.8 else english or chinese
        first, second = chance.choice(pool), chance.choice(pool)
        moment += 60_000 if chance.random() > 0.04 else 20 * 3_600_000
        made.say("", first[: len(first) // 2] + second[len(second) // 2 :], moment, person=True)
    made.probes = chance.sample([probe for chat in chats for probe in chat.probes if not probe.previous], 300)
    return made


def print_size(chats: Sequence[Chat], size: int, folder: Path, plot: Plot) -> None:
    """Each engine's own growth of the process, its files, and the CPU time of 300 questions."""
    chat, path = grown(chats, size), folder / f"grown-{size}"
    before = resident_mb()
    index = LexicalIndex.open(path, writable=True)
    for number, entry in enumerate(chat.entries, 1):
        index.add(entry)
        if number % 10_000 == 0:
            index.commit()
    index.commit()
    ours = measure([chat], recalling(index)).cpu_ms
    print(f"  {size:>9,} messages  recall      {_cost(ours, before, path)}")
    index.close()
    before, table = resident_mb(), folder / f"plain-{size}.db"
    theirs = measure([chat], plain([chat], str(table))).cpu_ms
    print(f"  {size:>9,} messages  plain FTS5  {_cost(theirs, before, table)}")
    plot.sizes.append((size, ours, theirs))


def _cost(cpu_ms: tuple[float, float], before: float, path: Path) -> str:
    files = path.rglob("*") if path.is_dir() else [path]
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    grown_mb = max(0.0, resident_mb() - before)
    return (
        f"CPU ms p50 {cpu_ms[0]:.2f} p95 {cpu_ms[1]:.2f}  files {megabytes:.1f} MB  memory grown by {grown_mb:.0f} MB"
    )


def resident_mb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def sizes(text: str) -> Iterator[int]:
    return (int(size) for size in text.split(",") if size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=SAMPLE)
    parser.add_argument("--sizes", default="", help="numbers of messages, with commas")
    parser.add_argument("--plot", type=Path, help="write the figures as an SVG")
    arguments = parser.parse_args()
    sets, plot = every_set(arguments.data), Plot()
    if not sets:
        raise SystemExit(f"{arguments.data} holds none of the known sets: see data/sample/recall/README.md")
    with tempfile.TemporaryDirectory() as folder:
        for name, chats in sets.items():
            print_set(name, chats, Path(folder), arguments.data, plot)
        for size in sizes(arguments.sizes):
            print_size([chat for chats in sets.values() for chat in chats], size, Path(folder), plot)
    if arguments.plot:
        arguments.plot.write_text(plot.svg(), "utf-8")


if __name__ == "__main__":
    main()
