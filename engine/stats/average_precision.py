"""Average precision on resamples. Pure functions; knows neither encoders nor data sets."""

from __future__ import annotations

import numpy as np


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
    drawn = times[:, order]
    taken = np.cumsum(drawn, axis=1)[:, ends]
    found = np.cumsum(drawn * right[order], axis=1)[:, ends]
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.where(taken > 0, found / taken, 0.0)
        recall = np.diff(found, axis=1, prepend=0.0) / found[:, -1:]
        return np.asarray((precision * recall).sum(axis=1))
