"""The settings of SentEval's classifiers, and the input and output of one fit.

A *solver* trains the classifiers of fits: `exact` one by one as the reference does, `columns` all
at once, `logistic` by scikit-learn. Knows neither tasks nor encoders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from theodolite.engine.progress import ProgressCallback

if TYPE_CHECKING:
    from theodolite.engine.classifiers.features import Features

HOLD_OUT = 0.05
"""Share of the training rows that a final fit without a dev set holds out for early stopping."""
WEIGHT_DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)
"""The grid of the reference's torch classifier. (The 2^t of its paper is the other branch,
scikit-learn's C.)"""


@dataclass(frozen=True)
class SolverSetting:
    """One way to train and choose classifiers.

    Attributes:
        solver: name of the solver.
        folds: of every cross-validation, outer and inner.
        hidden: units of the one hidden layer; 0 is logistic regression.
        dropout: share of hidden units dropped, before the sigmoid.
        optimiser: of torch; the fast solver has `adam` and `rmsprop` alone.
        options: of the optimiser, where they are not torch's defaults; for the plain loop alone.
        batch: rows per step, for each classifier.
        tenacity: a fit stops at this many rounds plus one without a better stopping accuracy,
            consecutive or not.
        passes: over the training rows in a round (the reference's `epoch_size`).
        max_passes: no round starts after more passes (the reference's `max_epoch`).
        choose_znorm: also choose between plain and z-normalised features; one part of `folds` is
            then the dev set, instead of inner folds.
    """

    solver: Literal["exact", "columns", "logistic"] = "exact"
    folds: int = 10
    hidden: int = 0
    dropout: float = 0.0
    optimiser: str = "adam"
    batch: int = 64
    tenacity: int = 5
    passes: int = 4
    max_passes: int = 200
    choose_znorm: bool = False
    options: tuple[tuple[str, float], ...] = ()

    def share(self, passes: int, misses: int) -> float:
        """Return a lower bound of a fit's progress: it ends by its passes or by its misses."""
        return min(1.0, max(passes / max(1, self.max_passes), misses / (self.tenacity + 1)))


@dataclass(frozen=True, eq=False)
class Fit:
    """One classifier to train.

    Fits that share arrays (the same object) are known to share rows.

    Attributes:
        train: rows to train on.
        stop: rows whose accuracy selects the best round; None holds out 5 % of `train`.
        penalty: weight decay, or C for scikit-learn.
        test: rows to predict in the end, or None.
        znorm: z-normalise the features, by mean and deviation of the training rows (without the
            held-out ones).
    """

    train: np.ndarray
    stop: np.ndarray | None
    penalty: float
    test: np.ndarray | None = None
    znorm: bool = False

    def split(self, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to train on and those to stop by, drawn where none are given."""
        if self.stop is not None:
            return self.train, self.stop
        shuffled = random.permutation(self.train)
        size = int(HOLD_OUT * len(self.train))
        return shuffled[size:], shuffled[:size]


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result of a fit.

    Attributes:
        accuracy: best accuracy on the stopping rows, 0 to 1.
        passes: over its training rows; 0 where not defined.
        predicted: int64 class of every test row; empty without any.
    """

    accuracy: float
    passes: int
    predicted: np.ndarray


Solver = Callable[
    ["Features", np.ndarray, list[Fit], SolverSetting, int, ProgressCallback], list[Fitted]
]
"""Trains every fit, in order: (features, labels, fits, setting, seed, tick); labels are int64
classes from 0, one for each row of the features."""
