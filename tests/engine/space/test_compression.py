"""Fewer dimensions and fewer bits, against numbers worked by hand and scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.decomposition import PCA

from theodolite.engine.encoders import load
from theodolite.engine.encoders.cached import MemoryCache
from theodolite.engine.space.compression import smaller


def test_every_method_at_every_size() -> None:
    """PCA is scikit-learn's, but for signs; the first dimensions are the first."""
    vectors = np.random.default_rng(3).standard_normal((50, 8)).astype(np.float32)
    made = {(how.method, how.dim): (how, rows) for how, rows in smaller(vectors, [4, 8])}
    assert set(made) == {
        ("first", 4),
        ("pca", 4),
        ("int8", 4),
        ("binary", 4),
        ("first", 8),
        ("int8", 8),
        ("binary", 8),
    }
    theirs = PCA(4).fit_transform(vectors.astype(np.float64))
    np.testing.assert_allclose(np.abs(made["pca", 4][1]), np.abs(theirs), atol=1e-5)
    np.testing.assert_array_equal(made["first", 4][1], vectors[:, :4])
    assert [made[method, 4][0].bytes for method in ("first", "pca", "int8", "binary")] == [
        16,
        16,
        4,
        0.5,
    ]


def test_steps_of_a_spec_give_the_same_vectors() -> None:
    """What was measured is an encoder with a name: the first dimensions in int8 or binary."""
    texts = [f"word{i} word{i % 7} word{i % 3}" for i in range(40)]
    vectors = load("random:16").encode(texts)
    steps = {"first": "", "int8": " | quantise:int8,mine", "binary": " | quantise:binary"}
    for how, made in smaller(vectors, [4, 16], list(steps)):
        spec = f"random:16 | dims:{how.dim},first{steps[how.method]}"
        encoder = load(spec, cache=MemoryCache(), datasets=lambda name: (texts, "hash"))
        np.testing.assert_array_equal(encoder.encode(texts), made, err_msg=spec)
