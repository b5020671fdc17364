"""Clusters in an embedding space, their agreement with labels, and their flow between spaces.

k-means and HDBSCAN of scikit-learn, on unit rows, so that distances agree with cosines. Pure
functions from arrays to arrays; knows neither encoders nor sentences.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from theodolite.engine.search.index import Index, unit_rows
from theodolite.engine.space.geometry import sample

Method = Literal["k-means", "hdbscan"]
NOISE = -1
"""Label of points that HDBSCAN puts into no group."""

FITTED = 50_000
DENSITY_FITTED = 10_000
"""Most points clustered by HDBSCAN, which takes quadratic time; the others join their nearest."""
DENSITY_DIMS = 15
"""Principal components given to HDBSCAN: in many dimensions density means little."""


@dataclass(frozen=True, eq=False)
class Clusters:
    """A division of points into groups.

    Attributes:
        of: int32 (n,), group of each point, the largest group 0; -1 for none.
        sizes: int64 (k,).
        how: description for people: method, parameters, reduction and sampling.
    """

    of: np.ndarray
    sizes: np.ndarray
    how: str

    @property
    def noise(self) -> int:
        """Number of points in no group."""
        return len(self.of) - int(self.sizes.sum())


def cluster(
    vectors: np.ndarray, method: Method = "k-means", size: int | None = None, seed: int = 0
) -> Clusters:
    """Cluster points into groups.

    Args:
        vectors: (n, dim), finite, n of at least 1.
        method: `k-means` or `hdbscan`.
        size: number of groups for k-means, least points of a group for HDBSCAN; None is `usual`.
            There are at most as many groups as distinct points.
        seed: of k-means and of samples.
    """
    size = usual(method, len(vectors)) if size is None else size
    return (_kmeans if method == "k-means" else _hdbscan)(unit_rows(vectors), size, seed)


def usual(method: Method, n: int) -> int:
    """Default size: sqrt(n / 2) groups, at most 20, for k-means; 1 % of n points for HDBSCAN."""
    return int(np.clip(round(np.sqrt(n / 2)), 2, 20)) if method == "k-means" else max(5, n // 100)


def _kmeans(rows: np.ndarray, k: int, seed: int) -> Clusters:
    from sklearn.cluster import KMeans

    fitted = rows[sample(len(rows), FITTED, seed)]
    k = min(k, len(np.unique(fitted, axis=0)))
    model = KMeans(k, n_init=4, random_state=seed).fit(fitted)
    how = f"k-means with {k} groups on unit vectors"
    if len(fitted) < len(rows):
        how += f", fitted on {FITTED:,} of {len(rows):,}"
    return Clusters(*number_groups(model.predict(rows)), how)


def _hdbscan(rows: np.ndarray, least: int, seed: int) -> Clusters:
    """HDBSCAN of principal components; points outside the sample join their nearest in it.

    Source: Campello, Moulavi, Sander 2013.
    """
    from sklearn.cluster import HDBSCAN
    from sklearn.decomposition import PCA

    fitted = sample(len(rows), DENSITY_FITTED, seed)
    known = rows[fitted]
    how = f"HDBSCAN with at least {least} points a group, on unit vectors"
    if len(known) < least:
        return Clusters(*number_groups(np.full(len(rows), NOISE)), how)
    dims = min(DENSITY_DIMS, *known.shape)
    points = known
    if dims < known.shape[1]:
        points = PCA(dims, random_state=seed).fit_transform(known)
        how += f" reduced to {dims} principal components"
    labels = HDBSCAN(min_cluster_size=least, copy=True).fit_predict(points)
    if len(known) < len(rows):
        _, nearest = Index(known).search(rows, 1)
        labels = labels[nearest[:, 0]]
        how += f"; {len(known):,} of {len(rows):,} points, the others join their nearest"
    return Clusters(*number_groups(labels), how)


def number_groups(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Renumber groups by size, the largest 0; negative numbers stay noise.

    Returns:
        int32 (n,), the new number of each point's group, and the groups' sizes in that order.
    """
    inside = labels >= 0
    numbers, sizes = np.unique(labels[inside], return_counts=True)
    order = np.argsort(-sizes, kind="stable")
    place = np.empty(len(numbers), np.int32)
    place[order] = np.arange(len(numbers), dtype=np.int32)
    of = np.full(len(labels), NOISE, np.int32)
    of[inside] = place[np.searchsorted(numbers, labels[inside])]
    return of, sizes[order]


def agreement(labels: np.ndarray, clusters: np.ndarray) -> dict[str, float]:
    """Compare groups to labels, or to other groups: every figure is symmetric.

    Noise counts as one more group.

    Args:
        labels: (n,), of any type.
        clusters: int (n,).

    Returns:
        `v_measure`, harmonic mean of homogeneity and completeness (Rosenberg, Hirschberg 2007), the
        same as normalised mutual information with the arithmetic mean, from 0 to 1; `ami`, mutual
        information adjusted for chance (Vinh, Epps, Bailey 2010), about 0 by chance; `ari`, Rand
        index adjusted for chance (Hubert, Arabie 1985), about 0 by chance.

    Source: scikit-learn's `v_measure_score`, `adjusted_mutual_info_score`, `adjusted_rand_score`.
    """
    from sklearn import metrics

    return {
        "v_measure": float(metrics.v_measure_score(labels, clusters)),
        "ami": float(metrics.adjusted_mutual_info_score(labels, clusters)),
        "ari": float(metrics.adjusted_rand_score(labels, clusters)),
    }


@dataclass(frozen=True, eq=False)
class Flow:
    """How the groups of one clustering map to those of another.

    Attributes:
        counts: int64 (k, l), points in group i before and group j after; noise is the last row and
            column where there is any.
        pairs: of groups other than noise, matched to share as many points as possible.
        kept: number of points shared by matched groups.
    """

    counts: np.ndarray
    pairs: tuple[tuple[int, int], ...]
    kept: int


def flow(first: Clusters, second: Clusters) -> Flow:
    """Match the groups of two clusterings of the same points, one to one, by the points they share.

    Groups that share nothing are not matched. With different numbers of groups some stay unmatched.

    Source: Kuhn 1955, as SciPy's `linear_sum_assignment`.
    """
    from scipy.optimize import linear_sum_assignment

    k, other = len(first.sizes), len(second.sizes)
    shape = (k + (first.noise > 0), other + (second.noise > 0))
    counts = np.zeros(shape, np.int64)
    rows = np.where(first.of < 0, k, first.of)
    columns = np.where(second.of < 0, other, second.of)
    np.add.at(counts, (rows, columns), 1)
    groups = counts[:k, :other]
    matching = zip(*linear_sum_assignment(groups, maximize=True), strict=True)
    pairs = tuple((int(i), int(j)) for i, j in matching if groups[i, j])
    return Flow(counts, pairs, int(sum(groups[i, j] for i, j in pairs)))


def renumber(first: Clusters, second: Clusters) -> Clusters:
    """Renumber the second clustering with the numbers of the first where groups are matched.

    A group of the first without a match has size 0. Unmatched groups of the second follow with new
    numbers, the largest first.
    """
    number = {j: i for i, j in flow(first, second).pairs}
    rest = (j for j in range(len(second.sizes)) if j not in number)
    number |= {j: at for at, j in enumerate(rest, len(first.sizes))}
    table = np.full(len(second.sizes) + 1, NOISE, np.int32)  # index -1, the last, is for noise
    sizes = np.zeros(max(number.values(), default=-1) + 1, np.int64)
    for j, i in number.items():
        table[j], sizes[i] = i, second.sizes[j]
    return Clusters(table[second.of], sizes, second.how)
