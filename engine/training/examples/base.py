"""The type of training examples, their content hash, and other parts shared by the readers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from theodolite.engine.errors import UserError
from theodolite.engine.training.spec import ObjectiveName

SENTENCE = ("sentence",)
PAIR = ("sent0", "sent1")
TRIPLET = ("sent0", "sent1", "hard_neg")

GOOD_SHARE = 0.8
"""Share of the scale from which graded pairs count as positives: 4 and more on a scale to 5."""


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
    """

    columns: tuple[str, ...]
    hash: str
    notes: tuple[str, ...]
    count: int
    read: Callable[[int], tuple[str, ...]]

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
        return self.objective in ("unsup", "mlm")

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


def counted(count: int, one: str, many: str) -> list[str]:
    """Return the note on a number of cases; no note if there are none."""
    return [f"{count:,} {one if count == 1 else many}."] if count else []


def blank(count: int) -> list[str]:
    """Return the note on a number of rows with an empty sentence; no note if there are none."""
    return counted(
        count,
        "row with an empty sentence was left out",
        "rows with an empty sentence were left out",
    )


def no_pairs(name: str, what: str) -> UserError:
    """Return the error for data without pairs, which supervised training needs."""
    return UserError(
        f"{name} holds {what}; supervised training needs pairs of sentences that mean the same.",
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
