"""The speed of a task's training and comparisons, from a short, warm run of the real work.

Vectors are drawn at random, labels are the data's own. Each probe first runs once untimed, to load
libraries and fill caches. Knows neither stores nor pages.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import islice

import numpy as np

from theodolite.engine.classifiers.setting import Fit, SolverSetting
from theodolite.engine.cost.speed import Speed
from theodolite.engine.progress import nobody
from theodolite.engine.tasks.cost import By, Work

_MOST, _FEWEST = 1024, 128
"""Bounds of the rows in a timed pass."""
_SECONDS = 0.3
"""Approximate duration of each timing."""


def training_seconds(work: Work, dim: int, probed: dict[object, Speed] | None = None) -> float:
    """Estimate the seconds of a task's training and comparisons.

    Args:
        work: of the task.
        dim: of the vectors.
        probed: keeps probes, for tasks with the same kind of classifier.
    """
    known = {} if probed is None else probed
    if len(work.calls) > 1:  # columns that are trained together cost less than each alone
        return sum(training_seconds(call, dim, known) for call in work.calls)
    alike = (work.by, work.setting, work.width * dim, work.classes, work.fits, work.image_dim)
    if alike not in known:
        known[alike] = _PROBES[work.by](work, dim)
    return _seconds(known[alike], work)


def _seconds(speed: Speed, work: Work) -> float:
    if not work.fits:
        return speed.seconds(work.pairs)
    rounds = work.passes / work.setting.passes if work.setting is not None else 0.0
    together = 1 if work.by == "columns" else work.fits
    return speed.seconds(work.fit_rows * work.passes, rounds * together)


def _timed(run: Callable[[], object]) -> float:
    """Median seconds of at least three runs: in a single one the processor may have been busy."""
    seconds: list[float] = []
    while len(seconds) < 3 or (len(seconds) < 9 and sum(seconds) < _SECONDS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def _fitting(work: Work, dim: int) -> Speed:
    """Time a round of one pass and a round of three: they differ by two passes."""
    from theodolite.engine.classifiers import columns, exact
    from theodolite.engine.classifiers.features import Features, accelerator
    from theodolite.engine.threads import one_torch_thread

    setting = work.setting or SolverSetting()
    solve = columns.solve if work.by == "columns" else exact.solve
    device = accelerator() if work.by == "columns" else "cpu"

    def round_of(rows: int) -> tuple[Callable[[int], float], int]:
        fits, used = sampled(work, rows)
        labels = work.labels[used].copy()
        labels[0] = work.classes - 1  # a sample may lack the last class, and with it its weights
        features = Features(
            _drawn(len(used), work.width * dim), np.arange(len(used)), device=device
        )

        def seconds(passes: int) -> float:
            one_round = replace(setting, passes=passes, max_passes=0)
            return _timed(lambda: solve(features, labels, fits, one_round, 1111, nobody))

        return seconds, sum(len(fit.train) for fit in fits)

    with one_torch_thread():
        few, _ = round_of(_FEWEST)
        few(1)
        rows = int(np.clip(_FEWEST * _SECONDS / few(1), _FEWEST, _MOST))
        seconds, fit_rows = round_of(rows)
        one, three = seconds(1), seconds(3)
    a_pass = max(three - one, 0.0) / 2
    return Speed(a_pass / fit_rows, max(one - a_pass, 0.0))


def sampled(work: Work, rows: int) -> tuple[list[Fit], np.ndarray]:
    """The fits of a plan on a sample of its rows; only the first where they are trained in turn."""
    fits = work.asked if work.by == "columns" else work.asked[:1]
    random = np.random.default_rng(1111)
    first = [a[0] for fit in fits for a in (fit.train, fit.stop, fit.test) if a is not None]
    sample = random.choice(work.rows, min(rows, work.rows), replace=False)
    used = np.unique(np.concatenate([sample, first]))
    place = np.full(work.rows, -1)
    place[used] = np.arange(len(used))
    known: dict[int, np.ndarray] = {}

    def part(rows: np.ndarray) -> np.ndarray:
        # The same array for the same array: the solver recognises shared rows by identity.
        if id(rows) not in known:
            found = place[rows]
            known[id(rows)] = found[found >= 0]
        return known[id(rows)]

    return [
        replace(
            fit,
            train=part(fit.train),
            stop=None if fit.stop is None else part(fit.stop),
            test=None if fit.test is None else part(fit.test),
        )
        for fit in fits
    ], used


def _regression(work: Work, dim: int) -> Speed:
    """Time iterations of L-BFGS on a sample of rows."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    from theodolite.engine.threads import one_blas_thread

    used = np.random.default_rng(1111).permutation(work.asked[0].train)[: 4 * _MOST]
    labels, x = work.labels[used], _drawn(len(used), work.width * dim)
    labels[0] = (labels[-1] + 1) % work.classes  # a small sample may have a single class
    if work.by == "standardised":
        x = x.astype(np.float64)
    classifier = LogisticRegression(max_iter=20, tol=0.0)
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        classifier.fit(x, labels)
        seconds = _timed(lambda: classifier.fit(x, labels))
    return Speed(seconds / len(x) / int(classifier.n_iter_[0]))


def _relatedness(work: Work, dim: int) -> Speed:
    """Time a training of the regressor that never improves, and so ends after 250 passes."""
    from theodolite.engine.classifiers import relatedness
    from theodolite.engine.classifiers.features import Features

    n = min(2 * _FEWEST, work.fit_rows)
    rows = np.arange(n)
    features = Features(_drawn(n, dim), rows, rows[::-1].copy(), "|u-v|, u*v")
    splits = dict.fromkeys(("train", "dev", "test"), rows)
    passes = 0

    def fit() -> None:
        nonlocal passes
        _, _, passes = relatedness.fit(
            features, 1.0 + rows % 4, splits, lambda a, b: 0.0, 1111, nobody
        )

    fit()
    return Speed(_timed(fit) / n / passes)


def _retrieval(work: Work, dim: int) -> Speed:
    """Time a few batches of captions, with as many images as their contrasts need."""
    from theodolite.engine.classifiers.ranking import BATCH, Matched, ProjectionHeads
    from theodolite.engine.datasets.types import CAPTIONS

    batches, images = 4, BATCH
    train = Matched(_drawn(CAPTIONS * images, dim), _drawn(images, work.image_dim))
    model = ProjectionHeads(work.image_dim, dim, 1111)
    list(islice(model.train(train), 1))
    return Speed(_timed(lambda: list(islice(model.train(train), batches))) / batches / BATCH)


def _uniformity(work: Work, dim: int) -> Speed:
    from theodolite.engine.space.geometry import uniformity

    return _compared(uniformity, dim)


def _neighbours(work: Work, dim: int) -> Speed:
    from theodolite.engine.search.index import neighbours_of_each

    return _compared(lambda vectors: neighbours_of_each(vectors, 10), dim)


def _k_means(work: Work, dim: int) -> Speed:
    """Time one small clustering, per vector and cluster."""
    from sklearn.cluster import MiniBatchKMeans

    from theodolite.engine.threads import one_blas_thread

    vectors, clusters = _drawn(4 * _MOST, dim), 20
    model = MiniBatchKMeans(clusters, batch_size=512, n_init=1, random_state=1111)
    with one_blas_thread():
        model.fit(vectors)
        return Speed(_timed(lambda: model.fit_predict(vectors)) / len(vectors) / clusters)


def _compared(compare: Callable[[np.ndarray], object], dim: int) -> Speed:
    """Time a comparison of all pairs of a few thousand vectors."""
    vectors = _drawn(4 * _MOST, dim)  # several blocks of either
    compare(vectors)
    return Speed(_timed(lambda: compare(vectors)) / len(vectors) ** 2)


def _cosines(work: Work, dim: int) -> Speed:
    from theodolite.engine.space.geometry import cosine

    vectors = _drawn(_MOST, dim)
    cosine(vectors, vectors)
    return Speed(_timed(lambda: cosine(vectors, vectors)) / len(vectors))


def _drawn(rows: int, dim: int) -> np.ndarray:
    return np.random.default_rng(1111).standard_normal((rows, dim), np.float32)


_PROBES: dict[By, Callable[[Work, int], Speed]] = {
    "exact": _fitting,
    "columns": _fitting,
    "logistic": _regression,
    "standardised": _regression,
    "relatedness": _relatedness,
    "retrieval": _retrieval,
    "uniformity": _uniformity,
    "neighbours": _neighbours,
    "k-means": _k_means,
    "cosines": _cosines,
}
