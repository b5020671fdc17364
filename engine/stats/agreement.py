"""Agreement of measurements on a ranking, and the stability of a correlation over encoders.

After Eger, Rücklé, Gurevych 2019, Pitfalls in the Evaluation of Sentence Embeddings. Pure functions
from scores by name to numbers. A missing score is absent and never counts as zero. Knows neither
the store nor how scores were measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import spearman

LEAST_ENCODERS = 6
"""With fewer points, a single one can decide a correlation."""

Scores = Mapping[str, Mapping[str, float]]
"""Encoder -> task -> score in points."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of two measurements on the order of the same encoders.

    Attributes:
        n: encoders with both.
        spearman: rank correlation; nan below two encoders, or when one measurement ties them all.
        kendall: tau-b; nan likewise.
        swapped: pairs whose order is reversed, (ahead first, ahead second).
    """

    n: int
    spearman: float
    kendall: float
    swapped: tuple[tuple[str, str], ...]


def agreement(first: Mapping[str, float], second: Mapping[str, float]) -> Agreement:
    """Compare two orderings of encoders by their scores; only those in both take part.

    A pair that is tied in one ordering is not swapped.
    """
    names = _in_both(first, second)
    swapped = tuple(
        (a, b) if first[a] > first[b] else (b, a)
        for a, b in combinations(names, 2)
        if (first[a] - first[b]) * (second[a] - second[b]) < 0
    )
    x, y = (np.array([scores[name] for name in names]) for scores in (first, second))
    return Agreement(len(names), spearman(x, y), _kendall(x, y), swapped)


def _in_both(x: Mapping[str, float], y: Mapping[str, float]) -> list[str]:
    """Encoders with a finite score in both, in the order of the first."""
    return [name for name in x if name in y and math.isfinite(x[name]) and math.isfinite(y[name])]


def _kendall(x: np.ndarray, y: np.ndarray) -> float:
    """tau-b. Written out: a page would wait the better part of a second for `scipy.stats`."""
    pairs = np.triu_indices(len(x), 1)
    one, other = (np.sign(np.subtract.outer(values, values)[pairs]) for values in (x, y))
    apart = np.count_nonzero(one) * np.count_nonzero(other)
    return float(one @ other / math.sqrt(apart)) if apart else math.nan


def shared(first: Scores, *others: Scores) -> tuple[list[str], list[str]]:
    """Encoders and tasks to take means, ranks and winners over: every cell has a score.

    Encoders that lack tasks are left out where the others then share more cells than all do. So an
    encoder with one task more or with one task only changes nothing for the others.

    Args:
        first: scores.
        others: further scores, each of which must have the cell as well.

    Returns:
        (encoders, tasks) in the order of `first`, both empty when there is no score.
    """
    having = {
        name: frozenset(t for t in tasks if all(t in other.get(name, ()) for other in others))
        for name, tasks in first.items()
    }
    having = {name: tasks for name, tasks in having.items() if tasks}
    candidates = dict.fromkeys(having.values())
    common: frozenset[str] | None = None
    for tasks in sorted(having.values(), key=len, reverse=True):
        common = tasks if common is None else common & tasks
        candidates[common] = None

    def cells(tasks: frozenset[str]) -> tuple[bool, int, int]:
        number = sum(tasks <= mine for mine in having.values())
        return number > 1, number * len(tasks), number

    best = max((tasks for tasks in candidates if tasks), key=cells, default=frozenset())
    names = [name for name, mine in having.items() if best <= mine]
    return names, [task for task in first[names[0]] if task in best] if names else []


def means(scores: Scores, names: Sequence[str], tasks: Sequence[str]) -> dict[str, float]:
    """Mean score of each encoder over these tasks, all of which it must have."""
    return {name: float(np.mean([scores[name][task] for task in tasks])) for name in names}


@dataclass(frozen=True)
class LeaveOneOut:
    """A correlation over encoders, and its range when any one of them is left out.

    Attributes:
        value: Spearman over all of them.
        n: number of encoders.
        lowest, highest: of the correlations with one encoder left out.
        without_lowest, without_highest: the encoder whose absence gives them.
    """

    value: float
    n: int
    lowest: float
    highest: float
    without_lowest: str
    without_highest: str

    @property
    def turns(self) -> bool:
        """Whether leaving out a single encoder changes the sign."""
        return min(self.value, self.lowest) < 0.0 < max(self.value, self.highest)


def stability(
    x: Mapping[str, float], y: Mapping[str, float], least: int = LEAST_ENCODERS
) -> LeaveOneOut | None:
    """Spearman of two tasks over the encoders that have both, with leave-one-encoder-out bounds.

    The paper's figure 3 gives the correlation alone; its section 4 shows that it can reverse with
    the set of encoders.

    Returns:
        None for fewer than `least` encoders, and where a task scores them all the same.
    """
    names = _in_both(x, y)
    if len(names) < least:
        return None
    value = _correlation(x, y, names)
    without = {name: _correlation(x, y, [n for n in names if n != name]) for name in names}
    known = {name: found for name, found in without.items() if not math.isnan(found)}
    if math.isnan(value) or not known:
        return None
    low, high = min(known, key=lambda n: known[n]), max(known, key=lambda n: known[n])
    return LeaveOneOut(value, len(names), known[low], known[high], low, high)


def _correlation(x: Mapping[str, float], y: Mapping[str, float], names: Sequence[str]) -> float:
    return spearman(np.array([x[name] for name in names]), np.array([y[name] for name in names]))


def complete(
    scores: Scores, tasks: Sequence[str], least: int = LEAST_ENCODERS
) -> tuple[list[str], list[str]]:
    """Encoders that have all of some tasks: as many tasks as `least` or more encoders share.

    Tasks that most encoders have come first; one that would leave too few encoders is left out, so
    that every correlation of a table is over the same encoders.

    Returns:
        (encoders, tasks) in the given order; no tasks when too few encoders share any.
    """
    names = list(scores)
    kept: set[str] = set()
    for task in sorted(tasks, key=lambda task: -sum(task in scores[name] for name in scores)):
        having = [name for name in names if task in scores[name]]
        if len(having) >= least:
            names, kept = having, kept | {task}
    return (names, [task for task in tasks if task in kept]) if kept else ([], [])


def correlations(
    scores: Scores, transfer: Sequence[str], probing: Sequence[str]
) -> dict[tuple[str, str], LeaveOneOut]:
    """(transfer task, probing task) -> their correlation over the encoders that have all tasks.

    A pair in which one task scores all encoders the same is absent.
    """
    names = [n for n in scores if all(task in scores[n] for task in (*transfer, *probing))]
    if len(names) < LEAST_ENCODERS:
        raise UserError(
            f"A correlation over {len(names)} encoders means nothing.",
            f"Measure at least {LEAST_ENCODERS} encoders on all of these tasks.",
        )
    columns = {task: {n: scores[n][task] for n in names} for task in (*transfer, *probing)}
    found = {(a, b): stability(columns[a], columns[b]) for a in transfer for b in probing}
    return {pair: cell for pair, cell in found.items() if cell is not None}


def overlapping(ranges: Mapping[str, tuple[float, float]]) -> list[tuple[str, str]]:
    """Pairs of encoders whose ranges of scores over seeds, (lowest, highest), overlap."""
    return [
        (a, b)
        for a, b in combinations(ranges, 2)
        if ranges[a][0] <= ranges[b][1] and ranges[b][0] <= ranges[a][1]
    ]
