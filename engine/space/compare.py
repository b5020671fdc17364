"""Compares two embedding spaces of the same sentences in all dimensions, not on a projection.

Neighbourhoods point by point, whole spaces by linear CKA and by the Procrustes residual.
Pure functions from arrays to arrays; knows neither encoders nor sentences. The two spaces may have
different dimensions; row i of both is the same sentence. n x n is never formed.
"""

from dataclasses import dataclass

import numpy as np

from theodolite.engine.progress import Progress, ProgressCallback
from theodolite.engine.search.index import neighbours_of_each, unit_rows
from theodolite.engine.space import geometry

PERSISTENCE = 0.9
"""p of rank-biased overlap: the first ten ranks carry 86 % of the weight."""
SAMPLE = 20_000
_ROWS = 4096
_CELLS = 16_000_000


@dataclass(frozen=True, eq=False)
class Change:
    """How much the neighbourhood of each point differs between two spaces.

    Attributes:
        looked_at: int64 (m,) positions of the points measured, rising; a sample if there are many.
        first: int64 (m, k), the k nearest in the first space, nearest first.
        second: int64 (m, k), the same in the second space.
        jaccard: float64 (m,), shared neighbours over those of either space; 1 is unchanged.
        overlap: float64 (m,), rank-biased overlap; 1 is the same neighbours in the same order.
        gap: float64 (m,), how much less similar the other space's neighbours are than a point's
            own: mean cosine of its own minus that of the others, in standard deviations of the
            cosines of random pairs, averaged over both spaces. Ranks points that share no
            neighbour.
    """

    looked_at: np.ndarray
    first: np.ndarray
    second: np.ndarray
    jaccard: np.ndarray
    overlap: np.ndarray
    gap: np.ndarray

    @property
    def k(self) -> int:
        """Neighbours compared."""
        return int(self.first.shape[1])

    def most(self, count: int) -> np.ndarray:
        """Return rows of the points that changed most, most first: int64 (min(count, m),).

        By rank-biased overlap; ties, as among points that share no neighbour, by `gap`, then by
        position.
        """
        return np.lexsort((self.looked_at, -self.gap, self.overlap))[:count]


def change(
    first: np.ndarray,
    second: np.ndarray,
    k: int = 10,
    *,
    sample: int = SAMPLE,
    tick: ProgressCallback | None = None,
) -> Change:
    """Compare the k nearest neighbours by cosine of every point in two spaces.

    A point is not its own neighbour. Above `sample` points a fixed random sample of them is
    measured, each against all the others.

    Args:
        first: (n, dim), finite.
        second: (n, other dim), finite.
        k: neighbours, from 1 to n - 1.
        sample: most points measured.
        tick: called with the share done.

    Raises:
        ValueError: different numbers of rows, or k out of range.
    """
    n = len(first)
    if len(second) != n:
        raise ValueError(f"expected the same sentences in both spaces, got {n} and {len(second)}")
    if not 1 <= k < n:
        raise ValueError(f"expected 1 <= k < n, got k = {k} and n = {n}")
    looked_at = geometry.sample(n, sample)

    def moved(before: float) -> Progress | None:
        return tick and (lambda done, of: tick(before + done / of / 2))

    _, near = neighbours_of_each(first, k, None, moved(0.0), looked_at)
    _, other = neighbours_of_each(second, k, None, moved(0.5), looked_at)
    gap = (_gap(first, looked_at, near, other) + _gap(second, looked_at, other, near)) / 2
    return Change(
        looked_at, near, other, jaccard(near, other), rank_biased_overlap(near, other), gap
    )


def _gap(
    vectors: np.ndarray, looked_at: np.ndarray, own: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """How much less similar `others` are than a point's own neighbours; see `Change.gap`."""
    spread = float(np.std(geometry.sample_pair_cosines(vectors))) or 1.0
    rows, k = unit_rows(vectors), own.shape[1]
    gap = np.empty(len(looked_at))
    block = max(1, _CELLS // (k * rows.shape[1]))
    for start in range(0, len(gap), block):
        part = slice(start, start + block)
        points = rows[looked_at[part]]
        means = [np.einsum("md,mkd->m", points, rows[ids[part]]) / k for ids in (own, others)]
        gap[part] = (means[0] - means[1]) / spread
    return gap


def jaccard(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Jaccard similarity of two sets in each row: shared members over members of either.

    Args:
        first: int (m, k), no number twice in a row.
        second: int (m, k), likewise.

    Returns:
        float64 (m,), from 0 to 1.
    """
    shared = _count_shared(first, second).sum(axis=1)
    return shared / (2 * first.shape[1] - shared)


def rank_biased_overlap(
    first: np.ndarray, second: np.ndarray, persistence: float = PERSISTENCE
) -> np.ndarray:
    """Similarity of two rankings in each row that weighs early ranks most, extrapolated at depth k.

    With X_d members shared by the first d of both: (X_k / k) p^k + (1 - p) / p * sum of
    (X_d / d) p^d over d from 1 to k. By the extrapolation, equal rankings of any length have 1.

    Args:
        first: int (m, k), ranked, no number twice in a row.
        second: int (m, k), likewise.
        persistence: p, between 0 and 1.

    Returns:
        float64 (m,), from 0 to 1.

    Source: Webber, Moffat, Zobel 2010, there RBO_EXT, for two lists of equal length.
    """
    if not 0 < persistence < 1:
        raise ValueError(f"expected a persistence between 0 and 1, got {persistence}")
    depths = np.arange(1, first.shape[1] + 1)
    agreement = np.cumsum(_count_shared(first, second), axis=1) / depths
    weights = (1 - persistence) * persistence ** (depths - 1)
    return agreement @ weights + agreement[:, -1] * persistence ** depths[-1]


def _count_shared(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Number of members that become shared at each depth 1 … k: int64 (m, k)."""
    m, k = first.shape
    ranks = np.arange(k)
    deeper = np.maximum(ranks[:, None], ranks[None, :]).ravel()
    counts = np.zeros((m, k), np.int64)
    block = max(1, _CELLS // (k * k))
    for start in range(0, m, block):
        part = slice(start, start + block)
        same = (first[part, :, None] == second[part, None, :]).reshape(-1, k * k)
        rows, cells = np.nonzero(same)
        np.add.at(counts[part], (rows, deeper[cells]), 1)
    return counts


def products(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X'X, Y'Y and X'Y of centred columns, float64, summed block by block."""
    means = [x.mean(axis=0, dtype=np.float64) for x in (first, second)]
    dims = [x.shape[1] for x in (first, second)]
    xx, yy, xy = (np.zeros(s) for s in ((dims[0],) * 2, (dims[1],) * 2, tuple(dims)))
    for start in range(0, len(first), _ROWS):
        x, y = (v[start : start + _ROWS] - m for v, m in zip((first, second), means, strict=True))
        xx += x.T @ x
        yy += y.T @ y
        xy += x.T @ y
    return xx, yy, xy


def linear_cka(xx: np.ndarray, yy: np.ndarray, xy: np.ndarray) -> float:
    """Linear centred kernel alignment: 1 for spaces that differ by a rotation and a scale.

    From `products`: |Y'X|^2 / (|X'X| |Y'Y|) in Frobenius norms, in memory dim^2. With fewer
    sentences than dimensions it is high even by chance: see `shuffle`.

    Returns:
        From 0 to 1; NaN when all rows of a space are the same.

    Source: Kornblith, Norouzi, Lee, Hinton 2019, section 3.
    """
    norms = np.linalg.norm(xx) * np.linalg.norm(yy)
    return float(np.linalg.norm(xy) ** 2 / norms) if norms > 0 else float("nan")


def procrustes_residual(xx: np.ndarray, yy: np.ndarray, xy: np.ndarray) -> float:
    """Squared distance between two spaces after the best rotation or reflection of one.

    From `products`: both are scaled to Frobenius norm 1, the smaller dimension is padded with
    zeros. The least squared distance is then 2 - 2 |X'Y| in nuclear norm.

    Returns:
        From 0 (the same up to a rotation) to 2; NaN when all rows of a space are the same.

    Source: Schönemann 1966; as a distance of representations Ding, Denain, Steinhardt 2021.
    """
    sizes = np.sqrt(np.trace(xx) * np.trace(yy))
    if sizes == 0:
        return float("nan")
    shared = np.linalg.svd(xy, compute_uv=False).sum() / sizes
    return float(max(0.0, 2 - 2 * shared))


def figures(first: np.ndarray, second: np.ndarray, change: Change) -> dict[str, float]:
    """Two spaces in four numbers. Whole spaces are compared on unit rows, as by cosines.

    Args:
        first: (n, dim).
        second: (n, other dim).
        change: the result of `change` for them.

    Returns:
        `jaccard` and `overlap` (rank-biased), means over the points, and `cka`, linear: 1 is
        unchanged; `residual`, of Procrustes: 0 is unchanged.
    """
    both = products(unit_rows(first), unit_rows(second))
    return {
        "jaccard": float(change.jaccard.mean()),
        "overlap": float(change.overlap.mean()),
        "cka": linear_cka(*both),
        "residual": procrustes_residual(*both),
    }


def twins(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project one space at random twice: the noise floor of an encoder without a seed of its own.

    Two random projections to the same number of dimensions, the step `dims:DIM,random` with seeds 0
    and 1. Both keep every cosine up to the noise of a random projection, so differences between
    them are not differences between encoders. Another training run may differ by more.

    Args:
        vectors: (n, dim), finite.

    Returns:
        Two of float32 (n, dim).

    Source: Johnson, Lindenstrauss 1984.
    """
    dim = vectors.shape[1]
    first, second = (
        (np.random.default_rng(seed).standard_normal((dim, dim)) / np.sqrt(dim)).astype(np.float32)
        for seed in (0, 1)
    )
    return vectors @ first, vectors @ second


def shuffle(vectors: np.ndarray, seed: int = 0) -> np.ndarray:
    """Permute the rows, to see how two spaces that share nothing compare."""
    return vectors[np.random.default_rng(seed).permutation(len(vectors))]
