"""Examples from a file of columns: SimCSE's layout, inference pairs, graded pairs, sentences.

The columns are found by their names (`sent0,sent1,hard_neg`; `premise,hypothesis,label`;
`sentence1,sentence2,score`; `text`), or by position when there are no more than three, as SimCSE's
loader does.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from theodolite.engine.datasets.columns import guess, is_sentence
from theodolite.engine.datasets.files import listed, number
from theodolite.engine.datasets.row_file import FileRow, RowFile
from theodolite.engine.datasets.shapes import usual_scale
from theodolite.engine.errors import UserError
from theodolite.engine.training.examples.base import (
    GOOD_SHARE,
    PAIR,
    SENTENCE,
    TRIPLET,
    Digest,
    Examples,
    ExamplesSpec,
    blank,
    counted,
    no_pairs,
    no_running_text,
)
from theodolite.engine.training.examples.nli import Premises, class_of


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


def examples(path: Path, wanted: ExamplesSpec, folder: Path) -> Examples:
    """Open a CSV, TSV or JSON lines file."""
    file = RowFile(path, folder)
    if wanted.objective == "next-sentence":
        raise no_running_text(file.name, "columns")
    layout = _layout(file)
    file.choose(layout.columns)
    rows = _WholeRows(file, layout)
    if wanted.single:
        return _sentences(rows, wanted)
    match layout.kind:
        case "sentences":
            raise no_pairs(file.name, "one column of sentences")
        case "pairs":
            return _pairs(rows, wanted)
        case "inference":
            return _inference(rows, wanted)
        case _:
            return _graded(rows, wanted)


def _layout(file: RowFile) -> _Layout:
    columns = file.columns
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
    if not file.header or any(map(is_sentence, columns)):
        raise UserError(
            f"The first line of {file.name} holds sentences, not the names of its columns.",
            "Put the names on top: sent0,sent1,hard_neg, or text for single sentences.",
            code="ambiguous",
        )
    if len(columns) > 3 or len(set(columns)) < len(columns):
        raise UserError(
            f"The columns of {file.name} are {listed(columns)}: none has a known name.",
            "Name them sent0,sent1,hard_neg or premise,hypothesis,label or "
            "sentence1,sentence2,score or text.",
            code="ambiguous",
        )
    note = f"The columns {', '.join(columns)} were taken by their places"
    meaning = ("a sentence", "its positive", "its hard negative")[: len(columns)]
    return _Layout(
        "sentences" if len(columns) == 1 else "pairs", columns, f"{note}: {', '.join(meaning)}."
    )


class _WholeRows:
    """The complete rows of a table; hashes them, and counts the others, which it leaves out."""

    def __init__(self, file: RowFile, layout: _Layout) -> None:
        self.file, self.layout = file, layout
        self.digest = Digest()
        self._empty = self._short = self._blank = 0
        self._first_short = 0

    def __iter__(self) -> Iterator[FileRow]:
        width = len(self.file.columns)
        for row in self.file.rows():
            if row.width == 0:
                self._empty += 1
            elif row.width > width:
                raise UserError(
                    f"{self.file.name}, line {row.line} has {row.width} cells, and there are "
                    f"{width} columns ({listed(self.file.columns)}).",
                    "A sentence with a separator in it belongs in quotes.",
                    code="damaged",
                )
            elif row.width < width:
                self._short += 1
                self._first_short = self._first_short or row.line
            elif not all(row.cells[: self.layout.sentences]):
                self._blank += 1
            else:
                self.digest.add(row.cells)
                yield row

    @property
    def notes(self) -> list[str]:
        """Notes on the columns and on the rows that were left out."""
        first = f"(the first on line {self._first_short})"
        return [
            *([self.layout.note] if self.layout.note else []),
            *counted(self._empty, "empty line was left out", "empty lines were left out"),
            *blank(self._blank),
            *counted(
                self._short,
                f"row with too few cells was left out {first}",
                f"rows with too few cells were left out {first}",
            ),
        ]

    def made(
        self,
        columns: tuple[str, ...],
        index: np.ndarray,
        read: partial[tuple[str, ...]],
        *more: str,
    ) -> Examples:
        """Return the examples whose positions in the file are the rows of an index."""
        return Examples(columns, str(self.digest), (*self.notes, *more), len(index), read)


def _sentences(rows: _WholeRows, wanted: ExamplesSpec) -> Examples:
    """The distinct sentences of all columns, in order of first occurrence."""
    offsets, keys, width = array("q"), array("Q"), rows.layout.sentences
    for row in rows:
        offsets.append(row.offset)
        for cell in row.cells[:width]:
            key = hashlib.blake2b(cell.encode(), digest_size=8).digest()
            keys.append(int.from_bytes(key))
    _, first = np.unique(np.frombuffer(keys, np.uint64), return_index=True)
    first.sort()
    again = counted(
        len(keys) - len(first),
        "sentence that came before was left out",
        "sentences that came before were left out",
    )
    first = first[: wanted.limit]
    read = partial(_read_sentence, rows.file, offsets, first, width)
    return rows.made(SENTENCE, first, read, *again)


def _read_sentence(
    file: RowFile, offsets: array[int], first: np.ndarray, width: int, position: int
) -> tuple[str, ...]:
    row, column = divmod(int(first[position]), width)
    return (file.at(offsets[row])[column],)


def _pairs(rows: _WholeRows, wanted: ExamplesSpec) -> Examples:
    columns = TRIPLET[: wanted.width(rows.layout.columns)]
    offsets = array("q")
    for row in rows:
        offsets.append(row.offset)
        if len(offsets) == wanted.limit:
            break
    index = np.frombuffer(offsets, np.int64)
    return rows.made(columns, index, partial(_read_row, rows.file, index, len(columns)))


def _read_row(file: RowFile, index: np.ndarray, width: int, position: int) -> tuple[str, ...]:
    return tuple(file.at(int(index[position]))[:width])


def _graded(rows: _WholeRows, wanted: ExamplesSpec) -> Examples:
    offsets, scores = array("q"), array("d")
    for row in rows:
        offsets.append(row.offset)
        scores.append(number(row.cells[2], f"{rows.file.name}, line {row.line}"))
    note, good = good_pairs(scores)
    index = np.frombuffer(offsets, np.int64)[good][: wanted.limit]
    return rows.made(PAIR, index, partial(_read_row, rows.file, index, 2), note)


def good_pairs(
    scores: Sequence[float], scale: tuple[float, float] | None = None
) -> tuple[str, np.ndarray]:
    """Select the graded pairs that count as positives.

    Args:
        scores: of the pairs.
        scale: lowest and highest possible; None takes the smallest usual scale that fits.

    Returns:
        A note for people, and bool (n,).
    """
    if not len(scores):
        return "", np.zeros(0, bool)
    low, high = scale or usual_scale(list(scores))
    least = low + GOOD_SHARE * (high - low)
    good = np.asarray(scores) >= least
    note = (
        f"{int(good.sum()):,} of {len(good):,} pairs count as positives: graded {least:g} or more "
        f"on the scale from {low:g} to {high:g}."
    )
    return note, good


def _inference(rows: _WholeRows, wanted: ExamplesSpec) -> Examples:
    premises, unlabelled = Premises(), 0
    for row in rows:
        label = class_of(row.cells[2], f"{rows.file.name}, line {row.line}")
        unlabelled += not label
        premises.add(row.cells[0], label, row.offset)
    more = counted(
        unlabelled, "pair without a label was left out", "pairs without a label were left out"
    )
    if wanted.hard_negatives:
        both = np.array(premises.triplets(), np.int64).reshape(-1, 2)[: wanted.limit]
        if not len(both):
            raise no_contradictions(rows.file.name)
        read = partial(_read_triplet, rows.file, both)
        return rows.made(TRIPLET, both, read, *more)
    index = np.array(premises.pairs(), np.int64)[: wanted.limit]
    return rows.made(PAIR, index, partial(_read_row, rows.file, index, 2), *more)


def _read_triplet(file: RowFile, both: np.ndarray, position: int) -> tuple[str, ...]:
    follows, against = (file.at(int(offset)) for offset in both[position])
    return follows[0], follows[1], against[1]


def no_contradictions(name: str) -> UserError:
    """Return the error for NLI pairs that give no triplet."""
    return UserError(
        f"No premise of {name} has both an entailment and a contradiction.",
        "Train without hard negatives to learn from its entailments alone.",
        code="too-few",
    )
