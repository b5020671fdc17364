"""Estimates what a measurement will cost: work counted here, speed from `engine.cost`.

The work is counted exactly: the plan of a task is followed with a trainer that only notes what it
is asked. How long a classifier trains is decided by its own stopping rule, so how often it goes
through its rows is what SentEval's tasks took on average.

Knows neither stores nor pages.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from engine.classifiers.features import KEPT_BYTES
from engine.classifiers.setting import Fit, SolverSetting

By = Literal["exact", "columns", "logistic", "standardised", "relatedness", "retrieval",
             "uniformity", "neighbours", "k-means", "cosines"]  # fmt: skip
"""What takes the time: SentEval's solvers, the regression of `starter-1`, the trained similarities,
or what compares vectors."""
_KEY_BYTES = 24
"""Kept beside each cached vector: the sentence's key and a checksum."""
_COPIES = 5
"""Of a classifier's weights: themselves, gradient, two moments of Adam, one in passing."""


@dataclass(frozen=True, eq=False)
class Work:
    """What a task asks for, whatever the encoder.

    Attributes:
        sentences: to be encoded, duplicates included.
        rows: examples a classifier sees; 0 where nothing is trained.
        width: features of an example for each dimension of the vectors.
        classes: of the classifier.
        fits: classifiers trained.
        fit_rows: rows that one pass of every fit goes through, summed over fits.
        pairs: pairs of vectors compared, where nothing is trained.
        passes: over its rows that a fit is expected to take; of lbfgs, iterations.
        by: what takes the time.
        image_dim: features of an image, where captions are told from images.
        setting: of SentEval's classifiers.
        asked: every fit, where it is known.
        labels: int64 class of every row, where it is known.
        calls: the same work by call of a solver that trains its fits together.
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
    """Estimate the peak, beside the program and the model: vectors, kept features, classifiers."""
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
    """Bytes that the cache grows by for so many new vectors, each kept with its key."""
    return new * (4 * dim + _KEY_BYTES)
