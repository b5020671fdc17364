"""Singular values, effective rank, IsoScore and hubness against other code and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.neighbors import NearestNeighbors

from theodolite.engine import load
from theodolite.engine.datasets import Catalog
from theodolite.engine.search.index import neighbours_of_each
from theodolite.engine.space import geometry, isotropy

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("shape", [(9000, 7), (5, 12), (1, 3)])
def test_singular_values_are_those_of_numpy(shape: tuple[int, int]) -> None:
    """Of the whole matrix, though it is taken in blocks of 8,192 rows."""
    vectors = RNG.normal(size=shape) + 0.4
    expected = np.linalg.svd(vectors, compute_uv=False)
    np.testing.assert_allclose(isotropy.singular_values(vectors), expected, rtol=1e-10)


def test_effective_rank_by_hand() -> None:
    """With k equal values: k. One value: 1. Shares 1/2, 1/4, 1/4: 2 ** 1.5."""
    assert isotropy.effective_rank(np.array([3.0, 3.0, 3.0, 3.0, 0.0])) == pytest.approx(4.0)
    assert isotropy.effective_rank(np.array([2.0, 0.0])) == pytest.approx(1.0)
    assert isotropy.effective_rank(np.array([2.0, 1.0, 1.0])) == pytest.approx(2**1.5)
    assert isotropy.effective_rank(np.zeros(3)) == 0.0


def test_isoscore_of_an_even_cloud_is_one() -> None:
    """Both ends of every axis: the covariance is a multiple of the identity, wherever the mean."""
    axes = np.eye(5)
    assert isotropy.isoscore(np.concatenate([axes, -axes]) + 7.0) == pytest.approx(1.0)


def test_isoscore_of_one_direction_is_zero() -> None:
    """A line, turned anyhow."""
    line = np.outer(np.arange(10.0), RNG.normal(size=6))
    assert isotropy.isoscore(line) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("used", [1, 2, 3, 4])
def test_isoscore_counts_the_directions_used(used: int) -> None:
    """Using k of n directions evenly gives (k - 1) / (n - 1), worked by hand from algorithm 1."""
    axes = np.eye(4)[:used]
    rotation = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
    cloud = np.concatenate([axes, -axes]) @ rotation
    assert isotropy.isoscore(cloud) == pytest.approx((used - 1) / 3, abs=1e-9)


def test_isoscore_needs_a_spread() -> None:
    """One vector, one dimension, or all the same."""
    for vectors in (np.ones((1, 3)), np.ones((5, 1)), np.ones((5, 3))):
        with pytest.raises(ValueError, match="IsoScore"):
            isotropy.isoscore(vectors)


def test_hubness_is_the_skew_of_brute_force_counts() -> None:
    """By scipy's skew of how often scikit-learn finds each among the ten nearest."""
    vectors = RNG.normal(size=(400, 30)) + 0.3
    near = NearestNeighbors(n_neighbors=10, metric="cosine").fit(vectors).kneighbors()[1]
    counts = [int((near == i).sum()) for i in range(400)]
    found = isotropy.hubness(neighbours_of_each(vectors, 10)[1])
    assert found.counts.tolist() == counts
    assert found.skew == pytest.approx(stats.skew(counts), rel=1e-12)
    assert found.never == pytest.approx(counts.count(0) / 400)


def test_no_hubs_where_all_are_alike() -> None:
    """A ring: everybody is somebody's neighbour equally often."""
    ring = np.stack([np.roll(np.arange(6), 1), np.roll(np.arange(6), -1)], axis=1)
    assert isotropy.hubness(ring).skew == 0.0


@pytest.mark.data
@pytest.mark.parametrize("split", ["test", "all"])
def test_the_golden_figures_of_sts_b(data_root: Path, golden: Path, split: str) -> None:
    """Alignment, uniformity and singular values of the static encoder, to 1e-6 relative.

    `all` is the whole STS-B: 148,876,140 pairs.
    """
    record = json.loads((golden / "senteval_wordllama256.json").read_text("utf-8"))
    expected = record["alignment_uniformity_stsb"][split]
    parts = Catalog(data_root).load("STSBenchmark").parts  # type: ignore[union-attr]
    chosen = list(parts.values()) if split == "all" else [parts[split]]
    encoder = load("wordllama")
    left = encoder.encode([s for part in chosen for s in part.left])
    right = encoder.encode([s for part in chosen for s in part.right])
    gold = np.concatenate([part.gold for part in chosen])
    vectors = np.concatenate([left, right])
    for rows, name in ((gold > 4, "gt4"), (gold >= 4, "ge4")):
        assert int(rows.sum()) == expected[f"n_pairs_{name}"]
        aligned = geometry.alignment(left[rows], right[rows])
        assert aligned == pytest.approx(expected[f"alignment_{name}"], rel=1e-6)
    assert len(vectors) == expected["n_sentences"]
    even = geometry.uniformity(vectors)
    assert even == pytest.approx(expected["uniformity_all_sentences"], rel=1e-6)
    singular = isotropy.singular_values(vectors)
    np.testing.assert_allclose(
        singular[:10] / singular[0], expected["singular_values_raw_normalised_first10"], rtol=1e-6
    )


def test_uniformity_tells_how_far_it_is() -> None:
    """The last word is that all is done, and no step goes back."""
    progress: list[tuple[int, int]] = []
    vectors = RNG.normal(size=(5000, 3))
    geometry.uniformity(vectors, progress=lambda done, total: progress.append((done, total)))
    assert progress == sorted(progress)
    assert progress[-1][0] == progress[-1][1]
