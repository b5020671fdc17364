"""Planes of an embedding space, against scikit-learn, umap-learn, scipy and cases by hand."""

from unittest.mock import Mock

import numpy as np
import pytest
import torch
from scipy.optimize import brentq
from scipy.spatial import procrustes as scipy_procrustes
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import normalize

from tests.engine.space.test_compare import cloud
from theodolite.engine.search.index import neighbours_of_each, unit_rows
from theodolite.engine.space import projection, umap
from theodolite.engine.space.trust import trust
from theodolite.engine.threads import one_torch_thread

JIT_COMPILED = pytest.param("umap_learn", marks=pytest.mark.long)
"""Half a minute of compiling in a fresh environment, and again for what has a seed."""


def _groups(n: int = 40) -> np.ndarray:
    noise = np.random.default_rng(4).normal(size=(3 * n, 12))
    return np.repeat(np.eye(3, 12), n, axis=0) + 0.1 * noise


def _neighbours(vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    cosines, ids = neighbours_of_each(unit_rows(vectors), k)
    return ids, np.clip(1 - cosines, 0, 2)


def test_pca_is_that_of_scikit_learn_on_unit_rows() -> None:
    vectors = cloud(300)
    oracle = PCA(2).fit(normalize(vectors).astype(np.float64))
    ours, theirs = projection.pca(vectors), oracle.transform(normalize(vectors))
    signs = np.sign((ours.points * theirs).sum(axis=0))
    np.testing.assert_allclose(ours.points, signs * theirs, atol=1e-5)
    assert ours.explained == pytest.approx(oracle.explained_variance_ratio_.sum(), abs=1e-5)
    assert not projection.pca(np.array([[1.0], [-1.0], [2.0]])).points[:, 1].any()


@pytest.mark.parametrize("k", [5, 15])
def test_trust_is_scikit_learns_trustworthiness_both_ways(k: int) -> None:
    """Continuity is trustworthiness with the two spaces exchanged."""
    vectors = cloud(300)
    plane = projection.pca(vectors).points
    found, both = trust(vectors, plane, k), (normalize(vectors), plane)
    for ours, sides in ((found.trustworthiness, both), (found.continuity, both[::-1])):
        assert ours.mean() == pytest.approx(trustworthiness(*sides, n_neighbors=k), abs=1e-6)
    near = (NearestNeighbors(n_neighbors=k).fit(side).kneighbors()[1] for side in both)
    recall = [len({*first} & {*second}) / k for first, second in zip(*near, strict=True)]
    np.testing.assert_allclose(found.recall, recall)
    some = trust(vectors, plane, k, sample=50)  # these points among all
    for part, whole in ((some.trustworthiness, found.trustworthiness), (some.recall, found.recall)):
        np.testing.assert_allclose(part, whole[some.looked_at])
    assert len(some.looked_at) == 50
    with pytest.raises(ValueError, match=r"k < n / 2"):
        trust(vectors[: 2 * k], plane[: 2 * k], k)


def test_tsne_is_that_of_scikit_learn_on_unit_rows() -> None:
    """The divergence that is left is that of scikit-learn finding the neighbours itself."""
    vectors = _groups(60)
    unit = normalize(vectors)
    theirs = TSNE(perplexity=15, init=1e-2 * PCA(2).fit_transform(unit), random_state=0)
    ours, again = (projection.tsne(vectors, neighbours=15).points for _ in range(2))
    expected = trustworthiness(unit, theirs.fit_transform(unit), n_neighbors=15)
    assert trust(vectors, ours).trustworthiness.mean() == pytest.approx(expected, abs=0.005)
    np.testing.assert_array_equal(again, ours)


@pytest.mark.parametrize("method", ["umap", JIT_COMPILED, "tsne"])
def test_groups_stay_apart(method: str) -> None:
    """Three heaps of a hundred: on the plane everybody's nearest is of the own heap."""
    points = getattr(projection, method)(_groups(100)).points
    away = ((points[:, None] - points[None]) ** 2).sum(-1)
    np.fill_diagonal(away, np.inf)
    np.testing.assert_array_equal(away.argmin(axis=1) // 100, np.arange(300) // 100)


@pytest.mark.parametrize("method", [projection.umap, projection.tsne])
@pytest.mark.parametrize("n", [4, 5, 8])
def test_a_few_points_and_equal_ones(method, n: int) -> None:
    """Fewer points than neighbours; points that lie on one another; three are too few."""
    for vectors in (cloud(n, 5), np.ones((n, 3))):
        points = method(vectors).points
        assert points.shape == (n, 2) and np.isfinite(points).all()
    with pytest.raises(ValueError, match="four points"):
        method(np.eye(3))


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


def test_procrustes_is_that_of_scipy(rng: np.random.Generator) -> None:
    onto = rng.normal(size=(50, 2))
    turned = onto @ np.array([[0.0, -2.0], [2.0, 0.0]]) + 7 + 0.1 * rng.normal(size=(50, 2))
    ours = projection.procrustes(turned, onto)
    _, _, disparity = scipy_procrustes(onto, turned)
    left = ((ours - onto) ** 2).sum() / ((onto - onto.mean(0)) ** 2).sum()
    assert left == pytest.approx(disparity, abs=1e-6)
    # A known vector is placed where it lies.
    vectors, plane = np.eye(5, dtype=np.float32), onto[:5].astype(np.float32)
    np.testing.assert_allclose(projection.place_vectors(vectors, vectors, plane), plane, atol=1e-4)


@pytest.mark.parametrize(
    "method",
    ["umap", "tsne", *(pytest.param(m, marks=pytest.mark.long) for m in ("umap_learn", "pacmap"))],
)
def test_torch_keeps_its_threads(method: str) -> None:
    """Numba, which some of them compile with, would give it every core: another order."""
    with one_torch_thread():
        getattr(projection, method)(cloud(60), seed=None)
        assert torch.get_num_threads() == 1


def test_memberships_of_a_point_add_up_to_the_logarithm_of_its_neighbours() -> None:
    """Point by point with SciPy's root, then the probabilistic sum of both ways."""
    ids, distances = _neighbours(_groups(), 7)
    one_way = np.zeros((120, 120))
    for point, away in enumerate(distances.astype(float)):
        beyond = away - away.min()
        scale = brentq(lambda s, b=beyond: np.exp(-b / s).sum() - np.log2(8), 1e-9, 1e3)
        one_way[point, ids[point]] = np.exp(-beyond / scale)
    expected = one_way + one_way.T - one_way * one_way.T
    np.testing.assert_allclose(umap.fuzzy_graph(ids, distances).toarray(), expected, atol=1e-4)
    ids, distances = _neighbours(np.ones((6, 3)), 3)  # nothing is far, so nothing decides a scale
    np.testing.assert_array_equal(umap.fuzzy_graph(ids, np.zeros_like(distances)).data, 1)
    # Of a least distance of 0.1, the values that every implementation prints.
    np.testing.assert_allclose(umap.curve(0.1), (1.577, 0.895), atol=1e-3)


@pytest.mark.long
def test_the_graph_is_that_of_umap_learn() -> None:
    from threadpoolctl import threadpool_limits
    from umap.umap_ import fuzzy_simplicial_set

    vectors = _groups()
    ids, distances = _neighbours(vectors, 14)
    own = np.arange(len(ids))[:, None]
    known = {
        "knn_indices": np.hstack([own, ids]),
        "knn_dists": np.hstack([0 * own, distances]).astype(np.float32),
    }
    with threadpool_limits(None):  # numba leaves torch with other threads, for all tests to come
        graph, _, _ = fuzzy_simplicial_set(vectors, 15, np.random.RandomState(0), "cosine", **known)
    assert abs(graph - umap.fuzzy_graph(ids, distances)).max() < 1e-4


def test_a_seed_gives_one_plane_and_none_gives_others() -> None:
    seeds = (3, 3, 4, None, None)
    first, again, *others = (
        projection.umap(_groups(), seed=seed).points.tobytes() for seed in seeds
    )
    assert first == again and len({first, *others}) == 4


@pytest.mark.parametrize("threads", [1, 3])
def test_points_moved_block_by_block_move_as_together(threads: int, monkeypatch) -> None:
    """To the last bit, in as many threads as there are; the last block is a smaller one."""
    together = projection.umap(_groups()).points
    monkeypatch.setattr(umap, "_BLOCK", 32)
    monkeypatch.setattr(umap, "usable_threads", lambda: threads)
    np.testing.assert_array_equal(projection.umap(_groups()).points, together)


def test_a_map_begun_from_another_lies_as_that_one() -> None:
    """Turned by a right angle, the second comes out turned."""
    turned = projection.umap(_groups()).points[:, ::-1] * [1, -1]
    second = projection.umap(_groups(), initial=turned).points
    assert np.corrcoef(second.ravel(), turned.ravel())[0, 1] > 0.9
    assert np.abs(projection.procrustes(second, turned) - turned).mean() < np.abs(turned).mean()


def test_umap_reports_its_share_and_the_points_that_move(monkeypatch) -> None:
    """The last picture but one is not the last; a share never falls; what `tick` raises stops."""
    monkeypatch.setattr(projection, "_WATCHED_EVERY", 0.0)
    calls, seen = [], []
    last = projection.umap(_groups(), tick=calls.append, watch=seen.append).points
    assert calls == sorted(calls) and calls[-1] == 1
    assert np.shape(seen) == (projection._EPOCHS, *last.shape)
    np.testing.assert_allclose(seen[-1], last, atol=1e-6)
    assert np.abs(seen[0] - last).max() > np.abs(seen[-2] - last).max() > 0
    with pytest.raises(KeyboardInterrupt):
        projection.umap(_groups(), tick=Mock(side_effect=[*range(5), KeyboardInterrupt]))
