"""Agreement of clusters with labels: V-measure by example, and adjusted mutual information."""

import numpy as np


def v_measure_parts(labels: np.ndarray, clusters: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Values per example whose mean is V-measure, to first order also on resamples.

    V-measure is no mean over examples, and its plain bootstrap is too high: fewer distinct examples
    are easier to cluster. So each value is V-measure plus the example's influence on it (the
    infinitesimal jackknife), negative for an example away from the others of its label.

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
    """Negative log of the share of each example's group."""
    _, which = np.unique(group, return_inverse=True)
    with np.errstate(divide="ignore"):
        log = -np.log(np.bincount(which, weights=share))
    return np.asarray(np.where(share > 0, log[which], 0.0))


def adjusted_mutual_information(
    labels: np.ndarray, clusters: np.ndarray, times: np.ndarray
) -> float:
    """Mutual information adjusted for chance, normalised by the mean of both entropies.

    As in scikit-learn, but without the terms that add less than 1e-15 to the expectation: most
    sizes of the overlap of a label and a cluster are next to impossible.

    Args:
        labels: int (n,).
        clusters: int (n,).
        times: int (n,), how often each example occurs.
    """
    both = np.zeros((labels.max() + 1, clusters.max() + 1), np.int64)
    np.add.at(both, (labels, clusters), times)
    of_labels, of_clusters = (sums[sums > 0] for sums in (both.sum(1), both.sum(0)))
    if len(of_labels) == len(of_clusters) == 1:
        return 1.0
    total = int(times.sum())
    expected = _expected_information(of_labels, of_clusters, total)
    entropies = _entropy(of_labels, total) + _entropy(of_clusters, total)
    shared = max(0.0, entropies - _entropy(both[both > 0], total))
    beyond = entropies / 2 - expected
    least = float(np.finfo(np.float64).eps)
    return (shared - expected) / (min(beyond, -least) if beyond < 0 else max(beyond, least))


def _entropy(counts: np.ndarray, total: int) -> float:
    share = counts / total
    return -float(share @ np.log(share))


def _expected_information(left: np.ndarray, right: np.ndarray, total: int) -> float:
    """Expected mutual information of independent groups of these sizes."""
    from scipy.special import gammaln

    (left, of_left), (right, of_right) = (
        np.unique(sizes, return_counts=True) for sizes in (left, right)
    )
    pairs = np.outer(of_left, of_right).ravel()
    left, right = (grid.ravel() for grid in np.meshgrid(left, right, indexing="ij"))
    # The overlap is hypergeometric: by Bernstein's inequality almost always this near its mean.
    mean = left * right / total
    spread = mean * (1 - left / total) * (1 - right / total) * total / max(total - 1, 1)
    reach = 13 + np.sqrt(160 + 78 * spread)
    first = np.maximum(np.maximum(1, left + right - total), mean - reach).astype(np.int64)
    last = np.minimum(np.minimum(left, right), mean + reach).astype(np.int64)
    sizes = last - first + 1
    pair = np.repeat(np.arange(len(pairs)), sizes)
    overlap = first[pair] + np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    log = gammaln(np.arange(1.0, total + 2))  # of factorials
    ways = log[left] + log[right] + log[total - left] + log[total - right] - log[total]
    left, right = left[pair], right[pair]
    likely = np.exp(
        ways[pair]
        - log[overlap]
        - log[left - overlap]
        - log[right - overlap]
        - log[total - left - right + overlap]
    )
    information = overlap / total * np.log(total * overlap / (left * right))
    return float((pairs[pair] * likely) @ information)
