"""The best cosine threshold of a pair task.

Knows cosines and binary labels; neither encoders nor files.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Verdicts:
    """Scores of a threshold: pairs at or above it are predicted positive.

    Attributes:
        threshold: the cosine.
        accuracy: share of correct predictions.
        precision, recall, f1: of the positive pairs; 0 where none is predicted positive.
    """

    threshold: float
    accuracy: float
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, eq=False)
class ThresholdSweep:
    """All thresholds with distinct predictions, the highest first.

    Attributes:
        thresholds: float64 (m,), each midway between two neighbouring cosines, the first above all
            of them and the last below.
        accuracy, precision, recall, f1: float64 (m,).
        positives: number of positive pairs.
        n: number of pairs.
    """

    thresholds: np.ndarray
    accuracy: np.ndarray
    precision: np.ndarray
    recall: np.ndarray
    f1: np.ndarray
    positives: int
    n: int

    def best(self, measure: str = "accuracy") -> Verdicts:
        """The threshold with the highest accuracy or F1; of several, the highest threshold."""
        place = int(np.argmax({"accuracy": self.accuracy, "f1": self.f1}[measure]))
        columns = (self.thresholds, self.accuracy, self.precision, self.recall, self.f1)
        return Verdicts(*(float(values[place]) for values in columns))


def sweep(cosines: np.ndarray, positive: np.ndarray) -> ThresholdSweep:
    """Score every threshold in n log n time. Equal cosines are never separated.

    Args:
        cosines: float (n,), finite, n >= 1.
        positive: bool (n,).
    """
    order = np.argsort(-cosines, kind="stable")
    values, right = np.asarray(cosines, np.float64)[order], np.asarray(positive, bool)[order]
    last = np.flatnonzero(np.append(values[1:] != values[:-1], True))  # the last of equal ones
    called = np.append(0, last + 1)
    hits = np.append(0, np.cumsum(right)[last])
    n, positives = len(values), int(right.sum())
    middles = (values[last[:-1]] + values[last[:-1] + 1]) / 2
    thresholds = np.concatenate([[values[0] + 1e-6], middles, [values[-1] - 1e-6]])
    precision = _ratio(hits, called)
    recall = _ratio(hits, np.full(len(hits), positives))
    accuracy = (hits + (n - positives) - (called - hits)) / n
    return ThresholdSweep(
        thresholds, accuracy, precision, recall, _ratio(2 * hits, called + positives), positives, n
    )


def judge(cosines: np.ndarray, positive: np.ndarray, threshold: float) -> Verdicts:
    """Score a threshold that was chosen on other data on these pairs, n >= 1."""
    called, right = np.asarray(cosines) >= threshold, np.asarray(positive, bool)
    hits, calls, positives = int((called & right).sum()), int(called.sum()), int(right.sum())
    return Verdicts(
        threshold,
        float(np.mean(called == right)),
        hits / calls if calls else 0.0,
        hits / positives if positives else 0.0,
        2 * hits / (calls + positives) if calls + positives else 0.0,
    )


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
