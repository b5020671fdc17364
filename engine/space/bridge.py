"""Linear maps from a new embedding space into an old one, so that new queries search an old index.

Pure functions from arrays to arrays; knows neither encoders nor texts. Row i of both spaces is the
same text. Cosines are what counts, so both sides are unit rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from theodolite.engine.search.index import unit_rows
from theodolite.engine.space.compare import products
from theodolite.engine.stats.bootstrap import Sample
from theodolite.engine.stats.gate import gate

RIDGES = (1e-3, 1e-2, 1e-1, 1.0)
"""Penalties that are tried, as multiples of the mean variance of a dimension."""
RANKS = (8, 4, 2)
"""Ranks that are tried: the old dimensions over these."""
_HELD_OUT = 5


@dataclass(frozen=True, eq=False)
class Bridge:
    """An affine map.

    Attributes:
        name: `procrustes`, `ridge` or `low-rank`.
        matrix: float32 (new dim, old dim).
        shift: float32 (old dim,).
        cosine: mean cosine between mapped and old vectors of held-out texts.
    """

    name: str
    matrix: np.ndarray
    shift: np.ndarray
    cosine: float

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """Map vectors of the new space: float32 (n, new dim) to (n, old dim)."""
        return unit_rows(vectors) @ self.matrix + self.shift


def fit(new: np.ndarray, old: np.ndarray) -> list[Bridge]:
    """The best map of each kind, the best of all first.

    Orthogonal Procrustes with one scale (Schönemann 1966), ridge regression, and reduced-rank
    regression (Izenman 1975), which is ridge projected on the leading directions of what it
    predicts. Each is fitted to four fifths of the rows, and chosen by its cosine on the last.

    Args:
        new: (n, new dim).
        old: (n, old dim).
    """
    x, y = unit_rows(new), unit_rows(old)
    last = np.random.default_rng(0).permutation(len(x)) < len(x) // _HELD_OUT
    middles = x[~last].mean(axis=0), y[~last].mean(axis=0)
    best: dict[str, Bridge] = {}
    for name, matrix in _matrices(x[~last], y[~last]):
        shift = (middles[1] - middles[0] @ matrix).astype(np.float32)
        mapped = unit_rows(x[last] @ matrix + shift)
        cosine = float((mapped * y[last]).sum(axis=1).mean())
        if name not in best or cosine > best[name].cosine:
            best[name] = Bridge(name, matrix.astype(np.float32), shift, cosine)
    return sorted(best.values(), key=lambda one: -one.cosine)


def _matrices(x: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    xx, _, xy = products(x, y)
    left, strengths, right = np.linalg.svd(xy, full_matrices=False)
    yield "procrustes", left @ right * (strengths.sum() / max(float(np.trace(xx)), 1e-12))
    for ridge in RIDGES:
        penalty = ridge * np.trace(xx) / len(xx) + 1e-12
        matrix = np.linalg.solve(xx + penalty * np.eye(len(xx)), xy)
        yield "ridge", matrix
        _, directions = np.linalg.eigh(matrix.T @ xx @ matrix)
        for part in RANKS:
            leading = directions[:, -max(1, len(directions) // part) :]
            yield "low-rank", matrix @ leading @ leading.T


def verdict(
    keep: np.ndarray, bridged: np.ndarray, again: np.ndarray, least: float
) -> Literal["keep", "bridge", "re-encode"]:
    """The cheapest of three that is not significantly worse than encoding everything again.

    Args:
        keep: quality of each query with the old encoder, from 0 to 1: float (n,).
        bridged: of the new encoder's queries, mapped, in the old index.
        again: of the new encoder in an index of its own.
        least: smallest difference that counts, in points.
    """
    for name, one in (("keep", keep), ("bridge", bridged)):
        (outcome,) = gate([(Sample(again), Sample(one))], least)
        if outcome.verdict != "worse":
            return name  # type: ignore[return-value]
    return "re-encode"
