"""Vectors that hold no numbers are refused before anything is made of them."""

from __future__ import annotations

import numpy as np
import pytest

from theodolite.app.finite import finite
from theodolite.engine.errors import UserError


def test_the_first_sentence_without_numbers_is_named() -> None:
    """And how many there are."""
    vectors = np.ones((4, 3), np.float32)
    vectors[1, 2], vectors[3, 0] = np.nan, np.inf
    with pytest.raises(UserError, match=r"2 of 4 vectors .* for the sentence 'b'"):
        finite(vectors, list("abcd"))


def test_numbers_pass_as_they_are() -> None:
    """The same array comes back."""
    vectors = np.ones((2, 3), np.float32)
    assert finite(vectors, ["a", "b"]) is vectors
