"""V-measure, and the part that every example has in it. Pure functions."""

from __future__ import annotations

import numpy as np


def v_measure_parts(labels: np.ndarray, clusters: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Values of which V-measure is the mean, to first order on resamples of the examples as well.

    V-measure is no mean of examples, and its plain bootstrap is too high: fewer different examples
    are easier to cluster. So it is V-measure plus each example's influence on it (the infinitesimal
    jackknife), which is negative where an example is far from where the others of its label are.

    Args:
        labels: int (n,).
        clusters: int (n,).
        times: (n,), how often each example occurs.

    Returns:
        float64 (n,).
    """
    total = times.sum()
    share = times / total
    both = labels.astype(np.int64) * (int(clusters.max()) + 1) + clusters
    surprise = [_surprise(group, share) for group in (labels, clusters, both)]
    of_labels, of_clusters, of_both = (float(share @ one) for one in surprise)
    shared, of_either = of_labels + of_clusters - of_both, of_labels + of_clusters
    if of_either < 1e-12:
        return np.ones(len(labels))
    sums = surprise[0] + surprise[1]
    more = 2.0 * ((sums - surprise[2]) * of_either - shared * sums) / of_either**2
    return np.asarray(2.0 * shared / of_either + len(labels) * share * more)


def _surprise(group: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Minus the logarithm of the share of each example's group."""
    _, which = np.unique(group, return_inverse=True)
    with np.errstate(divide="ignore"):
        log = -np.log(np.bincount(which, weights=share))
    return np.asarray(np.where(share > 0, log[which], 0.0))
