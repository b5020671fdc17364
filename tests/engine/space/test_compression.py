"""Fewer dimensions and fewer bits, against numbers worked by hand and scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA

from engine.space.compression import binary, int8, smaller


def test_int8_by_hand() -> None:
    """The largest of a column is 127 steps: of 2.54 a step is 0.02, so 1.03 becomes 52 steps."""
    vectors = np.array([[2.54, 0.0], [1.03, 0.0]], np.float32)
    np.testing.assert_allclose(int8(vectors), [[2.54, 0.0], [1.04, 0.0]], rtol=1e-6)


def test_binary_keeps_signs() -> None:
    """Their cosine is 1 - 2 Hamming / d: two of four signs differ, so it is 0."""
    signs = binary(np.array([[0.1, -2.0, 3.0, 0.0], [1.0, 1.0, -1.0, -5.0]], np.float32))
    assert signs.tolist() == [[1, -1, 1, -1], [1, 1, -1, -1]]
    assert float(signs[0] @ signs[1]) / 4 == 1 - 2 * 2 / 4


def test_every_method_at_every_size() -> None:
    """PCA is scikit-learn's, but for signs; the first dimensions are the first."""
    vectors = np.random.default_rng(3).standard_normal((50, 8)).astype(np.float32)
    made = {(how.method, how.dim): (how, rows) for how, rows in smaller(vectors, [4, 8])}
    assert set(made) == {("first", 4), ("pca", 4), ("int8", 4), ("binary", 4),
                         ("first", 8), ("int8", 8), ("binary", 8)}  # fmt: skip
    theirs = PCA(4).fit_transform(vectors.astype(np.float64))
    np.testing.assert_allclose(np.abs(made["pca", 4][1]), np.abs(theirs), atol=1e-5)
    np.testing.assert_array_equal(made["first", 4][1], vectors[:, :4])
    assert [made[method, 4][0].bytes for method in ("first", "pca", "int8", "binary")] == [
        16, 16, 4, 0.5,
    ]  # fmt: skip
