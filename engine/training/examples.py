"""Training examples by number, read on demand from a file or a data set.

    examples = open_examples("nli.csv.gz", "sup", Catalog(), folder=working_folder)
    examples[17]                            # ("A man is asleep.", "Someone sleeps.", "He runs.")

What an example is depends on the objective: one sentence (`unsup`, `mlm`); a sentence, its positive
and perhaps a hard negative (`sup`); a sentence and the one to three that follow it
(`next-sentence`). Faulty lines of a file are either left out and counted in `notes`, or refused:

* left out: empty lines, which are counted in a text file; rows with an empty sentence; rows with
  fewer cells than there are columns (SimCSE's loader trains on a blank in both cases, which teaches
  nothing); inference pairs without a label; repeated sentences of a table (`unsup`, `mlm`);
* refused, naming the line: rows with more cells than there are columns (a quote or a separator is
  wrong, so the cells cannot be assigned), broken quotes and JSON, text of no certain encoding.

The columns of a table are found by their names (`sent0,sent1,hard_neg`; `premise,hypothesis,label`;
`sentence1,sentence2,score`; `text`), or by position when there are no more than three, as SimCSE's
loader does. A text file has one sentence per line, and an empty line between documents.
"""

import hashlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Literal

import numpy as np

from theodolite.engine.datasets import hub
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.datasets.columns import guess, is_sentence
from theodolite.engine.datasets.dialect import ENDINGS, dialect_of, encoding_note
from theodolite.engine.datasets.files import listed, number, where
from theodolite.engine.datasets.formats import Table, lines_of, open_table, text_of, whole_rows
from theodolite.engine.datasets.parquet import Opaque
from theodolite.engine.datasets.tables import Faults
from theodolite.engine.errors import UserError
from theodolite.engine.paths import expand
from theodolite.engine.training import data_sets
from theodolite.engine.training.losses import LOSSES
from theodolite.engine.training.rows import (
    PAIR,
    POSITIVE,
    POSITIVES,
    SENTENCE,
    TRIPLET,
    Digest,
    Examples,
    ExamplesSpec,
    Premises,
    Rows,
    blank,
    class_of,
    count_note,
    good_pairs,
    is_inference,
    no_contradictions,
    no_pairs,
    no_running_text,
)
from theodolite.engine.training.spec import ObjectiveName, TrainSpec

__all__ = ["Examples", "absolute", "examples_of", "is_file", "names_of", "open_examples"]


def open_examples(
    name: str,
    objective: ObjectiveName,
    catalog: Catalog,
    *,
    hard_negatives: bool = True,
    next_sentences: int = 1,
    loss: str = "",
    limit: int | None = None,
    folder: Path,
) -> Examples:
    """Open training data.

    Args:
        name: a file (`.parquet`, or `.txt`, `.csv`, `.tsv`, `.jsonl`, each also `.gz`) or a data
            set of the catalog (`unlabelled/brown`, `nli`, `upload:mine`; `starter` for the shipped
            ones).
        objective: determines what an example is.
        catalog: where data sets come from.
        hard_negatives: keep the third column of `sup`, if there is one. Without it inference data
            give every entailment, not only those whose premise has a contradiction.
        next_sentences: number of following sentences in an example of `next-sentence`.
        loss: of `st`; says what an example is, a score or label being the last of its parts.
        limit: number of examples to keep, from the first; None for all.
        folder: where the sentences of a file are written, to be read by number.
    """
    need = LOSSES[loss] if objective == "st" else None
    if need is not None and need.has_labels:
        return _with_labels(name, loss, catalog, limit)
    if need is not None:
        objective = "unsup" if need.data == "sentences" else "sup"
        hard_negatives = need.data == "triplets" or (need.negatives and hard_negatives)
    wanted = ExamplesSpec(objective, hard_negatives, next_sentences, limit)
    if not is_file(name):
        examples = data_sets.examples(name, wanted, catalog)
    else:
        path = expand(name)
        examples = _of_file(path, wanted, folder)
        note = encoding_note(path, path.name)
        examples = replace(examples, notes=(*[note] * bool(note), *examples.notes))
    if len(examples) < 2:
        raise _too_few(name, examples)
    if need is not None and need.data == "triplets" and len(examples.columns) < 3:
        raise UserError(
            f"{name} has the columns {', '.join(examples.columns)}; {loss} learns from "
            f"{need.needs}.",
            "Give triplets, or choose a loss of pairs.",
            code="wrong-kind",
        )
    return examples


def _with_labels(name: str, loss: str, catalog: Catalog, limit: int | None) -> Examples:
    """Open a data set for a loss that learns from scores or labels."""
    if is_file(name):
        raise UserError(
            f"{loss} learns from {LOSSES[loss].needs}. A file has them once it is a data set.",
            f"Add it first: theodolite data add {name}; then train on it by its name, upload:….",
            code="wrong-kind",
        )
    examples = data_sets.with_labels(name, loss, catalog, limit)
    if len(examples) < 2:
        raise _too_few(name, examples)
    if len({example[-1] for example in examples}) < 2:
        raise UserError(
            f"All examples of {name} have the same score or label: {loss} learns from how they "
            "differ.",
            "Give data with several.",
            code="too-few",
        )
    return examples


def examples_of(spec: TrainSpec, catalog: Catalog, folder: Path) -> Examples:
    """Open the training data of a run; arguments and errors are those of `open_examples`."""
    names = names_of(spec.train)
    opened = {
        name: open_examples(
            name,
            spec.objective,
            catalog,
            hard_negatives=spec.hard_negatives,
            next_sentences=spec.next_sentences,
            loss=spec.loss,
            limit=spec.limit,
            folder=folder,
        )
        for name in names
    }
    return opened[names[0]] if len(opened) == 1 else Examples.joined(opened)


def names_of(train: str) -> list[str]:
    """The files and data sets that training data consist of: several have commas between."""
    several = [part.strip() for part in train.split(",") if part.strip()]
    return [train] if not several or expand(train).is_file() else several


def absolute(train: str) -> str:
    """Training data that mean the same in any folder: the names of data sets are unchanged."""
    paths = [(name, expand(name)) for name in names_of(train)]
    return ",".join(str(path.absolute()) if path.is_file() else name for name, path in paths)


def is_file(name: str) -> bool:
    """Return whether training data is named by a file, existing or not, rather than a data set."""
    if name.startswith(("upload:", hub.PREFIX)):
        return False
    return expand(name).is_file() or name.lower().removesuffix(".gz").endswith(ENDINGS)


def _too_few(name: str, examples: Examples) -> UserError:
    what = "one example" if len(examples) else "no example"
    return UserError(
        " ".join([f"{name} has {what} to learn from.", *examples.notes]),
        "An example is told apart from the others of its batch, so there must be two at least, and "
        "some thousands to learn anything.",
        code="too-few",
    )


def _of_file(path: Path, wanted: ExamplesSpec, folder: Path) -> Examples:
    """Open a file.

    Args:
        path: of a format that `engine.datasets.formats` reads.
        wanted: kind of the examples.
        folder: where the sentences are written to be read by number.
    """
    name = where(path)
    if not path.is_file():
        raise UserError(
            f"There is no file {path}.", "Give the training file's path.", code="no-file"
        )
    dialect = dialect_of(path, name)
    if dialect.ending == ".txt":
        if wanted.objective == "sup":
            raise no_pairs(name, "one sentence a line")
        lines = lines_of(path, dialect.encoding)
        return (_lines if wanted.single else _following_lines)(lines, wanted, folder)
    if wanted.objective == "next-sentence":
        raise no_running_text(name, "columns")
    table, lists = _of_texts(open_table(path, name, bounded=False))
    layout = _layout(name, table)
    if not wanted.single and layout.kind == "sentences":
        beside = f", and lists in {listed(lists)}" if lists else ""
        raise no_pairs(name, f"one column of sentences{beside}")
    if lists:
        unread = f"Lists are not read, as in {listed(lists)}: give each text a row of its own."
        layout = replace(layout, note=f"{layout.note} {unread}".strip())
    if dialect.ending == ".parquet" and not table.repeated:  # the other columns need not be read
        table = open_table(path, name, bounded=False, choose=lambda _: layout.columns)
    return _READERS["sentences" if wanted.single else layout.kind](
        _WholeRows(name, table, layout), wanted, folder
    )


def _lines(lines: Iterator[str], wanted: ExamplesSpec, folder: Path) -> Examples:
    """The lines that are not empty."""
    digest, number, empty = Digest(), 0, 0

    def sentences() -> Iterator[tuple[str]]:
        nonlocal number, empty
        for line in map(str.strip, lines):
            if not line:
                empty += 1
            elif number == wanted.limit:
                return
            else:
                number += 1
                digest.add((line,))
                yield (line,)

    rows = Rows(sentences(), 1, folder)
    notes = count_note(empty, "empty line was left out", "empty lines were left out")
    return Examples(SENTENCE, str(digest), tuple(notes), number, rows.__getitem__)


def _following_lines(lines: Iterator[str], wanted: ExamplesSpec, folder: Path) -> Examples:
    """Every line but the last of its document, with those that follow it."""
    digest, documents, size = Digest(), 0, 0
    anchors, ends = array("q"), array("q")  # a line that others follow, and its document's end

    def sentences() -> Iterator[tuple[str]]:
        nonlocal documents, size
        begin = 0
        for line in chain(map(str.strip, lines), [None]):
            if line:
                size += 1
                digest.add((line,))
                yield (line,)
                continue
            documents += size > begin
            anchors.extend(range(begin, size - 1))
            ends.extend([size] * (len(anchors) - len(ends)))
            begin = size
            if wanted.limit is not None and len(anchors) >= wanted.limit:
                return
            if line is not None:
                digest.add(())

    rows = Rows(sentences(), 1, folder)

    def read(position: int) -> tuple[str, ...]:
        first = anchors[position]
        last = min(first + wanted.next_sentences, ends[position] - 1)
        return tuple(rows[place][0] for place in range(first, last + 1))

    note = f"{documents:,} documents, told apart by empty lines."
    if documents == 1:
        note = "There is no empty line between documents: all lines count as one document."
    number = min(len(anchors), wanted.limit or len(anchors))
    return Examples(wanted.following, str(digest), (note,), number, read)


def _of_texts(table: Table) -> tuple[Table, list[str]]:
    """The table without columns that hold neither texts nor numbers, and the names of those."""
    first = next(table.rows, None)
    if first is None:
        return table, []
    rows = chain([first], table.rows)
    places = [i for i, cell in enumerate(first[1]) if not isinstance(cell, Opaque | list | dict)]
    columns = tuple(table.columns[i] for i in places)
    others = [column for column in table.columns if column not in columns]
    chosen = ((n, [row[i] for i in places]) for n, row in rows) if others else rows
    return replace(table, columns=columns, rows=chosen), others


@dataclass(frozen=True)
class _Layout:
    """The kind and the columns of a table: sentences first, then the label or the score."""

    kind: Literal["sentences", "pairs", "inference", "graded"]
    columns: tuple[str, ...]
    note: str = ""

    @property
    def sentences(self) -> int:
        """Number of columns that hold sentences."""
        return len(self.columns) - (self.kind in ("inference", "graded"))


def _layout(name: str, table: Table) -> _Layout:
    columns = table.columns
    if not columns:
        raise UserError(
            f"{name} names no column.", "Put the names on top, such as text.", code="missing"
        )
    _, found = guess(columns, [])
    if {"anchor", "positive"} <= found.keys():
        roles = [role for role in ("anchor", "positive", "negative") if role in found]
        return _Layout("pairs", tuple(found[role] for role in roles))
    if {"left", "right"} <= found.keys():
        pair = (found["left"], found["right"])
        if "label" in found:
            return _Layout("inference", (*pair, found["label"]))
        if "score" in found:
            return _Layout("graded", (*pair, found["score"]))
        return _Layout("pairs", pair)
    if "text" in found:
        return _Layout("sentences", (found["text"],))
    if not table.header or any(map(is_sentence, columns)):
        raise UserError(
            f"The first line of {name} holds sentences, not the names of its columns.",
            "Put the names on top: sent0,sent1,hard_neg, or text for single sentences.",
            code="ambiguous",
        )
    if len(columns) > 3 or table.repeated:
        raise UserError(
            f"The columns of {name} are {listed(columns)}: none has a known name.",
            "Name them sent0,sent1,hard_neg or premise,hypothesis,label or "
            "sentence1,sentence2,score or text, or add the file as a data set and say there which "
            "column is what.",
            code="ambiguous",
        )
    note = f"The columns {', '.join(columns)} were taken by their places"
    meaning = ("a sentence", "its positive", "its hard negative")[: len(columns)]
    return _Layout(
        "sentences" if len(columns) == 1 else "pairs", columns, f"{note}: {', '.join(meaning)}."
    )


class _WholeRows:
    """The complete rows of a table; hashes them, and counts the others, which it leaves out."""

    def __init__(self, name: str, table: Table, layout: _Layout) -> None:
        self.name, self.layout = name, layout
        self._table = table
        self._chosen = [table.columns.index(column) for column in layout.columns]
        self.digest = Digest()
        self._short, self._blank = Faults("Rows with too few cells"), 0

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the place of each row and its chosen cells."""
        columns = self._table.columns
        for place, cells in whole_rows(self._table, self.name, self._short.add):
            row = [
                "" if isinstance(cells[i], Opaque) else text_of(cells[i], place, columns[i]).strip()
                for i in self._chosen
            ]
            if all(row[: self.layout.sentences]):
                self.digest.add(row)
                yield place, row
            else:
                self._blank += 1

    def made(
        self,
        columns: tuple[str, ...],
        number: int,
        read: Callable[[int], tuple[str, ...]],
        *more: str,
    ) -> Examples:
        """Return the examples, with notes on the columns and on the rows that were left out."""
        first = f"(the first on {next(iter(self._short.places), '')})"
        notes = [
            *([self.layout.note] if self.layout.note else []),
            *blank(self._blank),
            *count_note(
                self._short.count,
                f"row with too few cells was left out {first}",
                f"rows with too few cells were left out {first}",
            ),
        ]
        return Examples(columns, str(self.digest), (*notes, *more), number, read)


def _sentences(rows: _WholeRows, wanted: ExamplesSpec, folder: Path) -> Examples:
    """The distinct sentences of all columns, in order of first occurrence."""
    width, keys = rows.layout.sentences, array("Q")

    def cells() -> Iterator[list[str]]:
        for _, row in rows:
            for cell in row[:width]:
                key = hashlib.blake2b(cell.encode(), digest_size=8).digest()
                keys.append(int.from_bytes(key))
            yield row[:width]

    stored = Rows(cells(), width, folder)
    _, first = np.unique(np.frombuffer(keys, np.uint64), return_index=True)
    again = count_note(
        len(keys) - len(first),
        "sentence that came before was left out",
        "sentences that came before were left out",
    )
    first = np.sort(first)[: wanted.limit]

    def sentence(position: int) -> tuple[str]:
        row, column = divmod(int(first[position]), width)
        return (stored[row][column],)

    return rows.made(SENTENCE, len(first), sentence, *again)


def _pairs(rows: _WholeRows, wanted: ExamplesSpec, folder: Path) -> Examples:
    width, number = wanted.width(rows.layout.columns), 0

    def pairs() -> Iterator[list[str]]:
        nonlocal number
        for _, row in islice(rows, wanted.limit):
            number += 1
            yield row[:width]

    read = Rows(pairs(), width, folder).__getitem__
    return rows.made(TRIPLET[:width], number, read)


def _good_pairs(rows: _WholeRows, wanted: ExamplesSpec, folder: Path) -> Examples:
    scores = array("d")

    def pairs() -> Iterator[list[str]]:
        for place, (*pair, score) in rows:
            scores.append(number(score, place))
            yield pair

    stored = Rows(pairs(), 2, folder)
    note, good = good_pairs(scores)
    index = np.flatnonzero(good)[: wanted.limit]
    return rows.made(PAIR, len(index), lambda position: stored[index[position]], note)


def _inference(rows: _WholeRows, wanted: ExamplesSpec, folder: Path) -> Examples:
    premises, unlabelled, labels, ones = Premises(), 0, set[str](), array("q")

    def pairs() -> Iterator[list[str]]:
        nonlocal unlabelled
        for position, (place, (premise, hypothesis, label)) in enumerate(rows):
            kind = class_of(label, place)
            unlabelled += not kind
            premises.add(premise, kind, position)
            labels.add(label)
            if label == POSITIVE:
                ones.append(position)
            yield [premise, hypothesis]

    stored = Rows(pairs(), 2, folder)
    more = count_note(
        unlabelled, "pair without a label was left out", "pairs without a label were left out"
    )
    if ones and not is_inference(labels):
        number = min(len(ones), wanted.limit or len(ones))
        return rows.made(PAIR, number, lambda position: stored[ones[position]], *more, POSITIVES)
    if not wanted.hard_negatives:
        index = np.array(premises.pairs(), np.int64)[: wanted.limit]
        return rows.made(PAIR, len(index), lambda position: stored[index[position]], *more)
    both = np.array(premises.triplets(), np.int64).reshape(-1, 2)[: wanted.limit]
    if not len(both):
        raise no_contradictions(rows.name)

    def triplet(position: int) -> tuple[str, ...]:
        follows, against = both[position]
        return (*stored[follows], stored[against][1])

    return rows.made(TRIPLET, len(both), triplet, *more)


_READERS = {
    "sentences": _sentences,
    "pairs": _pairs,
    "inference": _inference,
    "graded": _good_pairs,
}
