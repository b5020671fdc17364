"""Agreement of judges."""

import numpy as np
import pytest

from theodolite.engine.stats.krippendorff import alpha

_ = np.nan
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
)
"""Krippendorff 2011, section C: four observers, twelve units, some not seen by all."""


def test_the_published_example() -> None:
    """He works out 0.743 for nominal data."""
    assert alpha(PUBLISHED) == pytest.approx(0.743, abs=5e-4)


def test_the_published_example_of_two_judges() -> None:
    """Section A, ten units and binary marks: 0.095."""
    pair = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], float)
    assert alpha(pair) == pytest.approx(0.095, abs=5e-4)


def test_the_ends() -> None:
    """Always the same is 1, the opposite is below 0, and one answer throughout says nothing."""
    marks = np.array([[0.0, 1, 0, 1], [0, 1, 0, 1]])
    assert alpha(marks) == 1.0
    assert alpha(np.stack([marks[0], 1 - marks[0]])) < 0
    assert np.isnan(alpha(np.ones((2, 5))))
    assert np.isnan(alpha(np.array([[1.0, _], [_, 0.0]])))
    assert np.isnan(alpha(np.empty((2, 0))))
