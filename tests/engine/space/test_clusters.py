"""Groups, against scikit-learn, every matching tried out, and cases worked by hand."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.preprocessing import normalize

from theodolite.engine.space import clusters
from theodolite.engine.space.topics import RegionWords, class_tfidf, distinct, regions


def _heaps(each: tuple[int, ...] = (60, 40, 25), dim: int = 8, spread: float = 0.05) -> np.ndarray:
    noise = np.random.default_rng(0).normal(0, spread, (sum(each), dim))
    return np.repeat(np.eye(dim)[: len(each)], each, axis=0) + noise


def _of(*groups: int) -> clusters.Clusters:
    of = np.array(groups, np.int32)
    return clusters.Clusters(of, np.bincount(of[of >= 0]), "by hand")


def test_k_means_is_that_of_scikit_learn_on_unit_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same division; numbers go by size."""
    vectors = 5 * _heaps(spread=0.3)
    oracle = KMeans(4, n_init=4, random_state=0).fit_predict(normalize(vectors))
    ours = clusters.cluster(vectors, "k-means", 4)
    assert adjusted_rand_score(oracle, ours.of) == 1
    sizes = sorted(np.bincount(oracle).tolist(), reverse=True)
    assert ours.sizes.tolist() == np.bincount(ours.of).tolist() == sizes
    monkeypatch.setattr(clusters, "FITTED", 50)  # many points are fitted on some, and all placed
    sampled = clusters.cluster(_heaps(), "k-means", 3)
    assert sorted(sampled.sizes) == [25, 40, 60] and "50 of 125" in sampled.how


def test_hdbscan_is_that_of_scikit_learn_and_leaves_noise() -> None:
    """Below the limits nothing is reduced or sampled; a point far from all is in no group."""
    vectors = np.vstack([_heaps(), -np.ones((1, 8))])
    oracle = HDBSCAN(min_cluster_size=5, copy=True).fit_predict(normalize(vectors))
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
    expected = normalized_mutual_info_score(a, b)
    assert clusters.agreement(a, b)["v_measure"] == pytest.approx(expected)


def test_matching_keeps_as_many_points_as_any_could(rng: np.random.Generator) -> None:
    """All 120 matchings of five groups are tried."""
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
    for first, second, of, sizes in (
        (_of(0, 0, 0, 1, 1, -1), _of(1, 1, 2, 0, -1, 0), [0, 0, 2, 1, -1, 1], [2, 2, 1]),
        (_of(0, 0, 0, 1), _of(0, 0, 0, 0), [0, 0, 0, 0], [4]),
        (_of(0, 1), _of(-1, -1), [-1, -1], []),
    ):
        found = clusters.renumber(first, second)
        assert (found.of.tolist(), found.sizes.tolist()) == (of, sizes)


# --- names of groups ---


def test_class_tfidf_is_that_of_a_table_worked_by_hand() -> None:
    """Two groups, three words.

    The groups have 4 and 6 words, on average A = 5. The words occur f = 5, 3 and 2 times. Their
    factors are log(1 + 5/5) = 0.693147, log(1 + 5/3) = 0.980829 and log(1 + 5/2) = 1.252763.
    Group 0 has shares 3/4, 1/4, 0; group 1 has 2/6, 2/6, 2/6.
    """
    found = class_tfidf(np.array([[3, 1, 0], [2, 2, 2]])).toarray()
    expected = [[0.519860, 0.245207, 0.0], [0.231049, 0.326943, 0.417588]]
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("sentences", "of", "most", "names"),
    [
        # A word of all groups weighs less than one of a single group, however often it occurs.
        (
            [
                *("the boat sails", "the boat sinks", "a boat"),
                *("the bread bakes", "the bread", "bread"),
            ],
            [0, 0, 0, 1, 1, 1],
            1,
            ["boat", "bread"],
        ),
        # A word of one sentence weighs most by the formula and says least: only for want of others.
        (
            ["rain aardvark", "rain bison", "rain cat", "rain dog", "snow"],
            [0, 0, 0, 0, 1],
            3,
            ["rain", "snow"],
        ),
        (["aardvark", "bison", "cat", "dog"], [0, 0, 0, 0], 3, ["aardvark, bison, cat"]),
        # Sentences without words have none.
        (["", ""], [0, 1], 3, ["", ""]),
        (["!", "12"], [0, 1], 3, ["", ""]),
    ],
)
def test_a_group_is_named_by_what_it_alone_has(
    sentences: list[str], of: list[int], most: int, names: list[str]
) -> None:
    """Names that are empty or the same are told apart by a number."""
    assert RegionWords(sentences).names(np.array(of), len(names), most=most) == names
    assert distinct(["", ""]) == ["region 1", "region 2"]
    assert distinct(["a", "b", "a"]) == ["a (1)", "b", "a (2)"]


def test_words_that_are_everywhere_name_nothing() -> None:
    """Six groups that share one word: it is a stop word, in a language nobody gave a list of."""
    sentences = [f"zol {word} {word}e" for word in ("ana", "bebe", "cici", "dodo", "fufu", "gaga")]
    of, words = np.arange(6), RegionWords(sentences)
    stop = words.everywhere(of, 6)
    assert stop.sum() == 1
    assert not any("zol" in name for name in words.names(of, 6, stop))
    # A word of a third of the groups can still be a topic: of twelve of ten, four are about boats
    # alone. Dealt out blindly, 40 of 120 would be in 12 (1 - (2/3)^10) = 11.8 groups, not in 4.
    words = RegionWords(["boat zol sea"] * 40 + ["bread zol salt"] * 40 + ["star zol moon"] * 40)
    assert words.everywhere(np.repeat(np.arange(12), 10), 12).sum() == 1


def test_regions_of_a_plane_at_levels(rng: np.random.Generator) -> None:
    """Three heaps apart: the one level that knows three names each after its own word."""
    truth = np.repeat([0, 1, 2], [50, 40, 30])
    centres = np.array([[0, 0], [50, 0], [0, 50]], np.float32)
    points = (centres[truth] + rng.normal(size=(120, 2))).astype(np.float32)
    own = ("boat", "bread", "star")
    words = RegionWords([f"{own[t]} {own[t]}s and more" for t in truth])
    coarse, fine = regions(points, words, levels=(3, 12))
    assert [name.split(",")[0] for name in coarse.names] == list(own)
    assert coarse.sizes.tolist() == [50, 40, 30]
    np.testing.assert_allclose(coarse.centres, centres, atol=1)
    assert len(set(fine.names)) == len(fine.names) > 3
