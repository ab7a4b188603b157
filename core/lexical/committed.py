"""The committed part: one tantivy directory. Only this file knows tantivy, its traps and its error classes.

Traps: `delete_documents_by_term` on a number deletes nothing, silently (we delete by query). A tokenizer is registered
anew in every process. Statistics count deleted texts until a merge. Text fields have no way to switch lengths off.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from tantivy import (
    DocAddress,
    Document,
    Index,
    IndexWriter,
    Occur,
    Order,
    Query,
    Schema,
    SchemaBuilder,
    Searcher,
    TextAnalyzerBuilder,
    Tokenizer,
)

from .bm25 import idf
from .entry import FILLER, Entry, Hit, LexicalError, LexicalLocked, terms

FORMAT = 1
"""Changes with tokens, padding and terms: an index of another format is foreign and must be rebuilt."""

_BODY = f"body{FORMAT}"
_NUMBERS = ("seq", "id", "session", "day", "flags")
_LEAST_HEAP = 15_000_000
_MOST_REMEMBERED = 20_000


@contextmanager
def told_as_lexical(path: Path, doing: str) -> Iterator[None]:
    """tantivy raises ValueError for nearly everything, and its panics are BaseExceptions of a class without a name."""
    try:
        yield
    except LexicalError:
        raise
    except BaseException as err:
        if not isinstance(err, Exception) and type(err).__name__ != "PanicException":
            raise
        if "LockBusy" in str(err):
            raise LexicalLocked(
                f"the index in {path} already has a writer: stop the other program, or open it to read"
            ) from err
        raise LexicalError(
            f"the index in {path} failed while {doing} ({err}): rebuild it with `penfriend memory reindex`"
        ) from err


def open_directory(path: Path, *, create: bool) -> Index:
    with told_as_lexical(path, "opening"):
        if create:
            path.mkdir(parents=True, exist_ok=True)
        elif not path.is_dir() or not Index.exists(str(path)):
            raise LexicalError(f"there is no index in {path}: build it with `penfriend memory reindex`")
        index = Index(_schema(), path=str(path))
        index.register_tokenizer("spaces", TextAnalyzerBuilder(Tokenizer.whitespace()).build())
        index.config_reader(reload_policy="manual")
        index.reload()
        return index


def _schema() -> Schema:
    builder = SchemaBuilder()
    for number in _NUMBERS:
        builder.add_unsigned_field(number, stored=False, indexed=number in ("seq", "id"), fast=True)
    builder.add_text_field(_BODY, stored=False, tokenizer_name="spaces", index_option="freq")
    return builder.build()


def open_writer(index: Index, path: Path) -> IndexWriter:
    with told_as_lexical(path, "opening for writing"):
        return index.writer(heap_size=_LEAST_HEAP, num_threads=1)


def write_entry(writer: IndexWriter, entry: Entry) -> None:
    document = Document()
    for number in _NUMBERS:
        document.add_unsigned(number, getattr(entry, number))
    document.add_text(_BODY, " ".join(terms(entry)))
    writer.add_document(document)


def delete_entry(writer: IndexWriter, schema: Schema, entry_id: int) -> None:
    writer.delete_documents_by_query(Query.term_query(schema, "id", entry_id))


class Snapshot:
    """What was committed at one reload: an unchanging searcher with its statistics."""

    def __init__(self, index: Index) -> None:
        self._schema: Schema = index.schema
        self._searcher: Searcher = index.searcher()
        self._frequencies: dict[str, int] = {}
        self.texts, self.total_length = self._statistics()

    def _statistics(self) -> tuple[int, float]:
        """Texts and tokens as tantivy counts them, deleted ones too; an explanation is the one place that tells."""
        if not (found := self._searcher.search(Query.all_query(), 1, count=False).hits):
            return 0, 0.0
        said = Query.term_query(self._schema, _BODY, FILLER).explain(self._searcher, found[0][1]).to_json()
        texts = _stated(json.loads(said), "N, ")
        return int(texts), texts * _stated(json.loads(said), "avgdl")

    def holding(self, term: str) -> int:
        """How many texts hold the term; remembered, because a message asks for its words several times."""
        if (count := self._frequencies.get(term)) is None:
            if len(self._frequencies) >= _MOST_REMEMBERED:
                self._frequencies.clear()
            count = self._frequencies[term] = self._searcher.doc_freq(_BODY, term)
        return count

    def change_of(self, entry_id: int) -> int | None:
        """The change number of the committed text of that id; None when there is no such text."""
        found = self._searcher.search(Query.term_query(self._schema, "id", entry_id), 1, count=False).hits
        return self._numbers("seq", [found[0][1]])[0] if found else None

    def cursor(self) -> int:
        newest = self._searcher.search(Query.all_query(), 1, count=False, order_by_field="seq", order=Order.Desc).hits
        return int(newest[0][0]) if newest else 0

    def search(self, weights: Mapping[str, tuple[float, int]], limit: int, must: Collection[str]) -> list[Hit]:
        """Best `limit` hits; `weights` is, for each term, the weight one occurrence shall have and its frequency here.

        tantivy multiplies by its own idf, over all scopes and committed texts only, so each term is boosted by the
        ratio of the two. Boosted terms are still pruned (block-max).
        """
        wanted = [self._boosted(term, weight, holding) for term, (weight, holding) in weights.items() if holding]
        if must:
            some = Query.boolean_query([(Occur.Should, self._term(term)) for term in must])
            wanted = [(Occur.Must, Query.const_score_query(some, 0.0)), *wanted]
        if not wanted or limit < 1:
            return []
        found = self._searcher.search(Query.boolean_query(wanted), limit, count=False).hits
        return self._read(found)

    def _boosted(self, term: str, weight: float, holding: int) -> tuple[Occur, Query]:
        return Occur.Should, Query.boost_query(self._term(term), weight / idf(self.texts, holding))

    def _term(self, term: str) -> Query:
        return Query.term_query(self._schema, _BODY, term)

    def _read(self, found: list[tuple[float, DocAddress]]) -> list[Hit]:
        if not found:
            return []
        places = [place for _, place in found]
        columns = [self._numbers(name, places) for name in ("id", "session", "day", "flags")]
        scores = [float(score) for score, _ in found]
        return list(map(Hit, columns[0], scores, *columns[1:]))

    def _numbers(self, name: str, places: list[DocAddress]) -> list[int]:
        return cast(list[int], self._searcher.fast_field_values(name, places))


def _stated(explanation: dict[str, object], label: str) -> float:
    """The number that tantivy's explanation gives under a label; the tree is {value, description, details: [...]}."""
    waiting = [explanation]
    while waiting:
        node = waiting.pop()
        if str(node["description"]).startswith(label):
            return float(str(node["value"]))
        details = node.get("details", [])
        waiting.extend(details if isinstance(details, list) else [])
    raise LexicalError(f"tantivy's explanation has no {label!r}: this version of tantivy is not supported")
