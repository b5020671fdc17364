"""Logistic regression by scikit-learn, with the defaults of the version installed.

The reference's other branch. The defaults have changed: before 0.22 the solver was liblinear, one
class against the rest.
"""

from __future__ import annotations

import warnings

import numpy as np

from theodolite.engine.classifiers.features import Features
from theodolite.engine.classifiers.setting import Fit, Fitted, SolverSetting
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.threads import one_blas_thread


def solve(
    features: Features,
    labels: np.ndarray,
    fits: list[Fit],
    setting: SolverSetting,
    seed: int,
    tick: ProgressCallback,
) -> list[Fitted]:
    """Fit on all training rows, without early stopping. See `setting.Solver`."""
    import sklearn.linear_model  # noqa: F401  # only libraries that are loaded can be limited

    answers = []
    with one_blas_thread():
        for done, fit in enumerate(fits):
            tick(done / len(fits))
            answers.append(_fit(features, labels, fit, seed))
    return answers


def _fit(features: Features, labels: np.ndarray, fit: Fit, seed: int) -> Fitted:
    import torch
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if fit.znorm:
        features = features.standardised(fit.train)

    def of(rows: np.ndarray) -> np.ndarray:
        return features.rows(torch.from_numpy(rows).to(features.device)).cpu().numpy()

    classifier = LogisticRegression(C=fit.penalty, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the protocol keeps the last iterate
        classifier.fit(of(fit.train), labels[fit.train])
    accuracy = 0.0 if fit.stop is None else classifier.score(of(fit.stop), labels[fit.stop])
    tested = np.empty(0, np.int64) if fit.test is None else classifier.predict(of(fit.test))
    return Fitted(float(accuracy), 0, tested)
