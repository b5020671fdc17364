"""Estimates of a measurement's cost: work counted here, speed from `engine.cost`.

The number of fits and rows is exact: the task's plan runs with a trainer that only records the
fits. Early stopping decides how long a classifier trains, so the number of epochs is an average
over SentEval's tasks.

Knows neither stores nor pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from theodolite.engine.classifiers.features import KEPT_BYTES
from theodolite.engine.classifiers.setting import Fit, SolverSetting

By = Literal[
    "exact",
    "columns",
    "logistic",
    "standardised",
    "relatedness",
    "retrieval",
    "uniformity",
    "neighbours",
    "k-means",
    "cosines",
]
"""The dominant computation: one of SentEval's solvers, the regression of `starter-1`, a trained
similarity, or a comparison of vectors."""
_KEY_BYTES = 24
"""Overhead of a cached vector: the sentence's key and a checksum."""
_COPIES = 5
"""Copies of a classifier's weights: weights, gradient, Adam's two moments, one temporary."""


@dataclass(frozen=True, eq=False)
class Work:
    """The work of a task, independent of the encoder.

    Attributes:
        sentences: sentences to encode, duplicates included.
        rows: examples of a classifier; 0 if nothing is trained.
        width: features of an example per dimension of the vectors.
        classes: number of classes.
        fits: number of classifiers trained.
        fit_rows: training rows, summed over fits.
        pairs: pairs of vectors compared, if nothing is trained.
        passes: expected epochs of a fit; for lbfgs, iterations.
        by: the dominant computation.
        image_dim: features of an image, for caption-image retrieval.
        setting: settings of the classifiers.
        asked: all fits, if known.
        labels: int64 class of every row, if known.
        calls: the same work split by solver call, for a solver that trains its fits together.
    """

    sentences: list[str]
    by: By = "cosines"
    rows: int = 0
    width: int = 1
    classes: int = 2
    fits: int = 0
    fit_rows: int = 0
    pairs: int = 0
    passes: float = 0.0
    image_dim: int = 0
    setting: SolverSetting | None = None
    asked: list[Fit] = field(default_factory=list)
    labels: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    calls: list[Work] = field(default_factory=list)


def memory_bytes(work: Work, dim: int) -> int:
    """Estimate peak memory beside program and model: vectors, kept features, classifiers."""
    vectors = 4 * dim * len(work.sentences)
    if not work.fits:
        return vectors
    features = 4 * work.width * dim * work.rows
    features = features if features <= KEPT_BYTES else 0
    columns = work.fits if work.setting and work.setting.solver == "columns" else 1
    hidden = work.setting.hidden if work.setting else 0
    outputs = hidden or work.classes
    weights = 4 * _COPIES * columns * (work.width * dim + 1) * outputs
    groups = len({id(fit.train) for fit in work.asked}) if columns > 1 else 0
    return vectors + features + weights + 5 * groups * work.rows


def disk_bytes(new: int, dim: int) -> int:
    """Return the bytes that `new` vectors, each stored with its key, add to the cache."""
    return new * (4 * dim + _KEY_BYTES)
