"""The examples of a task that one encoder gets right and another wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import Block, Table, Text
from theodolite.app.pages.board.standings import Standings
from theodolite.app.results import Row
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import Sample, main_sample, ranks
from theodolite.engine.tasks import get, type_of

MAX_EXAMPLES = 50
"""Examples that are shown, those furthest apart."""


@dataclass(frozen=True)
class Example:
    """An example on which two encoders differ.

    Attributes:
        place: number among the examples of the main score, from 1.
        texts: a sentence or a pair; empty if unknown.
        label: the expected answer; empty if unknown.
        right, wrong: quality of the better and the worse encoder on it, from 0 to 1.
    """

    place: int
    texts: tuple[str, ...]
    label: str
    right: float
    wrong: float


@dataclass(frozen=True, eq=False)
class Disagreement:
    """The examples on which one encoder does better than another.

    Attributes:
        task: its name.
        better, worse: the encoders.
        ahead, behind: number of examples on which the first does better, and the second.
        of: number of examples in all.
        graded: whether quality is a distance of ranks, since the score is a correlation.
        whole: whether every example is either right or wrong.
        examples: those on which the first does better, furthest apart first.
    """

    task: str
    better: str
    worse: str
    ahead: int
    behind: int
    of: int
    graded: bool
    whole: bool
    examples: tuple[Example, ...]

    def blocks(self) -> list[Block]:
        """A sentence, and the examples furthest apart."""
        how = "alone is right" if self.whole else "is closer" if self.graded else "does better"
        text = (
            f"Of {formats.plural(self.of, 'example')} of {self.task}, {self.better} {how} on "
            f"{formats.count(self.ahead)}, {self.worse} on {formats.count(self.behind)}."
        )
        columns = ["Number", "Text", "Second text", "Expected", self.better, self.worse]
        rows = [
            [
                example.place,
                *(*example.texts, None, None)[:2],
                example.label or None,
                *map(self._quality, (example.right, example.wrong)),
            ]
            for example in self.examples
        ]
        used = [place for place in range(6) if any(row[place] is not None for row in rows)]
        table = Table(
            "theodolite-examples",
            [columns[place] for place in used],
            [[row[place] for place in used] for row in rows],
            decimals={self.better: 2, self.worse: 2},
        )
        return [Text("", text), *([table] if rows else [])]

    def _quality(self, value: float) -> float | str:
        if self.whole:
            return "right" if value else "wrong"
        return value


def first_choice(board: Standings, task: str, better: str, worse: str) -> tuple[str, str, str]:
    """The requested comparison where available; else that of two encoders on a task they share."""
    tasks = [column.task for column in board.columns]
    shared = (t for t in tasks if sum((name, t) in board.cells for name in board.encoders) > 1)
    first = task if task in tasks else next(shared, tasks[0])
    names = [name for name in board.encoders if (name, first) in board.cells]
    if len(names) < 2:
        return first, "", ""
    ahead = better if better in names else names[0]
    behind = worse if worse in names and worse != ahead else next(n for n in names if n != ahead)
    return first, ahead, behind


def disagreement(
    workspace: Workspace, board: Standings, task: str, better: str, worse: str
) -> Disagreement:
    """Compare two encoders example by example."""
    first, second = (board.cells.get((name, task)) for name in (better, worse))
    if first is None or second is None or better == worse:
        raise UserError(
            f"Two different encoders that were evaluated on {task} are needed.", "Choose two."
        )
    if any(first[key] != second[key] for key in ("protocol", "seed", "data_hash")):
        raise UserError(
            f"{better} and {worse} were not evaluated on the same examples of {task}.",
            "Evaluate one of them again.",
            code="mismatch",
        )
    return compare(workspace, task, better, worse, first["id"], second["id"])


def quality(sample: Sample) -> np.ndarray:
    """Quality of each example, from 0 to 1.

    Where the score is a correlation: 1 minus the distance between its rank by the encoder and its
    rank by the grade, over the number of examples.
    """
    if sample.gold is None:
        return sample.values
    return 1.0 - np.abs(ranks(sample.values) - ranks(sample.gold)) / len(sample.values)


@lru_cache(maxsize=32)
def compare(workspace: Workspace, task: str, better: str, worse: str, *ids: int) -> Disagreement:
    """Compare two results on the same examples."""
    samples = [_sample(workspace, number) for number in ids]
    mine, theirs = (quality(sample) for sample in samples)
    row = workspace.store.results.by_id(ids[0])
    texts = _texts(workspace, row, len(mine))
    gap = mine - theirs
    first = np.argsort(-gap, kind="stable")[:MAX_EXAMPLES]
    return Disagreement(
        task,
        better,
        worse,
        int((gap > 0).sum()),
        int((gap < 0).sum()),
        len(gap),
        samples[0].gold is not None,
        all(np.isin(values, (0.0, 1.0)).all() for values in (mine, theirs)),
        tuple(
            Example(int(i) + 1, texts[i][0], texts[i][1], float(mine[i]), float(theirs[i]))
            for i in first
            if gap[i] > 0
        ),
    )


def _sample(workspace: Workspace, number: int) -> Sample:
    row = workspace.store.results.by_id(number)
    try:
        return main_sample(workspace.store.results.examples(number), row["details"])
    except ValueError as error:
        raise UserError(
            f"{row['encoder']} on {row['task']} has no stored values per example.",
            "Evaluate it again.",
            code="no-result",
        ) from error


def _texts(workspace: Workspace, row: Row, number: int) -> Sequence[tuple[tuple[str, ...], str]]:
    """Texts and label of every example; empty ones if the data is missing or has changed."""
    nothing = [((), "")] * number
    try:
        task = get(row["task"], workspace.catalog)
        kind = type_of(task, protocols.get(row["protocol"]))
        data = workspace.catalog.load(task.dataset)
        if kind.examples is None or data.hash != row["data_hash"]:
            return nothing
        examples = kind.examples(data, row["protocol"], row["seed"])
    except UserError:
        return nothing
    return examples if len(examples) == number else nothing
