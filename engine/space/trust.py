"""How far a projection can be trusted: how well it preserves neighbourhoods."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.engine.search.index import unit_rows
from theodolite.engine.space import geometry
from theodolite.engine.threads import usable_threads

_BLOCK_CELLS = 500_000
"""Distances ranked at once by each thread, so that they fit the processor's cache."""
_PRODUCT_CELLS = 8 * _BLOCK_CELLS
"""Cosines computed at once by each thread: with fewer rows, BLAS waits for memory."""


@dataclass(frozen=True, eq=False)
class Trust:
    """How well a plane keeps the neighbourhoods of the full space, point by point.

    Attributes:
        looked_at: int64 (m,) positions of the points measured; a sample if there are many.
        trustworthiness: float64 (m,), 1 where no near point of the plane is far in the full space.
        continuity: float64 (m,), 1 where no near point of the full space is far on the plane.
        recall: float64 (m,), share of the k nearest that are among the k nearest on the plane.
    """

    looked_at: np.ndarray
    trustworthiness: np.ndarray
    continuity: np.ndarray
    recall: np.ndarray


def trust(
    vectors: np.ndarray,
    points: np.ndarray,
    k: int = 15,
    *,
    sample: int = 2000,
    tick: ProgressCallback = nobody,
) -> Trust:
    """Measure trustworthiness and continuity (Venna, Kaski 2001) and neighbour recall by point.

    The mean of a point's values over all points is the figure usually given. Above `sample`
    points, a fixed random sample of them is measured, against all the others.

    Args:
        vectors: (n, dim).
        points: (n, 2).
        k: neighbours; must be below n / 2.
        sample: most points measured.
        tick: called with the share done.

    Raises:
        ValueError: k is not below n / 2.
    """
    n = len(vectors)
    if not 1 <= k < n / 2:
        raise ValueError(f"expected 1 <= k < n / 2, got k = {k} and n = {n}")
    rows, plane = unit_rows(vectors), np.asarray(points, np.float32)
    looked_at = geometry.sample(n, sample)
    worst = k * (2 * n - 3 * k - 1) / 2

    def ranked(own: np.ndarray, cosines: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        full = _keys(-cosines, own)
        flat = _keys(_squared_distances(plane[own], plane), own)
        by_full, by_flat = np.sort(full, axis=1), np.sort(flat, axis=1)
        intruders = _ranks(by_full, full, _columns(by_flat[:, :k])) - k
        lost = _ranks(by_flat, flat, _columns(by_full[:, :k])) - k
        near, whole = (1 - np.maximum(far, 0).sum(axis=1) / worst for far in (intruders, lost))
        return near, whole, (intruders <= 0).mean(axis=1)

    def measured(own: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        cosines = rows[own] @ rows.T
        return [ranked(own[part], cosines[part]) for part in _slices(len(own), _BLOCK_CELLS // n)]

    owns = [looked_at[part] for part in _slices(len(looked_at), _PRODUCT_CELLS // n)]
    results: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    with ThreadPoolExecutor(usable_threads()) as pool:
        for done, values in enumerate(pool.map(measured, owns), 1):
            results += values
            tick(done / len(owns))
    near, whole, overlap = (np.concatenate(parts) for parts in zip(*results, strict=True))
    return Trust(looked_at, near, whole, overlap)


def _slices(n: int, size: int) -> list[slice]:
    """Slices of at most `size`, at least 1, that cover n."""
    size = max(1, size)
    return [slice(start, start + size) for start in range(0, n, size)]


def _keys(distances: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Sort keys of each row: uint64, the distance in the high bits and the column in the low ones.

    All keys are distinct, so that ties go by column; a row's own point comes last.
    """
    distances += np.float32(0)  # -0 is 0
    distances[np.arange(len(own)), own] = np.inf
    bits = distances.view(np.uint32)
    bits ^= np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(1 << 31))  # order of floats
    keys = bits.astype(np.uint64)
    keys <<= 32
    keys |= np.arange(distances.shape[1], dtype=np.uint64)
    return keys


def _columns(keys: np.ndarray) -> np.ndarray:
    """The columns of some keys, int64 of the same shape."""
    return keys.astype(np.uint32).astype(np.int64)


def _ranks(ordered: np.ndarray, keys: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Ranks of some columns of each row, 1 for the nearest, by the sorted keys of the row."""
    picked = np.take_along_axis(keys, columns, axis=1)
    rows = zip(ordered, picked, strict=True)
    return 1 + np.stack([np.searchsorted(row, some) for row, some in rows])


def _squared_distances(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return ((a[:, None, 0] - b[None, :, 0]) ** 2 + (a[:, None, 1] - b[None, :, 1]) ** 2).astype(
        np.float32
    )
