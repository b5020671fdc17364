"""Correlations, and the bootstrap of one encoder's score.

Pure functions from arrays to numbers. Knows neither encoders nor data sets. For the significance of
differences see `engine.stats.significance`, for the uncertainty of ranks `engine.stats.ranks`.
"""

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from theodolite.engine.threads import one_blas_thread

MIN_CLUSTERS = 30
"""Clusters, counted as if they were of equal size, below which chains of shared texts are cut."""


def are_clusters(codes: np.ndarray, n: int) -> bool:
    """Whether an array, perhaps from elsewhere, numbers the clusters of n examples."""
    right = n > 0 and codes.shape in ((n,), (n, 2)) and codes.dtype.kind in "iu"
    return bool(right and 0 <= codes.min() and codes.max() < codes.size)


def effective(clusters: np.ndarray) -> float:
    """How many clusters of equal size are as good: n squared over the sum of squared sizes.

    Args:
        clusters: int (n,), or (n, 2) as of `text_clusters`, whose smaller number counts.
    """
    sides = clusters.reshape(len(clusters), -1).T
    sizes = (np.bincount(side).astype(np.float64) for side in sides)
    return min(float(len(clusters) ** 2 / (size**2).sum()) for size in sizes)


def text_clusters(rows: Sequence[tuple[str, ...]]) -> np.ndarray:
    """Group examples that share a text, directly or through others.

    Such chains can join nearly all pairs of texts. If they leave few clusters where the texts would
    be many, the two texts of each pair are returned instead.

    Args:
        rows: the texts of each example; an empty one is shared with none.

    Returns:
        int (n,), the cluster of each example, from 0; or (n, 2), the number of each of its texts.
    """
    n, whole = len(rows), connected_groups(rows)
    if effective(whole) < MIN_CLUSTERS and all(len(texts) == 2 for texts in rows):
        texts = codes_of([text for side in zip(*rows, strict=True) for text in side])
        pairs = texts.reshape(2, n).T
        if effective(whole) < effective(pairs) / 2.0:
            return pairs
    return whole


def connected_groups(rows: Sequence[tuple[str, ...]]) -> np.ndarray:
    """The group of each example, with all that share a text directly or through others, from 0.

    Args:
        rows: the texts of each example; an empty one is shared with none.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, places = len(rows), dict[str, int]()
    edges = [
        (row, places.setdefault(text, len(places) + n))
        for row, texts in enumerate(rows)
        for text in texts
        if text
    ]
    ends = np.array(edges, np.int64).reshape(-1, 2).T
    size = n + len(places)
    graph = coo_array((np.ones(ends.shape[1], bool), (ends[0], ends[1])), (size, size))
    _, components = connected_components(graph, directed=False)
    return np.unique(components[:n], return_inverse=True)[1]


def codes_of(names: Sequence[str]) -> np.ndarray:
    """The cluster of each example from its name, from 0; without one it is a cluster of its own."""
    places: dict[str | int, int] = {}
    own = (name or place for place, name in enumerate(names))
    return np.array([places.setdefault(name, len(places)) for name in own], np.int64)


_MAX_CELLS = 100_000
"""Examples times resamples processed at once, 0.8 MB an array, to stay in the processor's cache:
more take twice as long. The draws do not depend on it."""
_MIN_DRAWS = 4
"""Draws from which Student's t has a variance."""


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


def average_precision(values: np.ndarray, right: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Average precision of the ranking by `values`, as scikit-learn defines it, on each resample.

    Args:
        values: (n,), higher first; equal ones are taken together.
        right: (n,), 1 or 0.
        times: (r, n), how often each example occurs.

    Returns:
        float64 (r,), nan where nothing is right.
    """
    order = np.argsort(-values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])), len(order) - 1)
    counts = times[:, order]
    taken = np.cumsum(counts, axis=1)[:, ends]
    hits = np.cumsum(counts * right[order], axis=1)[:, ends]
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(taken > 0, hits / taken, 0.0)
        recall = np.diff(hits, axis=1, prepend=0.0) / hits[:, -1:]
        return np.asarray((precision * recall).sum(axis=1))


@dataclass(frozen=True, eq=False)
class Sample:
    """The examples behind a main score.

    Attributes:
        values: float64 (n,): cosines, predictions, or a score for each example (right = 1,
            precision, …).
        gold: float64 (n,), with which the values are compared; None if the statistic is the mean of
            the values, in points.
        correlation: the statistic of values and gold, in points: a correlation, or the average
            precision of the ranking by the values, where gold is 1 or 0.
        clusters: int (n,), from 0: examples of one cluster are not independent and are drawn
            together (Miller 2024, "Adding Error Bars to Evals"). None if all are independent. Or
            (n, 2), two in each: an example occurs as often as the product of both (Owen 2007, "The
            pigeonhole bootstrap", The Annals of Applied Statistics 1), which errs on the wide side.
        beside: float64 (n,), further influence of each example on the mean, with sum 0; None
            without any.
        luck: float64 (r,), deviations of the statistic by r random choices that are no choice of
            examples, such as draws of training sentences, not in points. The sum of their squares
            is the variance by luck. None without such choices.
        trained_once: whether the values come from a model that was trained once on the encoder's
            vectors. Its luck is unknown: of pairs of copies of one encoder with 1 % noise, the
            bootstrap tells half apart on SICKRelatedness. So such samples are not tested.
        paired: whether the choices are those of the other encoders too. With a single k-means of
            each they are not: the seed is the same, and the few that jump elsewhere decide.
    """

    values: np.ndarray
    gold: np.ndarray | None = None
    correlation: Literal["spearman", "pearson", "average_precision"] = "spearman"
    clusters: np.ndarray | None = None
    beside: np.ndarray | None = None
    luck: np.ndarray | None = None
    paired: bool = True
    trained_once: bool = False

    @property
    def statistic(self) -> float:
        """The main score over these examples, in points of 100."""
        if self.gold is None:
            return 100.0 * float(np.mean(self.values))
        if self.correlation == "average_precision":
            once = np.ones((1, len(self.values)))
            return 100.0 * float(average_precision(self.values, self.gold, once)[0])
        correlate = {"spearman": spearman, "pearson": pearson}[self.correlation]
        return 100.0 * correlate(self.values, self.gold)

    @cached_property
    def plain(self) -> np.ndarray:
        """The values to be resampled, as float64."""
        values = np.asarray(self.values, dtype=np.float64)
        return values if self.beside is None else values + self.beside

    @cached_property
    def whole(self) -> bool:
        """Whether all values are whole numbers."""
        return bool((self.plain == np.rint(self.plain)).all())

    @cached_property
    def cluster_key(self) -> bytes | None:
        """A key of the clusters, equal for encoders whose examples are drawn together."""
        return None if self.clusters is None else np.ascontiguousarray(self.clusters).tobytes()

    @cached_property
    def against(self) -> tuple[bytes, str]:
        """A key of the gold and the correlation, equal for encoders on the same examples."""
        return np.ascontiguousarray(self.gold).tobytes(), self.correlation

    @cached_property
    def order(self) -> tuple[np.ndarray, np.ndarray]:
        """The sorting order of the values, and where each distinct one starts in it."""
        return _group(self.plain)

    @cached_property
    def gold_order(self) -> tuple[np.ndarray, np.ndarray]:
        """The sorting order of the gold, and where each distinct value starts in it."""
        return _group(np.asarray(self.gold, dtype=np.float64))


def main_sample(examples: Mapping[str, np.ndarray], details: Mapping[str, Any]) -> Sample:
    """Return the examples that the main score of a `Result` was measured on.

    STS: the pairs of the parts in `details["main_parts"]` (the test split, or a whole year).
    Learned relatedness: the test pairs, by the correlation in `details["selected_by"]`. MTEB's
    types: the values that `details["mean_of"]` names, or pairs with a label.

    The examples' `cluster`, if stored, says which of them are not independent.

    Raises:
        ValueError: the result has no per-example values.
    """
    values, clusters = _values(examples, details), examples.get("cluster")
    if clusters is None or not are_clusters(clusters, len(values.values)):
        return values
    return replace(values, clusters=clusters)


def _values(examples: Mapping[str, np.ndarray], details: Mapping[str, Any]) -> Sample:
    """The examples with their gold, all as if they were independent."""
    if "mean_of" in details:
        values = np.asarray(examples[details["mean_of"]], dtype=np.float64)
        return Sample(values, luck=_luck_of(examples), paired="seeds" not in examples)
    if "similarity" in examples:
        labels = examples["label"].astype(np.float64)
        return Sample(examples["similarity"], labels, "average_precision")
    if "cosine" in examples:
        rows = np.isin(examples["part"], list(details["main_parts"]))
        return Sample(examples["cosine"][rows], examples["gold"][rows])
    if "predicted" in examples:
        how = details["selected_by"]
        return Sample(examples["predicted"], examples["gold"], how, trained_once=True)
    if "precision" in examples:
        return Sample(examples["precision"], beside=examples.get("as_neighbour"))
    for name in ("correct", "recall", "token_f1"):
        if name in examples:
            values = np.asarray(examples[name], dtype=np.float64)
            return Sample(values, trained_once=name == "recall")  # of captions, by a trained ranker
    known = "`cosine`, `predicted`, `correct`, `precision`, `recall` or `token_f1`"
    raise ValueError(f"expected examples {known}, got {list(examples)}")


def bootstrap(sample: Sample, resamples: int = 2000, seed: int = 0) -> np.ndarray:
    """The statistic on resamples of the examples, float64 (resamples,), in points.

    The same n, resamples and seed draw the same examples whatever the values, so the difference of
    two encoders' arrays is the paired bootstrap. A resample without spread gives nan.
    """
    return resample_all([sample], resamples, seed)[0].draws


def _luck_of(examples: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Return `Sample.luck` of a result that has `draws` or `seeds`; None without."""
    scores = np.asarray(examples.get("seeds", examples.get("draws", ())), dtype=np.float64)
    r = len(scores)
    if r < _MIN_DRAWS:
        return None
    averaged = 1 if "seeds" in examples else r
    return (scores - scores.mean()) / 100.0 / math.sqrt((r - 1) * averaged)


@lru_cache(maxsize=16)
def _luck_factors(r: int, resamples: int, seed: int, own: int = 0) -> np.ndarray:
    """Factors of r deviations by luck on each resample: float64 (r, resamples).

    The sum of deviations times factors has Student's t-distribution with r - 1 degrees of freedom
    and the deviations' standard error as its scale, as few draws tell little of their spread. Its
    variance is exact, so that `variances` can be taken out. Encoders that are not paired by luck
    have factors of their `own`.
    """
    rng = np.random.default_rng([seed, r, own])
    factors = rng.standard_normal((r, resamples)) / np.sqrt(rng.chisquare(r - 1, resamples))
    factors -= factors.mean(axis=1, keepdims=True)
    exact = np.linalg.solve(np.linalg.cholesky(factors @ factors.T / resamples), factors)
    return np.asarray(exact * math.sqrt((r - 1) / (r - 3)))


def _draw(n: int, clusters: np.ndarray | None, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """How often each example occurs in each resample, block by block: float64 (rows, n)."""
    rng = np.random.default_rng(seed)
    block = max(1, _MAX_CELLS // max(n, 1))
    units = n if clusters is None else int(clusters.max()) + 1
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        picks = rng.integers(0, units, size=(rows, units))
        picks += units * np.arange(rows)[:, None]
        counts = np.bincount(picks.ravel(), minlength=rows * units)
        times = counts.reshape(rows, units).astype(np.float64)
        if clusters is not None:
            times = times.take(clusters, axis=1).reshape(rows, n, -1).prod(axis=2)
        yield times


@dataclass(frozen=True, eq=False)
class Resampled:
    """A main score, and its values on resamples of its examples.

    Attributes:
        statistic: the score, in points.
        draws: float64 (resamples,), as `bootstrap` returns them.
        n: number of examples.
        clusters: how many clusters of equal size are as good as theirs; None if all examples are
            independent.
        luck: float64 (r,), as in `Sample` but in points; empty without any.
        paired: as in `Sample`.
    """

    statistic: float
    draws: np.ndarray
    n: int
    clusters: float | None = None
    luck: np.ndarray = field(default_factory=lambda: np.zeros(0))
    paired: bool = True

    @property
    def units(self) -> float:
        """The number of independent units."""
        return self.n if self.clusters is None else self.clusters


def resample_all(
    samples: Sequence[Sample], resamples: int = 2000, seed: int = 0
) -> list[Resampled]:
    """Resample several encoders on the same examples, which are drawn once for all.

    Raises:
        ValueError: the numbers of examples, or their clusters, differ.
    """
    keys = {one.cluster_key: one.clusters for one in samples}
    clusters = next(iter(keys.values()), None)
    if len(keys) > 1 or len({len(sample.values) for sample in samples}) > 1:
        raise ValueError("encoders are resampled together on the same examples only")
    if not samples:
        return []
    picks = _draw(len(samples[0].values), clusters, resamples, seed)
    with one_blas_thread(openmp=False):  # other threads may be encoding meanwhile
        parts = [_statistics(samples, times) for times in picks]
    units, resampled = None if clusters is None else effective(clusters), []
    for sample, draws in zip(samples, 100.0 * np.concatenate(parts, axis=1), strict=True):
        luck = 100.0 * (np.zeros(0) if sample.luck is None else sample.luck)
        if len(luck):
            own = 0 if sample.paired else zlib.crc32(luck.tobytes())
            draws += luck @ _luck_factors(len(luck), resamples, seed, own)
        n = len(sample.values)
        resampled.append(Resampled(sample.statistic, draws, n, units, luck, sample.paired))
    return resampled


def _statistics(samples: Sequence[Sample], times: np.ndarray) -> np.ndarray:
    """Statistics, not in points, where example i occurs times[r, i] times: (len(samples), r)."""
    n = _totals(times)
    if all(sample.gold is None and sample.whole for sample in samples):
        # Sums of whole numbers are exact in any order.
        return np.stack([sample.plain for sample in samples]) @ times.T / n
    golds: dict[tuple[bytes, str], _PlainGold | _RankedGold] = {}
    statistics = np.empty((len(samples), len(times)))
    for place, sample in enumerate(samples):
        if sample.gold is None:
            statistics[place] = times @ sample.plain / n
            continue
        if sample.correlation == "average_precision":
            statistics[place] = average_precision(sample.plain, sample.gold, times)
            continue
        if sample.against not in golds:
            kind = _RankedGold if sample.correlation == "spearman" else _PlainGold
            golds[sample.against] = kind(sample, times)
        covariance, spread = golds[sample.against].with_(sample)
        with np.errstate(invalid="ignore", divide="ignore"):
            statistics[place] = np.where(spread > 0.0, covariance / np.sqrt(spread), np.nan)
    return statistics


def _totals(times: np.ndarray) -> np.ndarray:
    """The size of each resample, which differs where clusters are drawn; nan if it is empty."""
    n = times.sum(axis=1)
    return np.where(n > 0.0, n, np.nan)


class _PlainGold:
    """The gold side of Pearson's correlation on resamples, computed once for all encoders."""

    def __init__(self, sample: Sample, times: np.ndarray) -> None:
        self._times, self._n = times, _totals(times)[:, None]
        self._centred, self._spread = self._spread_of(np.asarray(sample.gold, dtype=np.float64))

    def with_(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        """Sum of products with values, and product of both sums of squares: float64 (r,) each."""
        mine, spread = self._spread_of(sample.plain)
        return np.einsum("ri,ri,ri->r", self._times, mine, self._centred), spread * self._spread

    def _spread_of(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        centred = values - self._times @ values[:, None] / self._n
        return centred, np.einsum("ri,ri,ri->r", self._times, centred, centred)


class _RankedGold:
    """The gold side of Spearman's correlation on resamples, computed once for all encoders.

    Ranks come from counting instead of sorting each resample: the values are sorted once, and the
    average rank of a value is the number of drawn examples below it plus half of its own. All are
    multiples of one half, so sums are exact in any order.
    """

    def __init__(self, sample: Sample, times: np.ndarray) -> None:
        self._times = np.ascontiguousarray(times.T)  # one row per example: rows are moved and added
        self._n = _totals(times)
        order, starts = sample.gold_order
        counts, self._spread = self._spread_of(order, starts)
        centred = np.cumsum(counts, axis=0) - (counts + self._n) / 2
        self._gold = np.empty_like(self._times)
        self._gold[order] = np.repeat(centred, np.diff(starts, append=len(order)), axis=0)
        self._gold *= self._times

    def with_(self, sample: Sample) -> tuple[np.ndarray, np.ndarray]:
        """Sum of products with values, and product of both sums of squares: float64 (r,) each.

        The values' ranks are not centred: the gold's are, so the mean drops out.
        """
        order, starts = sample.order
        counts, spread = self._spread_of(order, starts)
        gold = self._gold.take(order, axis=0)
        if len(starts) < len(order):
            gold = np.add.reduceat(gold, starts, axis=0)
        below = np.einsum("gr,gr->r", np.cumsum(counts, axis=0), gold)
        return below - np.einsum("gr,gr->r", counts, gold) / 2, spread * self._spread

    def _spread_of(self, order: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How often each value was drawn, and the sum of squares of their ranks, less the ties'."""
        counts = self._times.take(order, axis=0)
        if len(starts) < len(order):
            counts = np.add.reduceat(counts, starts, axis=0)
        tied = np.einsum("gr,gr,gr->r", counts, counts, counts)
        return counts, (self._n**3 - tied) / 12.0


def _group(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sorting order of values, and where each distinct one starts in it."""
    _, inverse = np.unique(values, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    return order, np.flatnonzero(np.diff(inverse[order], prepend=-1))
