"""The type of training examples, and what its readers share: a store, a hash, the kinds of pairs.

Of inference pairs (NLI), a premise, its entailment and its contradiction make a triplet (Gao et al.
2021, section 4: the entailment is the positive, the contradiction of the same premise its hard
negative). Premises that lack either give no triplet.
"""

from __future__ import annotations

import hashlib
import mmap
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from theodolite.engine.datasets.shapes import usual_scale
from theodolite.engine.errors import UserError
from theodolite.engine.tasks.pair_classification import mark
from theodolite.engine.training.spec import ObjectiveName

SENTENCE = ("sentence",)
PAIR = ("sent0", "sent1")
TRIPLET = ("sent0", "sent1", "hard_neg")
LABEL = "label"
"""The last column of examples with a score or label, which is no sentence."""

_BATCH = 1024
"""Rows written at once: each may be a megabyte long."""
GOOD_SHARE = 0.8
"""Share of the scale from which graded pairs count as positives: 4 and more on a scale to 5."""
POSITIVE = "1"
"""The mark of two sentences that mean the same, where the labels are not those of NLI."""
_CLASSES = {
    "entailment": "e",
    "e": "e",
    "0": "e",
    "neutral": "n",
    "n": "n",
    "1": "n",
    "contradiction": "c",
    "c": "c",
    "2": "c",
    "-": "",
    "": "",
    "-1": "",
    "x": "",
}


@dataclass(frozen=True, eq=False)
class Examples:
    """The training examples of a run.

    Attributes:
        columns: names of the parts of an example. An example of `next-sentence` may have fewer: not
            every sentence has three after it.
        hash: 32 hexadecimal digits over the sentences and how they belong together; the same for
            plain and packed files, for either kind of line end and for CSV, TSV and JSON lines.
        notes: what was left out and why, as sentences for people.
        count: number of examples.
        read: the example at a position; may be called from several threads.
        sizes: examples of each data set, if there are several.
    """

    columns: tuple[str, ...]
    hash: str
    notes: tuple[str, ...]
    count: int
    read: Callable[[int], tuple[str, ...]]
    sizes: tuple[int, ...] = ()

    @classmethod
    def joined(cls, parts: Mapping[str, Examples]) -> Examples:
        """Several data sets, by their names, one after another; columns are those of the first."""
        every = list(parts.values())
        sizes = tuple(map(len, every))
        ends = list(accumulate(sizes))
        digest = Digest()
        digest.add([part.hash for part in every])
        notes = (f"{name}: {note}" for name, part in parts.items() for note in part.notes)

        def read(position: int) -> tuple[str, ...]:
            place = bisect_right(ends, position)
            return every[place][position - ends[place] + sizes[place]]

        return cls(every[0].columns, str(digest), tuple(notes), sum(sizes), read, sizes)

    def with_prompts(self, prompts: Sequence[str]) -> Examples:
        """The same with a text before the sentences of each column, as `column_prompts` has it."""
        if not any(prompts):
            return self
        sentences = len(self.columns) - (self.columns[-1] == LABEL)

        def read(position: int) -> tuple[str, ...]:
            cells = self.read(position)
            texts = [
                prompts[min(place, len(prompts) - 1)] + cell
                for place, cell in enumerate(cells[:sentences])
            ]
            return (*texts, *cells[sentences:])

        texts = " | ".join(map(repr, prompts))
        note = f"Prompts stand before the sentences, by column: {texts}."
        return replace(self, read=read, notes=(*self.notes, note))

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, position: int) -> tuple[str, ...]:
        if not 0 <= position < self.count:
            raise IndexError(position)
        return self.read(int(position))

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return (self.read(position) for position in range(self.count))


@dataclass(frozen=True)
class ExamplesSpec:
    """The kind of examples to read; the arguments of `open_examples`."""

    objective: ObjectiveName
    hard_negatives: bool
    next_sentences: int
    limit: int | None

    @property
    def single(self) -> bool:
        """Whether an example is one sentence."""
        return self.objective in ("unsup", "mlm", "static")

    @property
    def following(self) -> tuple[str, ...]:
        """The columns of running text: a sentence, and those that come next."""
        return (*SENTENCE, *(f"next_{i}" for i in range(1, self.next_sentences + 1)))

    def width(self, columns: Sequence[str]) -> int:
        """Number of these columns of pairs or triplets to keep."""
        return min(len(columns), 3 if self.hard_negatives else 2)


class Digest:
    """A content hash that grows row by row."""

    def __init__(self) -> None:
        self._hash = hashlib.blake2b(digest_size=16)

    def add(self, cells: Sequence[str]) -> None:
        """Add a row; one without cells ends a document."""
        for cell in cells:
            part = cell.encode()
            self._hash.update(b"%d:%b" % (len(part), part))
        self._hash.update(b";")

    def __str__(self) -> str:
        return self._hash.hexdigest()


def count_note(count: int, one: str, many: str) -> list[str]:
    """Return the note on a number of cases; no note if there are none."""
    return [f"{count:,} {one if count == 1 else many}."] if count else []


def blank(count: int) -> list[str]:
    """Return the note on a number of rows with an empty sentence; no note if there are none."""
    return count_note(
        count,
        "row with an empty sentence was left out",
        "rows with an empty sentence were left out",
    )


def no_pairs(name: str, what: str) -> UserError:
    """Return the error for data without pairs that mean the same."""
    return UserError(
        f"{name} holds {what}; needed are pairs of sentences that mean the same.",
        "Give a file with the columns sent0,sent1 (and hard_neg), inference pairs, graded pairs or "
        "triplets, or choose the objective unsup.",
        code="wrong-kind",
    )


def no_running_text(name: str, what: str) -> UserError:
    """Return the error for data without running text, which next-sentence needs."""
    return UserError(
        f"{name} holds {what}; next-sentence needs running text.",
        "Give a text file with one sentence a line in reading order, an empty line between "
        "documents.",
        code="wrong-kind",
    )


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


def no_contradictions(name: str) -> UserError:
    """Return the error for NLI pairs that give no triplet."""
    return UserError(
        f"No premise of {name} has both an entailment and a contradiction.",
        "Train without hard negatives to learn from its entailments alone.",
        code="too-few",
    )


def kind_of(label: str) -> str | None:
    """Return `e`, `n` or `c`; empty where the annotators found no majority (`-`, -1, empty).

    Numbers are read as in GLUE: 0 entailment, 1 neutral, 2 contradiction; pandas makes 1.0 of 1
    beside a missing one. None for other labels.
    """
    return _CLASSES.get(label.strip().casefold().removesuffix(".0"))


def no_class(label: str, place: str) -> UserError:
    """Return the error for a label of unknown meaning."""
    return UserError(
        f"{place}: the label {label!r} is not one of inference pairs.",
        "Expected entailment, neutral or contradiction, or e, n, c, or 0, 1, 2; or 1 for pairs "
        "that mean the same and 0 for others.",
    )


def positives(labels: Iterable[str]) -> str:
    """Return the note on pairs of which some labels say that they mean the same."""
    alike = sorted(label for label in labels if mark(label) == POSITIVE)
    return f"Pairs with the label {' or '.join(alike)} count as positives."


def is_inference(labels: Iterable[str]) -> bool:
    """Return whether these labels are those of NLI, with both entailments and contradictions."""
    classes = set(map(kind_of, labels))
    return None not in classes and {"e", "c"} <= classes


def in_turn(sides: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return rows of a text of each side, as many as the longest has; the others repeat theirs."""
    count = max(map(len, sides))
    return [tuple(side[i % len(side)] for side in sides) for i in range(count)]


class Premises:
    """Rows grouped by premise; keeps a digest for each premise, a number for each row."""

    def __init__(self) -> None:
        self._rows: dict[bytes, tuple[list[int], list[int]]] = {}

    def add(self, premise: str, label: str | None, row: int) -> None:
        """Add a row of class `e` or `c`; any other is left out."""
        if label in ("e", "c"):
            key = hashlib.blake2b(premise.encode(), digest_size=16).digest()
            self._rows.setdefault(key, ([], []))["ec".index(label)].append(row)

    def pairs(self) -> list[int]:
        """Return every row of class `e`, in their order."""
        return sorted(row for follows, _ in self._rows.values() for row in follows)

    def triplets(self) -> list[tuple[int, int]]:
        """Return (row of the entailment, row of its contradiction) in the order of the first.

        Each entailment is used once. Several contradictions of a premise are used in turn: the
        paper takes one of them at random and found no benefit in taking more.
        """
        return sorted(
            (row, against[i % len(against)])
            for follows, against in self._rows.values()
            if against
            for i, row in enumerate(follows)
        )


class Rows:
    """Rows, written once to a temporary file that ends with the process, and read by number.

    The file is mapped into memory: training data may be larger than memory.

    Args:
        rows: texts, as many in each row as there are columns.
        columns: their number.
        folder: of the file.
    """

    def __init__(self, rows: Iterable[Sequence[str]], columns: int, folder: Path) -> None:
        import pyarrow as pa

        schema = pa.schema([(str(column), pa.large_string()) for column in range(columns)])
        rows = iter(rows)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=folder) as file:
                with pa.ipc.new_file(file, schema) as table:
                    while batch := list(islice(rows, _BATCH)):
                        arrays = [
                            pa.array(column, pa.large_string())
                            for column in zip(*batch, strict=True)
                        ]
                        table.write_batch(pa.record_batch(arrays, schema))
                file.flush()
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise UserError(
                f"The training data could not be written into {folder} ({error.strerror}).",
                "Free some space there.",
                code="no-file",
            ) from error
        self._columns: list[Any] = pa.ipc.open_file(pa.py_buffer(mapped)).read_all().columns

    def __getitem__(self, number: int) -> tuple[str, ...]:
        return tuple(column[int(number)].as_py() for column in self._columns)
