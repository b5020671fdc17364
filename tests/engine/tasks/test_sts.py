"""Scored pairs: aggregation and three similarities, by hand, scipy and scikit-learn."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import distance
from sklearn.metrics.pairwise import paired_cosine_distances
from sklearn.preprocessing import StandardScaler

from tests.errors import refused
from theodolite.engine.datasets.types import PairPart, ScoredPairs
from theodolite.engine.progress import nobody
from theodolite.engine.results import Score
from theodolite.engine.stats.bootstrap import main_sample
from theodolite.engine.tasks import Measurement, sts

RNG = np.random.default_rng(1)
YEAR = {"one": 30, "two": 70, "three": 50}
SPLITS = {"train": 40, "dev": 20, "test": 30}
Scale = tuple[float, float]


def pairs(kind, parts: dict, scale: Scale = (0.0, 5.0)) -> ScoredPairs:
    """Pairs by their gold scores: sentences do not matter, vectors are given by position."""
    made = {
        name: PairPart(tuple("a" * len(gold)), tuple("b" * len(gold)), np.asarray(gold, float))
        for name, gold in parts.items()
    }
    return ScoredPairs("mine", made, kind, scale)


def drawn(kind, sizes: dict[str, int], scale: Scale = (0.0, 5.0)) -> tuple:
    """Random gold, and vectors whose columns have other means and spreads, the last one none."""
    vectors = RNG.normal(size=(2 * sum(sizes.values()), 8)) * [9, 1, 1, 0.1, 3, 1, 1, 0]
    gold = {name: RNG.uniform(*scale, n).round(1) for name, n in sizes.items()}
    return pairs(kind, gold, scale), (vectors + np.arange(8)).astype(np.float32)


def find(measured: Measurement, *which: str | None) -> Score:
    """The score of a split, an aggregation and a metric."""
    (found,) = (s for s in measured.scores if (s.split, s.aggregation, s.metric) == which)
    return found


def sides(data: ScoredPairs, vectors: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The vectors of each part's first and second sentences."""
    sizes = np.repeat([len(part.gold) for part in data.parts.values()], 2)
    both = np.split(vectors, np.cumsum(sizes)[:-1])
    return dict(zip(data.parts, zip(both[::2], both[1::2], strict=True), strict=True))


def by_scipy(data: ScoredPairs, vectors: np.ndarray) -> dict[str, tuple[list[float], float]]:
    """Cosines and Spearman of every part, the slow way."""
    cosines = {
        name: [1 - distance.cosine(u, v) for u, v in zip(*both, strict=True)]
        for name, both in sides(data, vectors).items()
    }
    return {
        name: (of, 100 * stats.spearmanr(of, data.parts[name].gold).statistic)
        for name, of in cosines.items()
    }


def test_a_year_is_aggregated_three_ways() -> None:
    """All: the concatenation; mean: plain; wmean: by pairs. All of it as scipy says."""
    data, vectors = drawn("subsets", YEAR)
    measured = sts.measure(data, vectors)
    expected = by_scipy(data, vectors)
    spearman = {name: score for name, (_, score) in expected.items()}
    together = [c for cosines, _ in expected.values() for c in cosines]
    gold = np.concatenate([p.gold for p in data.parts.values()])
    spearman |= {
        "all": 100 * stats.spearmanr(together, gold).statistic,
        "mean": np.mean(list(spearman.values())),
        "wmean": np.average(list(spearman.values()), weights=list(YEAR.values())),
    }
    found = {name: find(measured, "all", name, "spearman").score for name in spearman}
    assert found == pytest.approx(spearman, abs=1e-4)
    pearson = 100 * stats.pearsonr(together, gold).statistic
    assert find(measured, "all", "all", "pearson").score == pytest.approx(pearson, abs=1e-4)
    main = find(measured, "all", "all", "spearman")
    assert main.main and main.n == 150
    # Alignment is not defined for subsets.
    assert {s.metric for s in measured.scores} == {"spearman", "pearson", "random_cosine"}


def test_splits_are_scored_apart_and_test_is_the_main_one() -> None:
    """As SimCSE does for STS-B and SICK-R; everything together is beside it."""
    data, vectors = drawn("splits", SPLITS)
    measured = sts.measure(data, vectors)
    for name, (_, expected) in by_scipy(data, vectors).items():
        score = find(measured, name, None, "spearman")
        assert (score.score, score.main) == (pytest.approx(expected, abs=1e-4), name == "test")
    assert find(measured, "all", None, "spearman").n == 90
    assert measured.details["main_parts"] == [2]
    assert np.bincount(measured.examples["part"]).tolist() == [40, 20, 30]


@pytest.mark.parametrize("sizes", [{"all": 30}, {"train": 20, "dev": 10}])
def test_without_a_test_split_everything_is_the_main_score(sizes: dict[str, int]) -> None:
    (main,) = (s for s in sts.measure(*drawn("splits", sizes)).scores if s.main)
    assert (main.split, main.metric, main.n) == ("all", "spearman", 30)


def test_pairs_of_identical_sentences_are_tied() -> None:
    """Three such pairs get one rank, as equal cosines do; a zero vector has cosine 0."""
    left = RNG.normal(size=(7, 5)).astype(np.float32) * np.c_[[1e-4, 1, 7, 1, 1, 1, 0]]
    right = np.concatenate([left[:3], RNG.normal(size=(4, 5))])
    data = pairs("splits", {"all": [5.0, 3.0, 4.0, 2.0, 1.0, 0.0, 2.5]})
    measured = sts.measure(data, np.concatenate([left, right]))
    cosines = [1.0] * 3 + [1 - distance.cosine(left[i], right[i]) for i in (3, 4, 5)] + [0.0]
    assert measured.examples["cosine"][-1] == 0.0
    expected = 100 * stats.spearmanr(cosines, data.parts["all"].gold).statistic
    found = find(measured, "all", None, "spearman")
    assert (found.score, found.n) == (pytest.approx(expected, abs=1e-9), 7)


def test_alignment_and_uniformity_come_with_pairs_of_0_to_5() -> None:
    """Alignment over gold above 4, not from 4 on; n is n_pos and n_data."""
    eye = np.eye(8, dtype=np.float32)
    vectors = np.concatenate([eye[:4] * 3, eye[[0, 1, 4, 5]]])
    measured = sts.measure(pairs("splits", {"all": [4.0, 4.2, 5.0, 1.0]}), vectors)
    alignment = find(measured, "all", None, "alignment")
    assert (alignment.score, alignment.n) == (pytest.approx(1.0), 2), "0 and 2, the 4.0 left out"
    uniformity = find(measured, "all", None, "uniformity")
    expected = np.log((2 + 26 * np.exp(-4)) / 28)  # two equal pairs, all others at right angles
    assert (uniformity.score, uniformity.n) == (pytest.approx(expected), 8)


def test_what_has_no_correlation() -> None:
    """A year keeps `all` without a subset that has none, and has no mean."""
    measured = sts.measure(*drawn("subsets", {"one": 20, "lonely": 1}))
    assert measured.details["undefined"] == ["lonely", "mean", "wmean"]
    assert {s.aggregation for s in measured.scores if s.metric == "spearman"} == {"all", "one"}


@pytest.mark.parametrize(
    ("gold", "vectors", "code", "named"),
    [
        ([3.0], RNG.normal(size=(2, 3)), "too-few", "1 scored pairs"),
        ([3.0, 3.0, 3.0], RNG.normal(size=(6, 3)), "too-few", "3 scored pairs"),
        ([1.0, 2.0, 3.0], np.ones((6, 4)), "failed", "1.0000"),
    ],
    ids=["one pair", "one score", "one vector"],
)
def test_no_correlation_at_all_is_refused(
    gold: list[float], vectors: np.ndarray, code: str, named: str
) -> None:
    with refused(code, "mine", named):
        sts.measure(pairs("splits", {"all": gold}), vectors)


# --- three similarities side by side -------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "sizes", "scored"),
    [
        ("subsets", {"one": 30, "two": 50}, ["one", "two"]),
        ("splits", SPLITS, ["test"]),
        ("splits", {"all": 40}, ["all"]),
    ],
)
def test_the_normalised_cosine_is_that_of_standard_scaler(
    kind: str, sizes: dict[str, int], scored: list[str]
) -> None:
    """Fitted on the sentences that are scored alone; the plain cosine beside it is SimCSE's."""
    data, vectors = drawn(kind, sizes)
    measured = sts.measure_three(data, vectors, 1111, nobody)
    found = {s.metric: s.score for s in measured.scores}
    assert len(found) == len(measured.scores)
    parts = sides(data, vectors.astype(np.float64))
    left, right = (np.concatenate([parts[name][i] for name in scored]) for i in (0, 1))
    normal = StandardScaler().fit(np.concatenate([left, right]))
    cosines = 1 - paired_cosine_distances(normal.transform(left), normal.transform(right))
    gold = np.concatenate([data.parts[name].gold for name in scored])
    assert found == found | {
        "znorm_pearson": pytest.approx(100 * stats.pearsonr(cosines, gold).statistic),
        "znorm_spearman": pytest.approx(100 * stats.spearmanr(cosines, gold).statistic),
    }
    (main,) = (s for s in measured.scores if s.main)
    assert main in sts.measure(data, vectors).scores
    assert {(s.split, s.aggregation) for s in measured.scores} == {(main.split, main.aggregation)}
    sample = main_sample(measured.examples, measured.details)
    assert sample.statistic == pytest.approx(main.score)


@pytest.mark.parametrize(
    ("sizes", "scale", "learned"),
    [
        (SPLITS, (1.0, 5.0), {"pearson", "spearman", "mse"}),
        (SPLITS, (0.0, 1.0), set()),
        ({"train": 60, "test": 30}, (0.0, 5.0), set()),
    ],
)
def test_a_similarity_is_learnt_where_it_can_be(
    sizes: dict[str, int], scale: Scale, learned: set[str]
) -> None:
    """With three splits, and scores that the regressor has bins for."""
    data, _ = drawn("splits", sizes, scale)
    vectors = RNG.normal(size=(2 * sum(sizes.values()), 6)).astype(np.float32)
    found = sts.measure_three(data, vectors, 1111, nobody)
    extra = {s.metric: s for s in found.scores if s.metric.startswith("learned_")}
    assert set(extra) == {f"learned_{name}" for name in learned}
    assert all((s.split, s.n, s.main) == ("test", 30, False) for s in extra.values())
