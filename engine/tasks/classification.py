"""Classification: can a linear classifier read the labels off the vectors?

Protocol `starter-1`: five stratified folds, standardised columns, logistic regression. Knows
vectors and labels; neither encoders nor files.
"""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np

from engine.classifiers.features import one_blas_thread
from engine.datasets.types import LabelledSentences
from engine.errors import UserError
from engine.results import Score
from engine.tasks.measurement import Measurement

FOLDS = 5
PENALTY = 0.01
"""C of scikit-learn, the inverse of the L2 penalty's strength. With hundreds of standardised
columns and a hundred sentences a label, its default of 1 hardly penalises, and overfits."""
MAX_ITER = 500


def measure(data: LabelledSentences, vectors: np.ndarray, seed: int) -> Measurement:
    """Predict every sentence by a classifier that was fitted on the other folds.

    Columns are standardised with the mean and deviation of the folds fitted on: the penalty would
    otherwise weigh short vectors more than long ones and measure length instead of content.

    Args:
        data: sentences with labels; its splits, if any, are not used.
        vectors: float32 (len(data.sentences), dim), finite.
        seed: of the folds.

    Raises:
        UserError: fewer than two labels with at least five sentences.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.model_selection import StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows, labels = _enough(data)
    features = vectors[rows].astype(np.float64)
    predicted = np.empty_like(labels)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    unfinished = 0
    for fitted, held_out in folds.split(features, labels):
        classifier = make_pipeline(
            StandardScaler(), LogisticRegression(C=PENALTY, max_iter=MAX_ITER)
        )
        with one_blas_thread(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            classifier.fit(features[fitted], labels[fitted])
        unfinished += any(issubclass(w.category, ConvergenceWarning) for w in caught)
        predicted[held_out] = classifier.predict(features[held_out])
    correct = predicted == labels
    n = len(labels)
    scores = (
        Score("all", None, "accuracy", 100.0 * float(correct.mean()), n, main=True),
        Score("all", None, "macro_f1", 100.0 * f1_score(labels, predicted, average="macro"), n),
    )
    names, counts = np.unique(labels, return_counts=True)
    details = {
        "labels": {str(y): int(c) for y, c in zip(names, counts, strict=True)},
        "recall": {str(y): 100.0 * float(correct[labels == y].mean()) for y in names},
        "left_out": len(data.labels) - n,
        "fits_not_converged": unfinished,
    }
    return Measurement(scores, {"correct": correct}, details)


def _enough(data: LabelledSentences) -> tuple[np.ndarray, np.ndarray]:
    """Positions and labels of the sentences whose label occurs at least once a fold."""
    counts = Counter(data.labels)
    kept = {label for label, count in counts.items() if count >= FOLDS}
    if len(kept) < 2:
        raise UserError(
            f"{data.name} has {len(kept)} labels with at least {FOLDS} sentences; "
            "telling labels apart needs two.",
            "Check which column was taken for the label.",
        )
    rows = np.array([i for i, label in enumerate(data.labels) if label in kept])
    return rows, np.array(data.labels)[rows]
