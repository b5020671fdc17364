"""Examples that are not independent: by hand, against scipy, and on simulated clusters."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from theodolite.engine.stats.bootstrap import (
    Sample,
    bootstrap,
    codes_of,
    effective,
    main_sample,
    resample_all,
    sharing,
)
from theodolite.engine.stats.significance import difference, interval, mcnemar, pairwise_mcnemar


def test_examples_that_share_a_text_are_one_cluster() -> None:
    """Directly or through another; empty texts are shared with none."""
    rows = [("a", "b"), ("c", "a"), ("d", "e"), ("e", "f"), ("", "g"), ("", "h")]
    assert sharing(rows).tolist() == [0, 0, 1, 1, 2, 3]
    assert codes_of(["x", "", "x", ""]).tolist() == [0, 1, 0, 2]
    counts = [effective(np.array(codes)) for codes in ([0, 0, 1, 1], [0, 0, 0, 1])]
    assert counts == pytest.approx([2.0, 16 / 10])
    # Each pair shares a text with the next: the texts are drawn, not the one chain.
    found = sharing([(f"text {i}", f"text {i + 1}") for i in range(100)])
    assert found.shape == (100, 2) and (found[1:, 0] == found[:-1, 1]).all()
    # Few documents are no chain: there are no more clusters than that.
    asked = [(f"question {i}", f"document {i % 12}") for i in range(48)]
    assert effective(sharing(asked)) == 12


def test_clusters_of_one_are_independent_examples() -> None:
    """The same draws to the digit, for two as for one, and the same tests."""
    rng = np.random.default_rng(1)
    values, gold, own = rng.random(40), rng.random(40), np.arange(40)
    new, again = resample_all([Sample(values, clusters=own // 4)] * 2, 50)
    assert np.array_equal(new.draws, again.draws) and new.units == again.units == 10.0
    assert np.array_equal(
        bootstrap(Sample(values, gold), 50), bootstrap(Sample(values, gold, clusters=own), 50)
    )
    right = rng.random((5, 40)) < 0.6
    assert pairwise_mcnemar(right, own) == pytest.approx(pairwise_mcnemar(right))


@pytest.mark.parametrize("correlation", ["spearman", "pearson"])
@pytest.mark.parametrize("ways", [1, 2])
def test_a_correlation_of_drawn_clusters_is_that_of_scipy(correlation: str, ways: int) -> None:
    """Of the examples written out as often as they were drawn, which are not always equally many.

    Where an example is in two clusters, that is the product of both.
    """
    rng = np.random.default_rng(2)
    values, gold = rng.integers(0, 9, 30) / 1.0, rng.integers(0, 5, 30) / 1.0
    clusters = rng.permutation(np.arange(30 * ways) % 12).reshape(30, ways).squeeze()
    draws = bootstrap(Sample(values, gold, correlation, clusters), 20, seed=3)  # type: ignore[arg-type]
    drawn = np.random.default_rng(3).integers(0, 12, (20, 12))
    scipys = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}[correlation]
    for draw, row in zip(draws, drawn, strict=True):
        times = np.bincount(row, minlength=12)[clusters].reshape(30, -1).prod(axis=1)
        some = np.repeat(np.arange(30), times)
        assert draw == pytest.approx(100 * scipys(values[some], gold[some])[0])


def test_the_standard_error_is_millers() -> None:
    """Miller 2024, section 2.2: sums of deviations over each cluster, squared, over n squared."""
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(150), rng.integers(1, 6, 150))
    values = rng.normal(size=150)[clusters] + rng.normal(size=len(clusters))
    apart = np.bincount(clusters, values - values.mean())
    expected = 100 * np.sqrt((apart**2).sum()) / len(values)
    assert bootstrap(Sample(values, clusters=clusters), 4000).std() == pytest.approx(
        expected, rel=0.06
    )


def test_mcnemar_by_cluster_by_hand() -> None:
    """Every answer given twice: 14 against 4 are 7 against 2 of twice the weight."""
    one, other = np.r_[np.ones(7), np.zeros(2)] > 0, np.r_[np.zeros(7), np.ones(2)] > 0
    twice, pairs = [np.repeat(side, 2) for side in (one, other)], np.repeat(np.arange(9), 2)
    assert mcnemar(*twice, pairs) == pytest.approx(mcnemar(one, other))
    assert mcnemar(*twice) < mcnemar(*twice, pairs) / 2
    # Two that cancel in each cluster do not make the rest surer than independent examples.
    mixed = np.r_[0, 0, 1, 1, 2, 3, 4, 5, 6]
    assert mcnemar(one, other, np.r_[0, 1, 2, 3, 4, 5, 6, 0, 1]) == mcnemar(one, other)
    assert mcnemar(one, other, mixed) > mcnemar(one, other)


def test_all_pairs_at_once_are_the_pairs_one_by_one() -> None:
    """Also of equals, and of examples in two clusters, of which one may be the same for all."""
    rng = np.random.default_rng(4)
    right = rng.random((5, 60)) < np.array([[0.5], [0.6], [0.7], [0.9], [0.9]])
    right[4] = right[3]
    for clusters in (None, rng.integers(0, 20, 60), rng.integers(0, 40, (60, 2))):
        codes = clusters
        if clusters is not None:
            codes = np.unique(clusters, return_inverse=True)[1].reshape(clusters.shape)
        p = pairwise_mcnemar(right, codes)
        alone = [mcnemar(right, right[other], codes) for other in range(5)]
        for a, b in combinations(range(5), 2):
            assert p[a, b] == p[b, a] == pytest.approx(float(mcnemar(right[a], right[b], codes)))
            assert alone[b][a] == pytest.approx(p[a, b])
        assert p[3, 4] == 1.0


@pytest.mark.parametrize(
    "codes", [np.arange(3), np.full(4, 10**9), -np.ones(4, int), np.ones(4), np.ones((4, 3), int)]
)
def test_what_numbers_no_clusters_is_left_alone(codes: np.ndarray) -> None:
    """From a store of another's making: as if the examples were independent."""
    assert main_sample({"correct": np.ones(4, bool), "cluster": codes}, {}).clusters is None


def clustered(rng: np.random.Generator, count: int, size: int) -> np.ndarray:
    """Normal values with an intra-cluster correlation of 0.5: (count * size,)."""
    return np.repeat(rng.normal(size=count), size) + rng.normal(size=count * size)


def ends(values: np.ndarray, clusters: np.ndarray, n: int, seed: int = 0) -> tuple[float, float]:
    """Of the interval of the mean, in points."""
    (drawn,) = resample_all([Sample(values, clusters=clusters)], n, seed)
    low, high = interval(drawn.draws[None], [drawn.units])
    return low[0], high[0]


def test_the_interval_of_few_clusters_is_students() -> None:
    """Of the means of fifteen clusters of eight, by scipy."""
    values = clustered(np.random.default_rng(0), 15, 8)
    means = values.reshape(15, 8).mean(axis=1)
    expected = 100 * np.array(stats.t.interval(0.95, 14, means.mean(), stats.sem(means)))
    found = ends(values, np.repeat(np.arange(15), 8), 20_000)
    assert found == pytest.approx(expected, abs=0.04 * np.ptp(expected))


def test_equal_encoders_on_clusters_are_rarely_called_different() -> None:
    """Both tests, at 5 %; McNemar's for independent examples is wrong clearly more often."""
    clusters, trials = np.repeat(np.arange(40), 6), 200
    wrong = {"bootstrap": 0, "clustered": 0, "independent": 0}
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        lead = clustered(rng, 40, 6)
        right, other = lead + rng.normal(size=240) > 0.5, -lead + rng.normal(size=240) > 0.5
        samples = [Sample(side.astype(float), clusters=clusters) for side in (right, other)]
        a, b = resample_all(samples, 400, trial)
        wrong["bootstrap"] += difference([a], [b]).p < 0.05
        wrong["clustered"] += bool(mcnemar(right, other, clusters) < 0.05)
        wrong["independent"] += bool(mcnemar(right, other) < 0.05)
    bound = stats.binom.ppf(0.999, trials, 0.05)
    assert max(wrong["bootstrap"], wrong["clustered"]) <= bound < wrong["independent"]


def test_texts_in_chains_are_drawn_wide_enough() -> None:
    """Pairs of 60 first and 60 second texts, either of which matters: no fewer than 95 % hold."""
    pairs = np.random.default_rng(0).integers([0, 60], [60, 120], (300, 2))
    clusters, trials, held = sharing([(f"{a}", f"{b}") for a, b in pairs]), 100, 0
    assert clusters.shape == (300, 2)
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        values = rng.normal(size=120)[pairs].sum(axis=1) + rng.normal(size=300)
        low, high = ends(values, clusters, 300, trial)
        held += low <= 0.0 <= high
    assert held >= stats.binom.ppf(0.001, trials, 0.95)
