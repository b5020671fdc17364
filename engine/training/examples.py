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
`sentence1,sentence2,score`; `text`), by their values where they have no names, or by position when
there are no more than three, as SimCSE's loader does. Cells that are lists of positives or of hard
negatives give several examples. A text file has one sentence per line, and an empty line between
documents.
"""

import hashlib
import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np

from theodolite.engine.datasets import hub
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.datasets.columns import guess, is_number, is_sentence, negatives
from theodolite.engine.datasets.conversion import ARROW, EXCEL, as_table, is_saved
from theodolite.engine.datasets.dialect import ENDINGS, dialect_of, encoding_note
from theodolite.engine.datasets.files import listed, number, where
from theodolite.engine.datasets.formats import (
    Table,
    lines_of,
    open_table,
    split_by_labels,
    split_sets,
    text_of,
    texts_in,
    whole_rows,
)
from theodolite.engine.datasets.parquet import Opaque
from theodolite.engine.datasets.tables import Faults
from theodolite.engine.errors import UserError
from theodolite.engine.paths import expand
from theodolite.engine.tasks.pair_classification import mark
from theodolite.engine.training import data_sets
from theodolite.engine.training.losses import LOSSES
from theodolite.engine.training.rows import (
    PAIR,
    POSITIVE,
    SENTENCE,
    TRIPLET,
    Digest,
    Examples,
    ExamplesSpec,
    Premises,
    Rows,
    blank,
    count_note,
    good_pairs,
    in_turn,
    is_inference,
    kind_of,
    no_class,
    no_contradictions,
    no_pairs,
    no_running_text,
    positives,
)
from theodolite.engine.training.spec import ObjectiveName, TrainSpec

__all__ = ["Examples", "absolute", "examples_of", "is_file", "names_of", "open_examples"]


FILES = (*ENDINGS, *EXCEL, *ARROW)
"""Endings of training data; those of text also with `.gz`."""
_FIRST = 100
"""Rows by whose cells columns are found."""


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
        name: a file (`.parquet`, `.arrow`, `.xlsx`, or `.txt`, `.csv`, `.tsv`, `.jsonl`, each also
            `.gz`), a folder of `save_to_disk` or a data set of the catalog (`unlabelled/brown`,
            `nli`, `upload:mine`; `starter` for the shipped ones).
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
    shape = ExamplesSpec(objective, hard_negatives, next_sentences, limit)
    if not is_file(name):
        examples = data_sets.examples(name, shape, catalog)
    else:
        examples = _of_path(expand(name), shape, folder)
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
    sources = {
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
    return sources[names[0]] if len(sources) == 1 else Examples.joined(sources)


def names_of(train: str) -> list[str]:
    """The files and data sets that training data consist of: several have commas between."""
    several = [part.strip() for part in train.split(",") if part.strip()]
    return [train] if not several or _is_there(expand(train)) else several


def absolute(train: str) -> str:
    """Training data that mean the same in any folder: the names of data sets are unchanged."""
    paths = [(name, expand(name)) for name in names_of(train)]
    return ",".join(str(path.absolute()) if _is_there(path) else name for name, path in paths)


def is_file(name: str) -> bool:
    """Return whether training data is named by a file or folder rather than a data set.

    A file need not exist.
    """
    if name.startswith(("upload:", hub.PREFIX)):
        return False
    return _is_there(expand(name)) or name.lower().removesuffix(".gz").endswith(FILES)


def _is_there(path: Path) -> bool:
    """Whether a path is that of training data: a folder may just have a data set's name."""
    return path.is_file() or is_saved(path)


def _too_few(name: str, examples: Examples) -> UserError:
    what = "one example" if len(examples) else "no example"
    return UserError(
        " ".join([f"{name} has {what} to learn from.", *examples.notes]),
        "An example is told apart from the others of its batch, so there must be two at least, and "
        "some thousands to learn anything.",
        code="too-few",
    )


def _of_path(path: Path, wanted: ExamplesSpec, folder: Path) -> Examples:
    """Open a file or a folder.

    Args:
        path: a file of a format that `engine.datasets` reads, or a folder of `save_to_disk`.
        wanted: kind of the examples.
        folder: where the sentences are written to be read by number.
    """
    if not _is_there(path):
        raise UserError(
            f"There is no file {path}.", "Give the training file's path.", code="no-file"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as own:
        table = as_table(path, Path(own), bounded=False)
        name = where(path.with_name(table.path.name))
        examples = _of_file(table.path, name, wanted, folder)
        notes = filter(None, (table.note, encoding_note(table.path, table.path.name)))
    return replace(examples, notes=(*notes, *examples.notes))


def _of_file(path: Path, name: str, wanted: ExamplesSpec, folder: Path) -> Examples:
    """Open a file of a format that `engine.datasets.formats` reads, called `name` in messages."""
    dialect = dialect_of(path, name)
    if dialect.ending == ".txt":
        if wanted.objective == "sup":
            raise no_pairs(name, "one sentence a line")
        lines = lines_of(path, dialect.encoding)
        return (_lines if wanted.single else _following_lines)(lines, wanted, folder)
    if wanted.objective == "next-sentence":
        raise no_running_text(name, "columns")
    opened = open_table(path, name, bounded=False)
    table = split_sets(split_by_labels(opened))
    # One row of Parquet: others may hold what cannot be read, in columns that are not needed.
    table, first = _peek(table, 1 if dialect.ending == ".parquet" else _FIRST)
    layout = _layout(name, table, first)
    if not wanted.single and layout.kind == "sentences":
        others = [column for column in table.columns if column not in layout.columns]
        beside = f" beside {listed(others)}" if others else ""
        raise no_pairs(name, f"one column of sentences, {layout.columns[0]}{beside}")
    is_whole = table.columns == opened.columns and not table.repeated
    if dialect.ending == ".parquet" and is_whole:  # the other columns need not be read
        needed = layout.columns
        table, first = _peek(open_table(path, name, bounded=False, choose=lambda _: needed), _FIRST)
        if layout.kind == "pairs":
            empty = _without_texts(dict(zip(table.columns, zip(*first, strict=True), strict=False)))
            layout = replace(layout, columns=tuple(c for c in needed if c not in empty))
    return _READERS["sentences" if wanted.single else layout.kind](
        _WholeRows(name, table, layout, wanted.width(layout.columns)), wanted, folder
    )


def _peek(table: Table, most: int) -> tuple[Table, list[list[Any]]]:
    """Return the table with all its rows, and the cells of the first of them."""
    first = list(islice(table.rows, most))
    return replace(table, rows=chain(first, table.rows)), [cells for _, cells in first]


def _without_texts(cells_of: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return the columns without a text in several rows; of a single row nothing is concluded."""
    return [c for c, cells in cells_of.items() if len(cells) > 1 and not any(map(texts_in, cells))]


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


@dataclass(frozen=True)
class _Layout:
    """The kind and the columns of a table: sentences first, then the label or the score.

    Pairs may have several columns of hard negatives.
    """

    kind: Literal["sentences", "pairs", "inference", "graded"]
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def sentences(self) -> int:
        """Number of cells of a row that hold sentences."""
        if self.kind == "pairs":
            return min(len(self.columns), len(TRIPLET))
        return len(self.columns) - (self.kind in ("inference", "graded"))


_MEANINGS = {
    "sentences": ("a sentence",),
    "pairs": ("a sentence", "its positive", "its hard negative"),
    "inference": ("a sentence", "another", "their label"),
    "graded": ("a sentence", "another", "their score"),
}


def _layout(name: str, table: Table, first: Sequence[Sequence[Any]]) -> _Layout:
    """Find the columns to learn from; `first` are the first rows."""
    rows = [cells for cells in first if len(cells) == len(table.columns)]
    cells_of = dict(zip(table.columns, zip(*rows, strict=True), strict=False))
    lists = [c for c, cells in cells_of.items() if isinstance(cells[0], Opaque | list | dict)]
    columns = [column for column in table.columns if column not in lists]
    if not columns:
        raise UserError(
            f"{name} has no column of texts"
            + (f", but of lists or objects: {listed(lists)}." if lists else "."),
            "Give each sentence a column, such as text. Of lists, those of pairs are read: "
            '{"set": ["A sentence.", "One that means the same."]}.',
            code="missing",
        )
    layout = _named(table.columns, columns, cells_of) if table.header else _unnamed(columns, rows)
    unread = [column for column in lists if layout is None or column not in layout.columns]
    notes = [f"Columns of lists, not read: {listed(unread)}."] if unread else []
    if layout is not None:
        return replace(layout, notes=(*layout.notes, *notes))
    if any(map(is_sentence, columns)):
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
    texts = [c for c in columns if not all(map(is_number, cells_of.get(c, ("",))))]
    if not texts:
        raise UserError(
            f"{name} has no column of texts: {listed(columns)} hold numbers.",
            "Give the texts that they stand for.",
            code="missing",
        )
    filled = [column for column in texts if any(cells_of.get(column, ()))] or texts
    kind: Literal["sentences", "pairs"] = "sentences" if len(filled) == 1 else "pairs"
    return _Layout(kind, tuple(filled), (_by_place(kind, filled), *notes))


def _by_place(kind: str, columns: Sequence[str]) -> str:
    """Say as what columns without known names were taken."""
    meaning = ", ".join(_MEANINGS[kind][: len(columns)])
    return f"The columns {', '.join(columns)} were taken by their places: {meaning}."


def _unnamed(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> _Layout | None:
    """Find the columns by their values, as those of an upload."""
    kind, found = guess(columns, rows)
    if kind == "labels":
        found = {"text": found["text"]}
    layout = _of_roles(found, found.get("label") or found.get("grade"))
    return layout and replace(layout, notes=(_by_place(layout.kind, layout.columns),))


def _named(
    every: Sequence[str], columns: Sequence[str], cells_of: Mapping[str, Sequence[Any]]
) -> _Layout | None:
    """Find the columns by their names; positives and hard negatives may be lists of texts."""
    _, found = guess(columns, [])
    _, with_lists = guess(every, [])
    if "positive" in with_lists:
        found.setdefault("positive", with_lists["positive"])
    empty = _without_texts(cells_of)
    against = [column for column in negatives(every) if column not in empty]
    label = found.get("label")
    if {"anchor", "positive"} <= found.keys():
        pair = (found["anchor"], found["positive"])
        marks = {mark(str(cell)) for cell in cells_of.get(label or "", [None])}
        if against or None in marks:
            return _Layout("pairs", (*pair, *against))
        return _Layout("inference", (*pair, str(label)))
    return _of_roles(found, label)


def _of_roles(found: Mapping[str, str], label: str | None) -> _Layout | None:
    """Make the layout of the roles that were found."""
    if {"anchor", "positive"} <= found.keys():
        against = [found["negative"]] if "negative" in found else []
        return _Layout("pairs", (found["anchor"], found["positive"], *against))
    for sides in (("left", "right"), ("query", "document")):
        if set(sides) <= found.keys():
            pair = tuple(found[side] for side in sides)
            if label:
                return _Layout("inference", (*pair, label))
            if "score" in found:
                return _Layout("graded", (*pair, found["score"]))
            return _Layout("pairs", pair)
    return _Layout("sentences", (found["text"],)) if "text" in found else None


class _WholeRows:
    """The complete rows of a table; hashes them, and counts the others, which it leaves out."""

    def __init__(self, name: str, table: Table, layout: _Layout, width: int) -> None:
        self.name, self.layout = name, layout
        self._table, self._width = table, width
        self._chosen = [table.columns.index(column) for column in layout.columns]
        self.digest = Digest()
        self._short, self._blank = Faults("Rows with too few cells"), 0
        self._further = 0

    def __iter__(self) -> Iterator[tuple[str, list[str]]]:
        """Yield the place of each row and its chosen cells."""
        for place, cells in whole_rows(self._table, self.name, self._short.add):
            for chosen in self._single([cells[i] for i in self._chosen]):
                row = [
                    "" if isinstance(cell, Opaque) else text_of(cell, place, column).strip()
                    for cell, column in zip(chosen, self.layout.columns, strict=False)
                ]
                if all(row[: self.layout.sentences]):
                    self.digest.add(row)
                    yield place, row
                else:
                    self._blank += 1

    def _single(self, cells: list[Any]) -> Sequence[Sequence[Any]]:
        """Rows of single texts of a row, of which the positive and the negatives may be several."""
        if self.layout.kind != "pairs" or not (
            len(cells) > len(TRIPLET) or any(isinstance(cell, list) for cell in cells[1:])
        ):
            return [cells]
        anchor, positive, *against = cells
        sides = [[anchor], texts_in(positive) or [""]]
        if against:
            sides.append([text for cell in against for text in texts_in(cell)] or [""])
        count = max(map(len, sides[: self._width]))
        self._further += count - 1
        return in_turn(sides)[:count]

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
            *self.layout.notes,
            *count_note(
                self._further,
                "example more, as a row may have several positives or hard negatives",
                "examples more, as a row may have several positives or hard negatives",
            ),
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

    return _graded(rows, Rows(pairs(), 2, folder), scores, wanted)


def _graded(
    rows: _WholeRows, stored: Rows, scores: Sequence[float], wanted: ExamplesSpec
) -> Examples:
    note, good = good_pairs(scores)
    index = np.flatnonzero(good)[: wanted.limit]
    return rows.made(PAIR, len(index), lambda position: stored[index[position]], note)


def _inference(rows: _WholeRows, wanted: ExamplesSpec, folder: Path) -> Examples:
    premises, unlabelled, labels = Premises(), 0, dict[str, str]()
    alike, scores = array("q"), array("d")

    def pairs() -> Iterator[list[str]]:
        nonlocal unlabelled
        for position, (place, (premise, hypothesis, label)) in enumerate(rows):
            kind = kind_of(label)
            unlabelled += kind == ""
            premises.add(premise, kind, position)
            labels.setdefault(label, place)
            scores.append(float(label) if is_number(label) else math.nan)
            if mark(label) == POSITIVE:
                alike.append(position)
            yield [premise, hypothesis]

    stored = Rows(pairs(), 2, folder)
    more = count_note(
        unlabelled, "pair without a label was left out", "pairs without a label were left out"
    )
    unknown = [label for label in labels if kind_of(label) is None and mark(label) is None]
    if unknown and not np.isnan(scores).any():
        return _graded(rows, stored, scores, wanted)
    if unknown:
        raise no_class(unknown[0], labels[unknown[0]])
    if alike and not is_inference(labels):
        number = min(len(alike), wanted.limit or len(alike))
        return rows.made(PAIR, number, lambda at: stored[alike[at]], *more, positives(labels))
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
