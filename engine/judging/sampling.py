"""Which document to judge next, and what the marks say about each pair of encoders.

The difference of two encoders is a sum over finitely many units, most often a query with one
document: what a mark of 1 adds to it is known before, the mark is not. Units are drawn without
replacement, those likely to tell most with the highest probabilities. Weighted by the inverse of
these, and with a prediction for each unit added and corrected (a control variate), every draw gives
an unbiased bounded observation of the difference: `engine.stats.betting` makes an interval of them.

A second judge, such as a model, makes the predictions better, never the observations biased: what
its marks are worth is learnt from the person's marks before (prediction-powered inference:
Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, Science 382; with weights that are tuned:
Angelopoulos, Duchi and Zrnic 2023, PPI++).

After Shekhar, Xu, Lipton, Liang and Ramdas 2023, Risk-limiting financial audits via weighted
sampling without replacement (UAI).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.stats.betting import Observations, confidence_sequence

_LEAST_VARIANCE = 0.04
"""Of a mark, as a share of its highest: keeps each probability above 0.4 of its weight's share."""
_DECIDED = 0.1
"""What a pair that is decided counts for in the choice of units, beside 1 for the others."""
_ROUNDING = 1e-9
_SHRINKAGE = 4.0
"""Marks that the mean of all counts for in the rate of a cell, and of a grade."""
GRADES = 4
"""That a second judge can give, from 1 on."""


@dataclass(frozen=True, eq=False)
class Units:
    """What can be judged.

    Attributes:
        weights: float64 (units, pairs), what a mark of 1 adds to the difference of each pair.
        cells: int64 (units,), groups that are marked alike, such as those at the same rank.
        low: the lowest mark; the highest is 1.
    """

    weights: np.ndarray
    cells: np.ndarray
    low: float = 0.0

    def bounds(self) -> np.ndarray:
        """(2, units, pairs): the lowest and highest that each can add."""
        return np.sort([self.low * self.weights, self.weights], axis=0)


@dataclass(frozen=True, eq=False)
class SecondMarks:
    """What a second judge says of the units; it may be wrong in any way.

    Attributes:
        grades: int64 (units,), from 1 to `GRADES`; 0 where it has said nothing.
        ids: int64 (units,), growing in the order in which the marks came; 0 where there is none.
    """

    grades: np.ndarray
    ids: np.ndarray

    def until(self, seen: int) -> SecondMarks:
        """What had come when the newest mark was the one of this id."""
        came = self.ids <= seen
        return SecondMarks(np.where(came, self.grades, 0), np.where(came, self.ids, 0))

    def split(self, units: Units) -> Units:
        """The units in cells that the marks split."""
        return replace(units, cells=units.cells * (GRADES + 1) + self.grades)


@dataclass(frozen=True)
class Draw:
    """A unit that was drawn, with all that its probability follows from.

    Attributes:
        unit: its position.
        rates: the mean mark that was expected in each cell, which a second judge's marks split.
        undecided: for each pair, whether it was.
        seen: id of the newest mark of the second judge by then.
    """

    unit: int
    rates: tuple[float, ...]
    undecided: tuple[bool, ...]
    seen: int = 0


@dataclass(frozen=True, eq=False)
class Estimate:
    """What the marks say of a pair, first less second.

    Attributes:
        difference: estimated.
        low, high: of the confidence sequence.
        path: (marks + 1, 3), difference, low and high from before the first mark on.
    """

    difference: float
    low: float
    high: float
    path: np.ndarray

    @property
    def separated(self) -> bool:
        """Whether one is better."""
        return self.low > _ROUNDING or self.high < -_ROUNDING

    def alike(self, margin: float) -> bool:
        """Whether they differ by less than matters."""
        return -margin <= self.low and self.high <= margin


def rates(units: Units, drawn: Sequence[int], marks: np.ndarray) -> tuple[float, ...]:
    """The mean mark that is expected in each cell, by the marks so far; few are drawn to the mean.

    Args:
        units: what can be judged.
        drawn: positions of those that are.
        marks: of each of these.
    """
    cells = units.cells[np.asarray(drawn, np.int64)]
    many = int(units.cells.max(initial=0)) + 1
    middle = (1.0 + units.low) / 2.0
    mean = (marks.sum() + middle) / (len(marks) + 1.0)
    found = np.bincount(cells, marks, many) + _SHRINKAGE * mean
    return tuple((found / (np.bincount(cells, minlength=many) + _SHRINKAGE)).tolist())


def split_rates(
    units: Units, drawn: Sequence[int], marks: np.ndarray, grades: np.ndarray
) -> tuple[float, ...]:
    """The mean mark that is expected in each cell at each grade of a second judge.

    Cell and grade each add their part, fitted together to the marks so far (ridge regression); no
    grade adds nothing. So a judge that knows nothing is soon not heard, and one that says the
    contrary is understood.

    Args:
        units: what can be judged.
        drawn: positions of those that are.
        marks: of each of these.
        grades: int64 (units,), as known now.
    """
    many = int(units.cells.max(initial=0)) + 1
    middle = (1.0 + units.low) / 2.0
    mean = (marks.sum() + middle) / (len(marks) + 1.0)
    at = np.asarray(drawn, np.int64)
    is_in = np.zeros((len(at), many + GRADES + 1))
    rows = np.arange(len(at))
    is_in[rows, units.cells[at]] = 1.0
    is_in[rows, many + grades[at]] = grades[at] > 0
    normal = is_in.T @ is_in + _SHRINKAGE * np.eye(is_in.shape[1])
    parts = np.linalg.solve(normal, is_in.T @ (marks - mean))
    found = mean + parts[:many, None] + parts[many:]
    return tuple(np.clip(found, units.low, 1.0).ravel().tolist())


def probabilities(
    units: Units, left: np.ndarray, rates: Sequence[float], undecided: Sequence[bool]
) -> np.ndarray:
    """How likely each unit is drawn next: as its weight times the spread expected of its mark.

    Args:
        units: what can be judged.
        left: bool (units,), what is not drawn yet.
        rates: as of `Draw`.
        undecided: as of `Draw`.

    Returns:
        float64 (units,), 0 where nothing is left.
    """
    importance = np.where(undecided, 1.0, _DECIDED)
    size = np.sqrt((units.weights**2 * importance).sum(axis=1)) * np.sqrt(_spread(units, rates))
    size[~left] = 0.0
    return np.asarray(size / size.sum())


def _spread(units: Units, rates: Sequence[float]) -> np.ndarray:
    """The highest variance of each unit's mark, given its mean."""
    expected = np.asarray(rates)[units.cells]
    floor = _LEAST_VARIANCE * (1.0 - units.low) ** 2
    return np.maximum((1.0 - expected) * (expected - units.low), floor)


def draw(
    units: Units,
    drawn: Sequence[int],
    marks: np.ndarray,
    undecided: Sequence[bool],
    rng: np.random.Generator,
    second: SecondMarks | None = None,
) -> Draw | None:
    """Draw the next unit; None when all were.

    Args:
        units: what can be judged.
        drawn: positions of those that were drawn.
        marks: of the first of these, as far as they are marked.
        undecided: for each pair, whether it is.
        rng: of this draw alone.
        second: what a second judge has said by now.
    """
    left = np.ones(len(units.cells), bool)
    left[list(drawn)] = False
    if not left.any():
        return None
    seen, judged = 0, drawn[: len(marks)]
    if second is None:
        expected = rates(units, judged, marks)
    else:
        seen = int(second.ids.max(initial=0))
        expected = split_rates(units, judged, marks, second.grades)
        units = second.split(units)
    chances = probabilities(units, left, expected, undecided)
    chosen = int(rng.choice(len(chances), p=chances))
    return Draw(chosen, expected, tuple(bool(one) for one in undecided), seen)


def observations(
    units: Units, draws: Sequence[Draw], marks: np.ndarray, second: SecondMarks | None = None,
    *, heard: bool = True,
) -> list[Observations]:  # fmt: skip
    """Each draw as an unbiased observation of the difference, for each pair.

    Args:
        units: what can be judged.
        draws: in their order, each with a mark.
        marks: of the unit drawn.
        second: the marks of a second judge that the draws were made with.
        heard: whether these predict the person's; else the person's alone do, as without them.
    """
    lowest, highest = units.bounds()
    left = np.ones(len(units.cells), bool)
    known = np.zeros(units.weights.shape[1])
    rows = np.empty((len(draws), 4, units.weights.shape[1]))
    for i, (row, one, mark) in enumerate(zip(rows, draws, marks, strict=True)):
        split = units if second is None else second.until(one.seen).split(units)
        chances = probabilities(split, left, one.rates, one.undecided)[left][:, None]
        weights, by = units.weights[left], one.rates
        if not heard:
            split, by = units, rates(units, [d.unit for d in draws[:i]], marks[:i])
        expected = weights * np.asarray(by)[split.cells[left], None]
        base = known + expected.sum(axis=0)
        at = int(left[: one.unit].sum())
        residual = units.weights[one.unit] * mark - expected[at]
        variance = (weights**2 * _spread(split, by)[left, None] / chances).sum(axis=0)
        row[:] = (
            base + residual / chances[at],
            base + ((lowest[left] - expected) / chances).min(axis=0),
            base + ((highest[left] - expected) / chances).max(axis=0),
            variance,
        )
        known += units.weights[one.unit] * mark
        left[one.unit] = False
    return [Observations(*rows[:, :, pair].T) for pair in range(rows.shape[2])]


def estimates(
    units: Units, draws: Sequence[Draw], marks: np.ndarray, alpha: float = 0.05,
    second: SecondMarks | None = None, *, heard: bool = True,
) -> list[Estimate]:  # fmt: skip
    """The difference of each pair with its interval; all intervals hold together at 1 - alpha.

    Alpha is shared out among the pairs (Bonferroni). Beside the bets, what is not judged yet bounds
    each difference: when all is judged, it is known.

    Args:
        units: what can be judged.
        draws: in their order, each with a mark.
        marks: of the unit drawn.
        alpha: how often any of the intervals may miss.
        second: as of `observations`.
        heard: as of `observations`.
    """
    seen = observations(units, draws, marks, second, heard=heard)
    lowest, highest = units.bounds()
    drawn = [one.unit for one in draws]
    bounds = []
    for bound in (lowest, highest):
        gained = units.weights[drawn] * marks[:, None] - bound[drawn]
        whole = bound.sum(axis=0)
        bounds.append(np.vstack([whole, whole + np.cumsum(gained, axis=0)]))
    return [
        _estimate(one, bounds[0][:, pair], bounds[1][:, pair], alpha / len(seen))
        for pair, one in enumerate(seen)
    ]


def _estimate(seen: Observations, least: np.ndarray, most: np.ndarray, alpha: float) -> Estimate:
    low, high = least.copy(), most.copy()
    if len(seen.values):
        bounds = confidence_sequence(seen, alpha, float(least[0]), float(most[0]))
        low[1:], high[1:] = np.maximum(bounds[0], low[1:]), np.minimum(bounds[1], high[1:])
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high)
    middle = np.clip(seen.guesses()[0], low, np.maximum(low, high))
    path = np.stack([middle, low, high], axis=1)
    difference, lower, upper = path[-1].tolist()
    return Estimate(difference, lower, upper, path)
