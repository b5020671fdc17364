"""Smaller vectors: fewer dimensions, fewer bits. Pure functions from vectors to vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Compressed:
    """One way to make vectors smaller.

    Attributes:
        method: `first` (the first dimensions, as in Matryoshka training), `pca`, `int8`, `binary`.
        dim: number of dimensions kept.
        bytes: of one vector.
    """

    method: str
    dim: int
    bytes: float


METHODS = ("first", "pca", "int8", "binary")


def smaller(
    vectors: np.ndarray, sizes: Sequence[int], methods: Sequence[str] = METHODS
) -> Iterator[tuple[Compressed, np.ndarray]]:
    """Compress vectors by some methods to some sizes.

    PCA is fitted once, on these vectors; a size takes the first of its components. Lower precisions
    are applied to the first dimensions.

    Args:
        vectors: float32 (n, d), finite.
        sizes: at most d each.
        methods: some of `METHODS`.
    """
    from theodolite.engine.encoders.steps import binary, fit_int8, fit_pca

    turned, wide = None, vectors.astype(np.float64)
    if len(vectors) > 1 and "pca" in methods:
        turned = fit_pca(wide, vectors.shape[1])(wide)
    for k in sizes:
        first = np.ascontiguousarray(vectors[:, :k])
        if "first" in methods:
            yield Compressed("first", k, 4 * k), first
        if turned is not None and k < vectors.shape[1]:
            yield Compressed("pca", k, 4 * k), np.ascontiguousarray(turned[:, :k], np.float32)
        if "int8" in methods:
            some = np.ascontiguousarray(wide[:, :k])
            yield Compressed("int8", k, k), np.asarray(fit_int8(some)(some), np.float32)
        if "binary" in methods:
            yield Compressed("binary", k, k / 8), np.asarray(binary(first), np.float32)
