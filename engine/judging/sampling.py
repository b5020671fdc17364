"""Which document to judge next, and the estimated difference of each pair of encoders.

The difference of two encoders is a sum over finitely many units, most often a query with one
document: the weight of its mark is known in advance, the mark is not. Units are drawn without
replacement, the most informative ones with the highest probabilities. Weighted by the inverse of
these, and with a prediction for each unit added and corrected (a control variate), every draw gives
an unbiased bounded observation of the difference: `engine.stats.betting` turns these into an
interval.

A second judge, such as a model, improves the predictions and never biases the observations: the
weight of its marks is learnt from the person's earlier marks (prediction-powered inference:
Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, Science 382; with tuned weights:
Angelopoulos, Duchi and Zrnic 2023, PPI++).

After Shekhar, Xu, Lipton, Liang and Ramdas 2023, Risk-limiting financial audits via weighted
sampling without replacement (UAI).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from theodolite.engine.stats.betting import Observations, confidence_sequence

_LEAST_VARIANCE = 0.04
"""Least variance of a mark, as a share of its range squared: keeps each probability above 0.4 of
its weight's share; of its share in one of several pairs it can be less."""
_DECIDED = 0.1
"""Weight of a decided pair in the choice of units, against 1 for the others."""
_ROUNDING = 1e-9
_STEPS = 8
"""Steps of Newton's method for one number, which need fewer."""
_SHRINKAGE = 4.0
"""Weight, in marks, of the overall mean in the rate of a cell, and of a grade."""
_ADDED = 2.0
"""Draws as uncertain as expected that are added in thought to those of a single look."""
GRADES = 4
"""Number of grades that a second judge can give, from 1 on."""


@dataclass(frozen=True, eq=False)
class Units:
    """The units that can be judged.

    Attributes:
        weights: float64 (units, pairs), what a mark of 1 adds to the difference of each pair.
        cells: int64 (units,), groups with similar marks, such as documents at the same rank.
        low: the lowest mark; the highest is 1.
        expected: float64 (cells,), the mean mark of each cell that is predicted before any mark;
            None without a prediction. Only of marks from 0 to 1.
    """

    weights: np.ndarray
    cells: np.ndarray
    low: float = 0.0
    expected: np.ndarray | None = None

    def bounds(self) -> np.ndarray:
        """Return (2, units, pairs): the lowest and highest value that each can add."""
        return np.sort([self.low * self.weights, self.weights], axis=0)


@dataclass(frozen=True, eq=False)
class SecondMarks:
    """The marks of a second judge, which may be wrong in any way.

    Attributes:
        grades: int64 (units,), from 1 to `GRADES`; 0 where there is none.
        ids: int64 (units,), increasing in the order of arrival; 0 where there is none.
    """

    grades: np.ndarray
    ids: np.ndarray

    def until(self, last: int) -> SecondMarks:
        """Return the marks that had arrived when the newest one had this id."""
        came = self.ids <= last
        return SecondMarks(np.where(came, self.grades, 0), np.where(came, self.ids, 0))

    def split(self, units: Units) -> Units:
        """Return the units with each cell split by grade."""
        return replace(units, cells=units.cells * (GRADES + 1) + self.grades)


@dataclass(frozen=True)
class Draw:
    """A unit that was drawn, with everything that determined its probability.

    Attributes:
        unit: its position.
        rates: the mean mark expected in each cell; cells are split by a second judge's grades.
        undecided: for each pair, whether it was undecided.
        seen: id of the second judge's newest mark at the time.
    """

    unit: int
    rates: tuple[float, ...]
    undecided: tuple[bool, ...]
    seen: int = 0


@dataclass(frozen=True, eq=False)
class Estimate:
    """The estimated difference of a pair, first minus second.

    Attributes:
        difference: the estimate.
        low, high: bounds of the confidence sequence.
        path: (marks + 1, 3), difference, low and high from before the first mark on.
    """

    difference: float
    low: float
    high: float
    path: np.ndarray

    @property
    def separated(self) -> bool:
        """Whether one encoder is better."""
        return self.low > _ROUNDING or self.high < -_ROUNDING

    def alike(self, margin: float) -> bool:
        """Return whether the difference is within the margin."""
        return -margin <= self.low and self.high <= margin


def rates(units: Units, judged: Sequence[int], marks: np.ndarray) -> tuple[float, ...]:
    """Return the mean mark expected in each cell, from the marks so far, shrunk to their mean.

    With predictions they are shrunk to these, once all of their log odds are shifted to fit the
    marks: a prediction that is too high everywhere is soon seen through.

    Args:
        units: the units that can be judged.
        judged: positions of those that are judged.
        marks: the mark of each of these.
    """
    cells = units.cells[np.asarray(judged, np.int64)]
    many = int(units.cells.max(initial=0)) + 1
    middle = (1.0 + units.low) / 2.0
    mean = (marks.sum() + middle) / (len(marks) + 1.0)
    if units.expected is not None:
        mean, many = _shift(units.expected, cells, marks), len(units.expected)
    smoothed = np.bincount(cells, marks, many) + _SHRINKAGE * mean
    return tuple((smoothed / (np.bincount(cells, minlength=many) + _SHRINKAGE)).tolist())


def _shift(expected: np.ndarray, cells: np.ndarray, marks: np.ndarray) -> np.ndarray:
    """Return predictions with their log odds shifted to fit the marks (ridge, Newton)."""
    odds, shift = np.log(expected / (1.0 - expected)), 0.0
    for _ in range(_STEPS):
        fit = 1.0 / (1.0 + np.exp(-(odds + shift)))[cells]
        shift += ((marks - fit).sum() - shift) / ((fit * (1.0 - fit)).sum() + 1.0)
    return np.asarray(1.0 / (1.0 + np.exp(-(odds + shift))))


def split_rates(
    units: Units, judged: Sequence[int], marks: np.ndarray, grades: np.ndarray
) -> tuple[float, ...]:
    """Return the mean mark expected in each cell at each grade of a second judge.

    Effects of cell and grade are additive and fitted together to the marks so far (ridge
    regression); a missing grade has no effect. So an uninformative judge is soon ignored, and a
    contrary one is inverted.

    Args:
        units: the units that can be judged.
        judged: positions of those that are judged.
        marks: the mark of each of these.
        grades: int64 (units,), as known now.
    """
    many = int(units.cells.max(initial=0)) + 1
    middle = (1.0 + units.low) / 2.0
    mean = (marks.sum() + middle) / (len(marks) + 1.0)
    at = np.asarray(judged, np.int64)
    is_in = np.zeros((len(at), many + GRADES + 1))
    rows = np.arange(len(at))
    is_in[rows, units.cells[at]] = 1.0
    is_in[rows, many + grades[at]] = grades[at] > 0
    normal = is_in.T @ is_in + _SHRINKAGE * np.eye(is_in.shape[1])
    parts = np.linalg.solve(normal, is_in.T @ (marks - mean))
    both = mean + parts[:many, None] + parts[many:]
    return tuple(np.clip(both, units.low, 1.0).ravel().tolist())


def probabilities(
    units: Units, left: np.ndarray, rates: Sequence[float], undecided: Sequence[bool]
) -> np.ndarray:
    """Return the probability of each next draw: its weight times the mark's expected deviation.

    Args:
        units: the units that can be judged.
        left: bool (units,), those not drawn yet.
        rates: as in `Draw`.
        undecided: as in `Draw`.

    Returns:
        float64 (units,), 0 for units already drawn.
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
    """Draw the next unit; None when all have been drawn.

    Args:
        units: the units that can be judged.
        drawn: positions of those drawn so far.
        marks: of the first of these; the rest are not marked yet.
        undecided: for each pair, whether it is undecided.
        rng: for this draw alone.
        second: the marks of a second judge so far.
    """
    left = np.ones(len(units.cells), bool)
    left[list(drawn)] = False
    if not left.any():
        return None
    count, judged = 0, drawn[: len(marks)]
    if second is None:
        expected = rates(units, judged, marks)
    else:
        count = int(second.ids.max(initial=0))
        expected = split_rates(units, judged, marks, second.grades)
        units = second.split(units)
    chances = probabilities(units, left, expected, undecided)
    unit = int(rng.choice(len(chances), p=chances))
    return Draw(unit, expected, tuple(bool(one) for one in undecided), count)


def observations(
    units: Units,
    draws: Sequence[Draw],
    marks: np.ndarray,
    second: SecondMarks | None = None,
    *,
    heard: bool = True,
) -> list[Observations]:
    """Turn each draw into an unbiased observation of the difference, for each pair.

    Args:
        units: the units that can be judged.
        draws: in their order, each with a mark.
        marks: of the units drawn.
        second: the marks of a second judge with which the draws were made.
        heard: whether to use these for predictions; else only the person's marks are used.
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
    units: Units,
    draws: Sequence[Draw],
    marks: np.ndarray,
    alpha: float = 0.05,
    second: SecondMarks | None = None,
    *,
    heard: bool = True,
) -> list[Estimate]:
    """Estimate the difference of each pair, with intervals that hold simultaneously at 1 - alpha.

    Alpha is divided among the pairs (Bonferroni). The units not yet judged also bound each
    difference: when all are judged, it is known exactly.

    Args:
        units: the units that can be judged.
        draws: in their order, each with a mark.
        marks: of the units drawn.
        alpha: probability that any of the intervals misses.
        second: as for `observations`.
        heard: as for `observations`.
    """
    observed = observations(units, draws, marks, second, heard=heard)
    least, most = _possible(units, draws, marks)
    return [
        _estimate(one, least[:, pair], most[:, pair], alpha / len(observed))
        for pair, one in enumerate(observed)
    ]


def single_look(
    units: Units, draws: Sequence[Draw], marks: np.ndarray, alpha: float = 0.05
) -> list[tuple[float, float, float]]:
    """Return difference, low and high of each pair, for a number of marks fixed beforehand.

    Much narrower than a confidence sequence, and an approximation: the observations are nearly
    normal in sum once each is divided by its expected deviation (Hadad, Hirshberg, Zhan, Wager and
    Athey 2021; with predictions: Zrnic and Candès 2024, Active statistical inference). The variance
    is the expected one, scaled by how well that fits. Marks that all come as predicted would leave
    none, so some are added in thought, as Agresti and Coull 1998 do for shares. Alpha is divided
    among the pairs.

    Args:
        units: the units that can be judged.
        draws: in their order, at least two, each with a mark.
        marks: of the units drawn.
        alpha: probability that any of the intervals misses.
    """
    from scipy.stats import t

    observed = observations(units, draws, marks)
    least, most = _possible(units, draws, marks)
    n, intervals = len(draws), []
    factor = float(t.ppf(1.0 - alpha / len(observed) / 2.0, n - 1))
    for pair, one in enumerate(observed):
        weights = 1.0 / np.sqrt(np.maximum(one.variances, 1e-12))
        middle = float(weights @ one.values / weights.sum())
        fit = (_ADDED + ((weights * (one.values - middle)) ** 2).sum()) / (_ADDED + n - 1.0)
        half = factor * float(np.sqrt(n * fit) / weights.sum())
        ends = np.array([middle, middle - half, middle + half])
        middle, low, high = np.clip(ends, least[-1, pair], most[-1, pair]).tolist()
        intervals.append((middle, low, high))
    return intervals


def _possible(
    units: Units, draws: Sequence[Draw], marks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and most that each difference can be, before and after each mark."""
    judged, bounds = [draw.unit for draw in draws], []
    for bound in units.bounds():
        gained = units.weights[judged] * marks[:, None] - bound[judged]
        whole = bound.sum(axis=0)
        bounds.append(np.vstack([whole, whole + np.cumsum(gained, axis=0)]))
    return bounds[0], bounds[1]


def _estimate(
    observed: Observations, least: np.ndarray, most: np.ndarray, alpha: float
) -> Estimate:
    low, high = least.copy(), most.copy()
    if len(observed.values):
        bounds = confidence_sequence(observed, alpha, float(least[0]), float(most[0]))
        low[1:], high[1:] = np.maximum(bounds[0], low[1:]), np.minimum(bounds[1], high[1:])
    low, high = np.maximum.accumulate(low), np.minimum.accumulate(high)
    middle = np.clip(observed.guesses()[0], low, np.maximum(low, high))
    path = np.stack([middle, low, high], axis=1)
    difference, lower, upper = path[-1].tolist()
    return Estimate(difference, lower, upper, path)
