"""Smaller vectors: fewer dimensions, fewer bits. Pure functions from vectors to vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

_STEPS = 127


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


def int8(vectors: np.ndarray) -> np.ndarray:
    """Round each dimension to 255 steps, scaled by its largest absolute value: float32 (n, d)."""
    scale = np.abs(vectors).max(axis=0) / _STEPS
    scale[scale == 0.0] = 1.0
    return np.asarray(np.rint(vectors / scale) * scale, np.float32)


def binary(vectors: np.ndarray) -> np.ndarray:
    """Keep the signs alone, 1 or -1: their cosine is 1 - 2 Hamming / d."""
    return np.where(vectors > 0, np.float32(1), np.float32(-1))


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
    from engine.encoders.steps import fit_pca

    turned = None
    if len(vectors) > 1 and "pca" in methods:
        turned = fit_pca(vectors.astype(np.float64), vectors.shape[1])(vectors.astype(np.float64))
    for k in sizes:
        first = np.ascontiguousarray(vectors[:, :k])
        if "first" in methods:
            yield Compressed("first", k, 4 * k), first
        if turned is not None and k < vectors.shape[1]:
            yield Compressed("pca", k, 4 * k), np.ascontiguousarray(turned[:, :k], np.float32)
        if "int8" in methods:
            yield Compressed("int8", k, k), int8(first)
        if "binary" in methods:
            yield Compressed("binary", k, k / 8), binary(first)
