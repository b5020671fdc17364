"""Planes of an embedding space, against scikit-learn, scipy and cases worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial import procrustes as scipy_procrustes
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, trustworthiness

from theodolite.engine.space import projection
from theodolite.engine.space.trust import trust

JIT_COMPILED = pytest.param("umap_learn", marks=pytest.mark.long)
"""Half a minute of compiling in a fresh environment, and again for what has a seed."""


def _cloud(n: int = 300, dim: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(n, dim)) * np.linspace(3, 0.2, dim) + 0.5).astype(np.float32)


def _groups() -> np.ndarray:
    rng = np.random.default_rng(4)
    return np.repeat(np.eye(3, 12), 100, axis=0) + 0.1 * rng.normal(size=(300, 12))


def test_pca_is_that_of_scikit_learn_on_unit_rows() -> None:
    """Pca is that of scikit learn on unit rows."""
    vectors = _cloud()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    oracle = PCA(2).fit(unit.astype(np.float64))
    ours = projection.pca(vectors)
    theirs = oracle.transform(unit)
    for axis in range(2):
        sign = np.sign(ours.points[:, axis] @ theirs[:, axis])
        np.testing.assert_allclose(ours.points[:, axis], sign * theirs[:, axis], atol=1e-5)
    assert ours.explained == pytest.approx(oracle.explained_variance_ratio_.sum(), abs=1e-5)


def test_pca_of_one_dimension_lies_on_a_line() -> None:
    """Pca of one dimension lies on a line."""
    points = projection.pca(np.array([[1.0], [-1.0], [2.0]])).points
    np.testing.assert_array_equal(points[:, 1], 0)


@pytest.mark.parametrize("k", [5, 15])
def test_trust_is_scikit_learns_trustworthiness_both_ways(k: int) -> None:
    """Trust is scikit learns trustworthiness both ways."""
    vectors = _cloud()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    plane = projection.pca(vectors).points
    found = trust(vectors, plane, k)
    assert found.trustworthiness.mean() == pytest.approx(
        trustworthiness(unit, plane, n_neighbors=k), abs=1e-6
    )
    # Continuity is trustworthiness with the two spaces exchanged.
    assert found.continuity.mean() == pytest.approx(
        trustworthiness(plane, unit, n_neighbors=k), abs=1e-6
    )


def test_a_plane_that_is_the_space_itself_is_trusted_fully() -> None:
    """A plane that is the space itself is trusted fully."""
    angles = np.random.default_rng(3).uniform(0, np.pi / 2, 40)
    plane = np.column_stack([np.cos(angles), np.sin(angles)])
    found = trust(plane, plane, 3)
    for values in (found.trustworthiness, found.continuity, found.recall):
        np.testing.assert_array_equal(values, 1)


def test_a_sample_of_points_has_the_values_these_points_have_among_all() -> None:
    """A sample of points has the values these points have among all."""
    vectors = _cloud()
    plane = projection.pca(vectors).points
    every = trust(vectors, plane, 10)
    some = trust(vectors, plane, 10, sample=50)
    assert len(some.looked_at) == 50
    np.testing.assert_allclose(some.trustworthiness, every.trustworthiness[some.looked_at])
    np.testing.assert_allclose(some.recall, every.recall[some.looked_at])


def test_trust_needs_fewer_neighbours_than_half_the_points() -> None:
    """Trust needs fewer neighbours than half the points."""
    with pytest.raises(ValueError, match=r"k < n / 2"):
        trust(np.eye(6), np.eye(6)[:, :2], 3)


def test_tsne_is_that_of_scikit_learn_on_unit_rows() -> None:
    """The divergence that is left is that of scikit-learn finding the neighbours itself."""
    vectors = _groups()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    theirs = TSNE(perplexity=15, init=1e-2 * PCA(2).fit_transform(unit), random_state=0)
    ours = projection.tsne(vectors, perplexity=15)
    expected = trustworthiness(unit, theirs.fit_transform(unit), n_neighbors=15)
    found = trust(vectors, ours.points).trustworthiness.mean()
    assert found == pytest.approx(expected, abs=0.005)
    np.testing.assert_array_equal(projection.tsne(vectors, perplexity=15).points, ours.points)


@pytest.mark.parametrize("method", ["umap", JIT_COMPILED, "tsne"])
def test_groups_stay_apart(method: str) -> None:
    """Three heaps of a hundred: on the plane everybody's nearest is of the own heap."""
    points = getattr(projection, method)(_groups()).points
    away = ((points[:, None] - points[None]) ** 2).sum(-1)
    np.fill_diagonal(away, np.inf)
    np.testing.assert_array_equal(away.argmin(axis=1) // 100, np.arange(300) // 100)


@pytest.mark.parametrize("n", [4, 5, 8])
def test_tsne_of_a_few_points_and_of_equal_ones(n: int) -> None:
    """Fewer points than neighbours; points that lie on one another."""
    for vectors in (_cloud(n), np.ones((n, 3))):
        points = projection.tsne(vectors).points
        assert points.shape == (n, 2)
        assert np.isfinite(points).all()


def test_tsne_needs_four_points() -> None:
    """Three have no neighbourhoods."""
    with pytest.raises(ValueError, match="four points"):
        projection.tsne(np.eye(3))


def test_rows_of_one_direction_are_projected_once_where_they_are_many() -> None:
    """Worked by hand: the length does not count; a few equal rows are left as they are."""
    rows = np.array([[1, 0], [0, 1], [2, 0], [0, 0], [3, 0], [-0.0, 0]], np.float32)
    kept, which = projection.distinct(rows, 2)
    assert (kept.tolist(), which.tolist()) == ([0, 1, 3], [0, 1, 0, 2, 0, 2])
    for most in (3, 100):
        assert [part.tolist() for part in projection.distinct(rows, most)] == [[*range(6)]] * 2
    noise = 1e-7 * np.random.default_rng(0).standard_normal((6, 2))
    kept, which = projection.distinct(np.ones((6, 2)) + noise, 100)
    assert (kept.tolist(), which.tolist()) == ([0], [0] * 6)


def test_procrustes_is_that_of_scipy() -> None:
    """Procrustes is that of scipy."""
    rng = np.random.default_rng(1)
    onto = rng.normal(size=(50, 2))
    turned = onto @ np.array([[0.0, -2.0], [2.0, 0.0]]) + 7 + 0.1 * rng.normal(size=(50, 2))
    ours = projection.procrustes(turned, onto)
    _, _, disparity = scipy_procrustes(onto, turned)
    left = ((ours - onto) ** 2).sum() / ((onto - onto.mean(0)) ** 2).sum()
    assert left == pytest.approx(disparity, abs=1e-6)


def test_a_known_vector_is_placed_where_it_lies() -> None:
    """A known vector is placed where it lies."""
    vectors = np.eye(5, dtype=np.float32)
    plane = np.arange(10, dtype=np.float32).reshape(5, 2)
    np.testing.assert_allclose(projection.placed(vectors, vectors, plane), plane, atol=1e-4)


@pytest.mark.parametrize(
    "method",
    ["umap", "tsne", *(pytest.param(m, marks=pytest.mark.long) for m in ("umap_learn", "pacmap"))],
)
def test_torch_keeps_its_threads(method: str) -> None:
    """Numba, which some of them compile with, would give it every core: another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        getattr(projection, method)(_cloud(60), seed=None)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
