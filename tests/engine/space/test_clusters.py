"""Groups, against scikit-learn, every matching tried out, and cases worked by hand."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from theodolite.engine.space import clusters


def _heaps(each: tuple[int, ...] = (60, 40, 25), dim: int = 8, spread: float = 0.05) -> np.ndarray:
    noise = np.random.default_rng(0).normal(0, spread, (sum(each), dim))
    return np.repeat(np.eye(dim)[: len(each)], each, axis=0) + noise


def _unit(vectors: np.ndarray) -> np.ndarray:
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def _of(*groups: int) -> clusters.Clusters:
    of = np.array(groups, np.int32)
    return clusters.Clusters(of, np.bincount(of[of >= 0]), "by hand")


def test_k_means_is_that_of_scikit_learn_on_unit_rows() -> None:
    """The same division; numbers go by size."""
    vectors = 5 * _heaps(spread=0.3)
    oracle = KMeans(4, n_init=4, random_state=0).fit_predict(_unit(vectors))
    ours = clusters.cluster(vectors, "k-means", 4)
    assert adjusted_rand_score(oracle, ours.of) == 1
    sizes = sorted(np.bincount(oracle).tolist(), reverse=True)
    assert ours.sizes.tolist() == np.bincount(ours.of).tolist() == sizes
    with pytest.MonkeyPatch.context() as patch:  # many points are fitted on some, and all placed
        patch.setattr(clusters, "FITTED", 50)
        sampled = clusters.cluster(_heaps(), "k-means", 3)
    assert sorted(sampled.sizes) == [25, 40, 60] and "50 of 125" in sampled.how


def test_hdbscan_is_that_of_scikit_learn_and_leaves_noise() -> None:
    """Below the limits nothing is reduced or sampled; a point far from all is in no group."""
    vectors = np.vstack([_heaps(), -np.ones((1, 8))])
    oracle = HDBSCAN(min_cluster_size=5, copy=True).fit_predict(_unit(vectors))
    ours = clusters.cluster(vectors, "hdbscan", 5)
    assert adjusted_rand_score(oracle, ours.of) == 1
    assert (ours.of[-1], ours.noise) == (clusters.NOISE, (oracle < 0).sum())


def test_hdbscan_of_many_dimensions_and_points_says_what_it_did(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Reduced and sampled, the heaps are still found, and `how` tells."""
    monkeypatch.setattr(clusters, "DENSITY_FITTED", 80)
    ours = clusters.cluster(_heaps((200, 100, 50), dim=64, spread=0.02), "hdbscan", 5)
    truth = np.repeat([0, 1, 2], (200, 100, 50))[ours.of >= 0]
    assert adjusted_rand_score(truth, ours.of[ours.of >= 0]) == 1
    assert "15 principal components" in ours.how and "80 of 350 points" in ours.how


@pytest.mark.parametrize("method", ["k-means", "hdbscan"])
def test_identical_points_and_a_single_one(method: clusters.Method) -> None:
    """No more groups than there are different points, and no error."""
    for points in (1, 20):
        assert len(clusters.cluster(np.ones((points, 3)), method).sizes) <= 1


def test_agreement_worked_by_hand() -> None:
    """Labels aabb in groups 0011, 0101 and 0012.

    In the last, H(label) = 1 bit and H(group) = 1.5 bits share 1 bit: V = 2 / 2.5. Of its six
    pairs both divisions put one together, the labels two, the groups one: (1 - 1/3) / (3/2 - 1/3).
    """
    labels = np.array(["a", "a", "b", "b"])
    same, crossed, split = (
        clusters.agreement(labels, np.array(g)) for g in ([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 2])
    )
    assert same == pytest.approx({"v_measure": 1, "ami": 1, "ari": 1})
    assert (crossed["v_measure"], crossed["ari"]) == pytest.approx((0, -0.5))
    assert (split["v_measure"], split["ari"]) == pytest.approx((0.8, 4 / 7))
    a, b = np.random.default_rng(1).integers(0, 5, (2, 200))
    found = clusters.agreement(a, b)
    assert found["v_measure"] == pytest.approx(normalized_mutual_info_score(a, b))


def test_matching_keeps_as_many_points_as_any_could() -> None:
    """All 120 matchings of five groups are tried."""
    rng = np.random.default_rng(2)
    first, second = (_of(*rng.integers(0, 5, 300)) for _ in range(2))
    found = clusters.flow(first, second)
    best = max(sum(found.counts[i, p[i]] for i in range(5)) for p in permutations(range(5)))
    assert (found.kept, found.counts.sum()) == (best, 300)


def test_a_flow_worked_by_hand() -> None:
    """Group 0 splits, group 1 is kept, one point comes out of the noise, one falls into it."""
    found = clusters.flow(_of(0, 0, 0, 1, 1, -1), _of(1, 1, 2, 0, -1, 0))
    assert found.counts.tolist() == [[0, 2, 1, 0], [1, 0, 0, 1], [1, 0, 0, 0]]
    assert (found.pairs, found.kept) == (((0, 1), (1, 0)), 3)


def test_matched_groups_take_over_the_number() -> None:
    """What has no match is numbered after all of the first; noise stays noise."""
    ours = clusters.renumbered(_of(0, 0, 0, 1, 1, -1), _of(1, 1, 2, 0, -1, 0))
    assert (ours.of.tolist(), ours.sizes.tolist()) == ([0, 0, 2, 1, -1, 1], [2, 2, 1])
    assert clusters.renumbered(_of(0, 0, 0, 1), _of(0, 0, 0, 0)).of.tolist() == [0, 0, 0, 0]
    nothing = clusters.renumbered(_of(0, 1), _of(-1, -1))
    assert (nothing.of.tolist(), nothing.sizes.tolist()) == ([-1, -1], [])
