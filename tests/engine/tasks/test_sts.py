"""STS: aggregation by hand and by scipy, what the main score is, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.spatial import distance

from theodolite.engine.datasets.types import PairPart, ScoredPairs
from theodolite.engine.errors import UserError
from theodolite.engine.results import Score
from theodolite.engine.tasks import sts
from theodolite.engine.tasks.task import Measurement

RNG = np.random.default_rng(1)


def part(gold: list[float] | np.ndarray) -> PairPart:
    """Pairs whose sentences do not matter: vectors are given by position."""
    n = len(gold)
    return PairPart(tuple("a" * n), tuple("b" * n), np.asarray(gold, dtype=np.float64))


def random_pairs(kind: str, sizes: dict[str, int]) -> tuple[ScoredPairs, np.ndarray]:
    """Random gold and vectors in parts of the given sizes."""
    parts = {name: part(RNG.uniform(0, 5, n).round(1)) for name, n in sizes.items()}
    data = ScoredPairs("random", parts, kind)  # type: ignore[arg-type]
    return data, RNG.normal(size=(2 * sum(sizes.values()), 8)).astype(np.float32)


def find(measured: Measurement, split: str, aggregation: str | None, metric: str) -> Score:
    """The one score of that kind."""
    found = [
        s
        for s in measured.scores
        if (s.split, s.aggregation, s.metric) == (split, aggregation, metric)
    ]
    assert len(found) == 1
    return found[0]


def by_scipy(vectors: np.ndarray, sizes: dict[str, int], gold: dict[str, np.ndarray]) -> dict:
    """Cosines and Spearman of every part, the slow way."""
    cosines, start = {}, 0
    for name, n in sizes.items():
        left, right = vectors[start : start + n], vectors[start + n : start + 2 * n]
        cosines[name] = [1 - distance.cosine(u, v) for u, v in zip(left, right, strict=True)]
        start += 2 * n
    return {
        name: (cosines[name], 100 * stats.spearmanr(cosines[name], gold[name]).statistic)
        for name in sizes
    }


def test_a_year_is_aggregated_three_ways() -> None:
    """All: the concatenation; mean: plain; wmean: by pairs. All of it as scipy says."""
    sizes = {"one": 30, "two": 70, "three": 50}
    data, vectors = random_pairs("subsets", sizes)
    measured = sts.measure(data, vectors)
    expected = by_scipy(vectors, sizes, {n: p.gold for n, p in data.parts.items()})
    spearman = {name: score for name, (_, score) in expected.items()}
    for name, score in spearman.items():
        assert find(measured, "all", name, "spearman").score == pytest.approx(score, abs=1e-4)
    together = [c for cosines, _ in expected.values() for c in cosines]
    gold = np.concatenate([p.gold for p in data.parts.values()])
    main = find(measured, "all", "all", "spearman")
    assert main.main
    assert main.n == 150
    assert main.score == pytest.approx(100 * stats.spearmanr(together, gold).statistic, abs=1e-4)
    pearson = 100 * stats.pearsonr(together, gold).statistic
    assert find(measured, "all", "all", "pearson").score == pytest.approx(pearson, abs=1e-4)
    mean = find(measured, "all", "mean", "spearman").score
    assert mean == pytest.approx(np.mean(list(spearman.values())), abs=1e-4)
    wmean = sum(sizes[n] * spearman[n] for n in sizes) / 150
    assert find(measured, "all", "wmean", "spearman").score == pytest.approx(wmean, abs=1e-4)


def test_splits_are_scored_apart_and_test_is_the_main_one() -> None:
    """As SimCSE does for STS-B and SICK-R; everything together is beside it."""
    sizes = {"train": 40, "dev": 20, "test": 30}
    data, vectors = random_pairs("splits", sizes)
    measured = sts.measure(data, vectors)
    expected = by_scipy(vectors, sizes, {n: p.gold for n, p in data.parts.items()})
    for name in sizes:
        score = find(measured, name, None, "spearman")
        assert score.score == pytest.approx(expected[name][1], abs=1e-4)
        assert score.main == (name == "test")
    assert find(measured, "all", None, "spearman").n == 90
    assert measured.details["main_parts"] == [2]
    assert np.bincount(measured.examples["part"]).tolist() == [40, 20, 30]


@pytest.mark.parametrize("sizes", [{"all": 30}, {"train": 20, "dev": 10}])
def test_without_a_test_split_everything_is_the_main_score(sizes: dict[str, int]) -> None:
    """One main score, over all pairs."""
    measured = sts.measure(*random_pairs("splits", sizes))
    assert [(s.split, s.metric, s.n) for s in measured.scores if s.main] == [
        ("all", "spearman", 30)
    ]


def test_pairs_of_identical_sentences_are_tied() -> None:
    """Three such pairs get one rank, as scipy gives to equal cosines."""
    left = RNG.normal(size=(6, 5)).astype(np.float32) * np.array([[1e-4], [1], [7], [1], [1], [1]])
    right = left.copy()
    right[3:] = RNG.normal(size=(3, 5))
    gold = [5.0, 3.0, 4.0, 2.0, 1.0, 0.0]
    measured = sts.measure(
        ScoredPairs("ties", {"all": part(gold)}, "splits"), np.concatenate([left, right])
    )
    cosines = [1.0, 1.0, 1.0] + [
        1 - distance.cosine(u, v) for u, v in zip(left[3:], right[3:], strict=True)
    ]
    expected = 100 * stats.spearmanr(cosines, gold).statistic
    assert find(measured, "all", None, "spearman").score == pytest.approx(expected, abs=1e-9)


def test_a_zero_vector_counts_with_cosine_zero() -> None:
    """SentEval's nan_to_num: no pair is dropped."""
    vectors = RNG.normal(size=(8, 3)).astype(np.float32)
    vectors[0] = 0
    measured = sts.measure(ScoredPairs("zero", {"all": part([1, 2, 3, 4])}, "splits"), vectors)
    assert measured.examples["cosine"][0] == 0.0
    assert find(measured, "all", None, "spearman").n == 4


def test_alignment_and_uniformity_come_with_pairs_of_0_to_5() -> None:
    """Alignment over gold above 4, not from 4 on; n is n_pos and n_data."""
    gold = [4.0, 4.2, 5.0, 1.0]
    vectors = np.eye(8, dtype=np.float32)
    measured = sts.measure(
        ScoredPairs("sphere", {"all": part(gold)}, "splits"),
        np.concatenate([vectors[:4] * 3, vectors[[0, 1, 4, 5]]]),
    )
    alignment = find(measured, "all", None, "alignment")
    assert (alignment.score, alignment.n) == (pytest.approx(1.0), 2), "0 and 2, the 4.0 left out"
    uniformity = find(measured, "all", None, "uniformity")
    expected = np.log((2 + 26 * np.exp(-4)) / 28)  # two equal pairs, all others at right angles
    assert (uniformity.score, uniformity.n) == (pytest.approx(expected), 8)


def test_other_scales_and_years_have_no_alignment() -> None:
    """SICK is scored 1 to 5, a year has subsets: the definition does not apply."""
    data, vectors = random_pairs("subsets", {"one": 20})
    metrics = {s.metric for s in sts.measure(data, vectors).scores}
    assert metrics == {"spearman", "pearson", "random_cosine"}


def test_an_undefined_subset_is_left_out_and_named() -> None:
    """One pair has no correlation: the year keeps `all`, and has no mean."""
    data, vectors = random_pairs("subsets", {"one": 20, "lonely": 1})
    measured = sts.measure(data, vectors)
    assert measured.details["undefined"] == ["lonely", "mean", "wmean"]
    assert {s.aggregation for s in measured.scores if s.metric == "spearman"} == {"all", "one"}


def test_one_pair_or_one_gold_score_is_refused() -> None:
    """A correlation is not defined."""
    for gold in ([3.0], [3.0, 3.0, 3.0]):
        vectors = RNG.normal(size=(2 * len(gold), 3))
        with pytest.raises(UserError, match="not defined"):
            sts.measure(ScoredPairs("few", {"all": part(gold)}, "splits"), vectors)


def test_a_collapsed_encoder_is_told() -> None:
    """Every cosine the same: an error that says so, not nan."""
    with pytest.raises(UserError, match="same cosine") as caught:
        sts.measure(ScoredPairs("flat", {"all": part([1, 2, 3])}, "splits"), np.ones((6, 4)))
    assert "same direction" in caught.value.hint
