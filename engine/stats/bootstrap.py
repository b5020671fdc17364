"""Correlations, averages, and the bootstrap of one encoder's score.

Pure functions from arrays to numbers. Knows neither encoders nor data sets. Which differences are
real: `engine.stats.significance`; what ranks are worth: `engine.stats.ranks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

_CELLS = 4_000_000
"""Examples times resamples worked on at once: 32 MiB an array of float64."""
_KEPT_CELLS = 64_000_000
"""Examples times resamples whose draws are kept for the next encoder: a byte each."""


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1, ties get their average: float64 (n,)."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2.0)[inverse])


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson correlation in float64; nan when either side is constant or n < 2."""
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(x) < 2 or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(x: np.ndarray, y: np.ndarray) -> float:
    """Spearman correlation: Pearson of the ranks; nan when either side is constant or n < 2."""
    return pearson(ranks(x), ranks(y))


@dataclass(frozen=True)
class Average:
    """Mean over the tasks that have a score.

    Attributes:
        score: plain mean; None when no task has a score.
        tasks: the tasks it is a mean of.
        of: how many tasks were asked for.
    """

    score: float | None
    tasks: tuple[str, ...]
    of: int

    @property
    def label(self) -> str:
        """Such as `6 of 7 tasks`."""
        return f"{len(self.tasks)} of {self.of} tasks"


def average(scores: Mapping[str, float], tasks: Sequence[str], *, rounded: bool = False) -> Average:
    """Mean of the main scores over `tasks`. A missing task is left out and never counts as zero.

    Args:
        scores: task name to main score, of one encoder.
        tasks: the tasks of the average, such as the seven of SimCSE's tables.
        rounded: SimCSE's printing: each score is rounded to 2 decimals, then their mean again
            (evaluation.py). It can differ from the plain mean by 0.01.
    """
    present = tuple(task for task in tasks if task in scores)
    values = [float(f"{scores[task]:.2f}") if rounded else scores[task] for task in present]
    mean = float(np.mean(values)) if values else None
    if rounded and mean is not None:
        mean = float(f"{mean:.2f}")
    return Average(mean, present, len(tasks))


@dataclass(frozen=True, eq=False)
class Sample:
    """The examples behind a main score.

    Attributes:
        values: float64 (n,): cosines, predictions, or a score for each example (right = 1,
            precision, …).
        gold: float64 (n,): the statistic is the correlation of values and gold, in points; or
            None: it is the mean of the values, in points.
        correlation: which one.
    """

    values: np.ndarray
    gold: np.ndarray | None = None
    correlation: Literal["spearman", "pearson"] = "spearman"

    @property
    def statistic(self) -> float:
        """The main score over these examples, in points of 100."""
        if self.gold is None:
            return 100.0 * float(np.mean(self.values))
        correlate = {"spearman": spearman, "pearson": pearson}[self.correlation]
        return 100.0 * correlate(self.values, self.gold)


def main_sample(examples: Mapping[str, np.ndarray], details: Mapping[str, Any]) -> Sample:
    """The examples that the main score of a `Result` was measured on.

    STS: the pairs of the parts in `details["main_parts"]` (the test split, or a whole year).
    Learned relatedness: the test pairs, by the correlation in `details["selected_by"]`.

    Raises:
        ValueError: when the result carries no per-example values.
    """
    if "cosine" in examples:
        rows = np.isin(examples["part"], list(details["main_parts"]))
        return Sample(examples["cosine"][rows], examples["gold"][rows])
    if "predicted" in examples:
        return Sample(examples["predicted"], examples["gold"], details["selected_by"])
    for name in ("correct", "precision", "recall", "token_f1"):
        if name in examples:
            return Sample(np.asarray(examples[name], dtype=np.float64))
    known = "`cosine`, `predicted`, `correct`, `precision`, `recall` or `token_f1`"
    raise ValueError(f"expected examples {known}, got {list(examples)}")


def bootstrap(sample: Sample, resamples: int = 2000, seed: int = 0) -> np.ndarray:
    """The statistic on resamples of the examples, float64 (resamples,), in points.

    The same n, resamples and seed draw the same examples whatever the values, so the difference of
    two encoders' arrays is the paired bootstrap. A resample without spread gives nan.
    """
    parts = []
    for drawn in _drawn(len(sample.values), resamples, seed):
        times = drawn.astype(np.float64)
        if sample.gold is None:
            values = np.asarray(sample.values, dtype=np.float64)
            parts.append(times @ values / len(values))
        else:
            parts.append(_weighted_correlation(sample, times))
    return 100.0 * np.concatenate(parts)


def _drawn(n: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """How often each example occurs in each resample, block by block: uint8 (rows, n)."""
    block = max(1, _CELLS // max(n, 1))
    if n * resamples > _KEPT_CELLS:
        yield from _draw(n, resamples, seed, block)
        return
    whole = _kept(n, resamples, seed)
    for start in range(0, resamples, block):
        yield whole[start : start + block]


@lru_cache(maxsize=2)
def _kept(n: int, resamples: int, seed: int) -> np.ndarray:
    """The whole of it: the encoders of a comparison are resampled one after the other."""
    return np.concatenate(list(_draw(n, resamples, seed, max(1, _CELLS // max(n, 1)))))


def _draw(n: int, resamples: int, seed: int, block: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(0, n, size=(rows, n))
        drawn += n * np.arange(rows)[:, None]
        # About one each: 256 of n draws on a single example do not happen.
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Resampled:
    """A main score, and what it is on resamples of its examples.

    Attributes:
        statistic: the score, in points.
        draws: float64 (resamples,), as `bootstrap` returns them.
        n: examples.
    """

    statistic: float
    draws: np.ndarray
    n: int


def resample(sample: Sample, resamples: int = 2000, seed: int = 0) -> Resampled:
    """One encoder's part of a comparison; worth keeping when it is compared with several."""
    return Resampled(sample.statistic, bootstrap(sample, resamples, seed), len(sample.values))


def _weighted_correlation(sample: Sample, times: np.ndarray) -> np.ndarray:
    """Correlation of samples in which example i occurs times[r, i] times: float64 (r,).

    Ranks come from counting instead of sorting each resample: the values are sorted once, and the
    average rank of a value is the number of drawn examples below it plus half of its own.
    """
    n = float(times[0].sum())
    x, y = np.asarray(sample.values, np.float64), np.asarray(sample.gold, np.float64)
    if sample.correlation == "spearman":
        a, b = _weighted_ranks(x, times), _weighted_ranks(y, times)
        a -= (n + 1) / 2  # the mean rank, whatever the ties
        b -= (n + 1) / 2
    else:
        a, b = (values - times @ values[:, None] / n for values in (x, y))
    covariance = np.einsum("ri,ri,ri->r", times, a, b)
    spread = np.einsum("ri,ri,ri->r", times, a, a) * np.einsum("ri,ri,ri->r", times, b, b)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 0.0, covariance / np.sqrt(spread), np.nan)


def _weighted_ranks(values: np.ndarray, times: np.ndarray) -> np.ndarray:
    _, inverse = np.unique(values, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    starts = np.flatnonzero(np.diff(inverse[order], prepend=-1))
    counts = np.add.reduceat(times[:, order], starts, axis=1)
    middle = np.cumsum(counts, axis=1) - (counts - 1) / 2
    return np.asarray(middle[:, inverse])
