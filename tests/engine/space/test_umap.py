"""The graph and layout of UMAP, against umap-learn, a root that SciPy finds, and plain cases."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from theodolite.engine.search.index import neighbours_of_each, unit_rows
from theodolite.engine.space import projection, umap
from theodolite.engine.space.umap import curve, fuzzy_graph


def _groups(n: int = 40) -> np.ndarray:
    rng = np.random.default_rng(4)
    return np.repeat(np.eye(3, 12), n, axis=0) + 0.1 * rng.normal(size=(3 * n, 12))


def _neighbours(vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    cosines, ids = neighbours_of_each(unit_rows(vectors), k)
    return ids, np.clip(1 - cosines, 0, 2)


def test_memberships_of_a_point_add_up_to_the_logarithm_of_its_neighbours() -> None:
    """Point by point with SciPy's root, then the probabilistic sum of both ways."""
    ids, distances = _neighbours(_groups(), 7)
    one_way = np.zeros((len(ids), len(ids)))
    for point, away in enumerate(distances.astype(float)):
        beyond = away - away.min()
        scale = brentq(lambda s, b=beyond: np.exp(-b / s).sum() - np.log2(8), 1e-9, 1e3)
        one_way[point, ids[point]] = np.exp(-beyond / scale)
    expected = one_way + one_way.T - one_way * one_way.T
    np.testing.assert_allclose(fuzzy_graph(ids, distances).toarray(), expected, atol=1e-4)


def test_equal_points_belong_together_fully() -> None:
    """Nothing is far, so nothing decides a scale."""
    ids, distances = _neighbours(np.ones((6, 3)), 3)
    graph = fuzzy_graph(ids, np.zeros_like(distances))
    np.testing.assert_array_equal(graph.data, 1)


def test_the_graph_is_that_of_umap_learn() -> None:
    """To rounding."""
    from threadpoolctl import threadpool_limits
    from umap.umap_ import fuzzy_simplicial_set

    vectors = _groups()
    ids, distances = _neighbours(vectors, 14)
    own = np.arange(len(ids))[:, None]
    known = np.hstack([own, ids]), np.hstack([0 * own, distances]).astype(np.float32)
    with threadpool_limits(None):  # numba leaves torch with other threads, for all tests to come
        graph, _, _ = fuzzy_simplicial_set(
            vectors,
            15,
            np.random.RandomState(0),
            "cosine",
            knn_indices=known[0],
            knn_dists=known[1],
        )
    assert abs(graph - fuzzy_graph(ids, distances)).max() < 1e-4


def test_the_curve_is_that_of_the_paper() -> None:
    """Of a least distance of 0.1, the values that every implementation prints."""
    np.testing.assert_allclose(curve(0.1), (1.577, 0.895), atol=1e-3)


def test_groups_lie_apart() -> None:
    """Three heaps: on the plane the nearest of every point is of its own heap."""
    points = projection.umap(_groups()).points
    away = ((points[:, None] - points[None]) ** 2).sum(-1)
    np.fill_diagonal(away, np.inf)
    np.testing.assert_array_equal(away.argmin(axis=1) // 40, np.arange(120) // 40)


def test_a_seed_gives_one_plane_and_none_gives_others() -> None:
    """Whatever the cores."""
    first, again, other, any_seed, another = (
        projection.umap(_groups(), seed=seed).points for seed in (3, 3, 4, None, None)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(any_seed, another)


@pytest.mark.parametrize("threads", [1, 3])
def test_points_moved_block_by_block_move_as_together(threads: int, monkeypatch) -> None:
    """To the last bit, in as many threads as there are; the last block is a smaller one."""
    together = projection.umap(_groups()).points
    monkeypatch.setattr(umap, "_BLOCK", 32)
    monkeypatch.setattr(umap, "usable_threads", lambda: threads)
    np.testing.assert_array_equal(projection.umap(_groups()).points, together)


def test_a_map_begun_from_another_lies_as_that_one() -> None:
    """Turned by a right angle, the second comes out turned."""
    first = projection.umap(_groups()).points
    turned = first[:, ::-1] * [1, -1]
    second = projection.umap(_groups(), initial=turned).points
    apart = np.abs(projection.procrustes(second, turned) - turned).mean()
    assert np.corrcoef(second.ravel(), turned.ravel())[0, 1] > 0.9
    assert apart < np.abs(turned).mean()


@pytest.mark.parametrize("n", [4, 5, 8])
def test_a_few_points_and_equal_ones(n: int) -> None:
    """Fewer points than neighbours; points that lie on one another."""
    for vectors in (np.random.default_rng(0).normal(size=(n, 5)), np.ones((n, 3))):
        points = projection.umap(vectors).points
        assert points.shape == (n, 2)
        assert np.isfinite(points).all()


def test_three_points_are_too_few() -> None:
    """They have no neighbourhoods."""
    with pytest.raises(ValueError, match="four points"):
        projection.umap(np.eye(3))


def test_it_says_how_far_it_is_and_shows_points_that_move(monkeypatch) -> None:
    """The last picture but one is not the last; a share never falls."""
    monkeypatch.setattr(projection, "_WATCHED_EVERY", 0.0)
    calls, seen = [], []
    last = projection.umap(_groups(), tick=calls.append, watch=seen.append).points
    assert calls == sorted(calls)
    assert calls[-1] == 1
    assert len(seen) == projection._EPOCHS
    assert all(points.shape == last.shape for points in seen)
    np.testing.assert_allclose(seen[-1], last, atol=1e-6)
    assert np.abs(seen[0] - last).max() > np.abs(seen[-2] - last).max() > 0


def test_what_tick_raises_stops_the_work() -> None:
    """So a run is cancelled."""

    def stop(share: float) -> None:
        if share > 0.6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        projection.umap(_groups(), tick=stop)
