"""Cosines, alignment, uniformity, random pairs, groups and densities against other code."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.spatial import distance
from scipy.stats import gaussian_kde

from theodolite.engine.space import geometry

RNG = np.random.default_rng(7)
VECTORS = RNG.normal(size=(300, 12)) + 0.5


def test_cosine_is_that_of_scipy() -> None:
    """Row by row, 1 - scipy's cosine distance."""
    left, right = VECTORS[:150], VECTORS[150:]
    expected = [1 - distance.cosine(u, v) for u, v in zip(left, right, strict=True)]
    np.testing.assert_allclose(geometry.cosine(left, right), expected, atol=1e-12)


def test_rows_equal_up_to_float32_have_cosine_exactly_one() -> None:
    """So that such pairs are tied, whatever the length of the vector."""
    rows = RNG.normal(size=(5000, 37)).astype(np.float32) * np.float32(1e-3)
    assert (geometry.cosine(rows, rows.copy()) == 1.0).all()
    assert (geometry.cosine(rows, np.nextafter(rows, np.float32(1))) == 1.0).all()


def test_cosines_of_a_narrow_cone_still_differ() -> None:
    """Directions within a thousandth of each other, as an untrained transformer gives them."""
    rows = (1 + 1e-3 * RNG.normal(size=(2000, 37))).astype(np.float32)
    assert len(np.unique(geometry.cosine(rows[:1000], rows[1000:]))) > 990


def test_a_zero_vector_has_cosine_zero() -> None:
    """As SentEval's nan_to_num gives."""
    assert geometry.cosine(np.zeros((1, 3)), np.ones((1, 3))).tolist() == [0.0]


def test_alignment_by_hand() -> None:
    """Right angle: squared distance 2; same direction: 0; opposite: 4."""
    left = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.0]])
    right = np.array([[0.0, 5.0], [0.0, 0.1], [-7.0, 0.0]])
    assert geometry.alignment(left, right) == pytest.approx((2 + 0 + 4) / 3)


def test_uniformity_by_hand() -> None:
    """Three points: distances squared 2, 4 and 2."""
    points = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    expected = math.log((math.exp(-4) + math.exp(-8) + math.exp(-4)) / 3)
    assert geometry.uniformity(points) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [2, 300, 4500])
def test_uniformity_is_that_of_torch_pdist(n: int) -> None:
    """The formula of Wang and Isola with torch.pdist; 4,500 rows span several blocks."""
    rows = np.random.default_rng(n).normal(size=(n, 6)) + 0.3
    unit = torch.nn.functional.normalize(torch.from_numpy(rows), dim=1)
    expected = torch.pdist(unit).pow(2).mul(-2).exp().mean().log().item()
    assert geometry.uniformity(rows) == pytest.approx(expected, rel=1e-10)


def test_uniformity_with_a_zero_row() -> None:
    """A zero row stays at the origin, at distance 1 from every other."""
    rows = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    expected = math.log((2 * math.exp(-2) + math.exp(-4)) / 3)
    assert geometry.uniformity(rows) == pytest.approx(expected, rel=1e-12)


def test_random_pairs_are_all_pairs() -> None:
    """Mean and deviation over every pair, as scipy's pdist enumerates them, over several blocks."""
    vectors = np.random.default_rng(1).normal(size=(2500, 12)) + 0.5
    cosines = 1 - distance.pdist(vectors, "cosine")
    found = geometry.random_pairs(vectors)
    assert found.mean == pytest.approx(cosines.mean(), abs=1e-12)
    assert found.std == pytest.approx(cosines.std(), abs=1e-9)
    assert found.n == len(vectors)


def test_sampled_pairs_agree_with_all_pairs() -> None:
    """Never a row with itself, and the mean within five standard errors."""
    found, exact = geometry.sample_pair_cosines(VECTORS, 20_000), geometry.random_pairs(VECTORS)
    assert found.max() < 1.0
    assert abs(found.mean() - exact.mean) < 5 * exact.std / math.sqrt(20_000)


@pytest.mark.parametrize("function", [geometry.uniformity, geometry.random_pairs])
def test_one_vector_has_no_pairs(function: object) -> None:
    """A single row is refused."""
    with pytest.raises(ValueError, match="at least 2"):
        function(np.ones((1, 3)))  # type: ignore[operator]


def test_gold_groups_of_figure_4() -> None:
    """Five groups; a border opens the upper one, the top belongs to the last."""
    groups = geometry.gold_groups(np.array([0.0, 0.99, 1.0, 2.5, 3.0, 4.0, 5.0]))
    assert groups.labels == ("0–1", "1–2", "2–3", "3–4", "4–5")
    assert groups.index.tolist() == [0, 0, 1, 2, 3, 4, 4]
    assert geometry.gold_groups(np.array([1.0, 5.0]), (1.0, 5.0)).labels[0] == "1–1.8"


def test_the_histogram_counts_every_pair_once() -> None:
    """Also cosines of exactly -1 and 1."""
    cosines = np.array([-1.0, 0.0, 0.5, 1.0])
    found = geometry.histogram(cosines, geometry.gold_groups(np.array([0.0, 5.0, 5.0, 2.0])))
    assert np.sum(found["counts"]) == 4
    assert [sum(group) for group in found["counts"]] == [1, 0, 1, 0, 2]  # type: ignore[attr-defined]


@pytest.mark.parametrize("n", [2, 50, 5000])
def test_density_is_that_of_scipy(n: int) -> None:
    """Gaussian kernels with Scott's bandwidth, to one per cent of the peak."""
    values = np.random.default_rng(n).normal(0.3, 0.2, size=n)
    grid = np.linspace(-1, 1.5, 400)
    expected = gaussian_kde(values)(grid)
    found = geometry.density(values, grid)
    np.testing.assert_allclose(found, expected, atol=0.01 * expected.max())


def test_density_of_equal_values_and_of_none() -> None:
    """A spike that still integrates to one; zeros for nothing."""
    grid = np.linspace(-1, 1, 201)
    assert np.trapezoid(geometry.density(np.full(10, 0.25), grid), grid) == pytest.approx(
        1, abs=0.01
    )
    assert not geometry.density(np.array([]), grid).any()
