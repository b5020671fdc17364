"""Vectors that cannot be used."""

import numpy as np

from tests.errors import refused
from theodolite.engine.encoders.finite import finite


def test_vectors_without_numbers_are_refused() -> None:
    """The first sentence is named, and how many there are; others pass as they are."""
    vectors = np.ones((4, 3), np.float32)
    assert finite(vectors, list("abcd")) is vectors
    vectors[1, 2], vectors[3, 0] = np.nan, np.inf
    with refused("not-finite", "2 of 4", "'b'"):
        finite(vectors, list("abcd"))
