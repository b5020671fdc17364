"""Correlations and resamples, of clusters too, against scipy and by hand."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import average_precision_score

from tests.engine.samples import pairs
from theodolite.engine.stats.betting import Observations, confidence_sequence, log_capital
from theodolite.engine.stats.bootstrap import (
    Sample,
    bootstrap,
    codes_of,
    effective,
    main_sample,
    pearson,
    ranks,
    resample_all,
    spearman,
    text_clusters,
)
from theodolite.engine.stats.significance import (
    difference,
    interval,
    mcnemar,
    pairwise,
    pairwise_mcnemar,
)
from theodolite.engine.stats.spread import Spread, spreads, words


@pytest.mark.parametrize("steps", [None, 20, 2])
def test_correlations_are_those_of_scipy(steps: int | None, rng: np.random.Generator) -> None:
    """With few or many ties, to 1e-12."""
    x = rng.normal(size=500) if steps is None else np.round(rng.normal(size=500) * steps)
    y = rng.normal(size=500) + 0.3 * x
    expected = stats.spearmanr(x, y).statistic, stats.pearsonr(x, y).statistic
    assert (spearman(x, y), pearson(x, y)) == pytest.approx(expected, abs=1e-12)
    np.testing.assert_array_equal(ranks(x), stats.rankdata(x))
    none = spearman(np.ones(5), np.arange(5)), pearson(np.array([1.0]), np.array([2.0]))
    assert np.isnan(none).all()


KEPT = {
    "spearman": lambda values, gold: (
        {"cosine": values, "gold": gold, "part": np.zeros(len(gold), np.int16)},
        {"main_parts": [0]},
    ),
    "pearson": lambda values, gold: (
        {"predicted": values, "gold": gold},
        {"selected_by": "pearson"},
    ),
    "average_precision": lambda values, gold: (
        {"similarity": values, "label": gold > 2},
        {"by": "cosine"},
    ),
}
SCORED = {
    "spearman": lambda values, gold: stats.spearmanr(values, gold).statistic,
    "pearson": lambda values, gold: stats.pearsonr(values, gold).statistic,
    "average_precision": lambda values, gold: average_precision_score(gold > 2, values),
}


@pytest.mark.parametrize("digits", [1, 8])
@pytest.mark.parametrize("statistic", SCORED)
def test_each_resample_is_scored_as_scipy_would(statistic: str, digits: int) -> None:
    """The drawn examples, duplicates and ties included, by what a result keeps."""
    given = pairs(200, 1.0, seed=1)
    values, gold, score = given.values.round(digits), given.gold, SCORED[statistic]
    sample = main_sample(*KEPT[statistic](values, gold))
    assert sample.statistic == pytest.approx(100 * score(values, gold))
    drawn = np.random.default_rng(5).integers(0, 200, size=(4, 200))
    expected = [100 * score(values[rows], gold[rows]) for rows in drawn]
    np.testing.assert_allclose(bootstrap(sample, 4, seed=5), expected, atol=1e-9)


def test_the_main_sample_is_the_part_of_the_main_score() -> None:
    """STS-B: the test split only; a year: all of its subsets."""
    examples = {
        "cosine": np.array([0.1, 0.2, 0.3, 0.4]),
        "gold": np.array([1.0, 2.0, 3.0, 4.0]),
        "part": np.array([0, 1, 1, 0], dtype=np.int16),
    }
    assert main_sample(examples, {"main_parts": [1]}).values.tolist() == [0.2, 0.3]
    assert main_sample(examples, {"main_parts": [0, 1]}).gold.tolist() == [1, 2, 3, 4]
    for name, kept, score in (("correct", [True, False], 50.0), ("token_f1", [0.5, 1.0], 75.0)):
        assert main_sample({name: np.array(kept)}, {}).statistic == score
    draws = bootstrap(Sample(np.array([1.0, 2, 0]), clusters=np.array([[0, 0], [1, 0], [0, 1]])))
    assert np.isnan(draws).any(), "a resample may draw none of the examples"


# --- confidence sequences by betting ---


def test_a_game_worked_by_hand() -> None:
    """Nothing is bet before anything is seen; after a 1, three fifths on more of them.

    The guess of 1/2 counts twice: the mean is guessed at 2/3, its gap to 1/2 is 1/6, the variance
    1/4, so the bet is (1/6) / (1/4 + 1/36) = 0.6, and another 1 makes 1 + 0.6 * 0.5 of 1. Then the
    mean is guessed at 3/4, the variance at (1/4 + 1/4 + 1/4 + 1/9) / 4 = 31/144, so the bet is 0.9.
    """
    seen = Observations.between(np.ones(3), 0.0, 1.0)
    capital = np.exp(log_capital(seen, np.array([0.5]))[:, 0])
    assert capital == pytest.approx([1.0, 1.3, 1.3 * 1.45])


@pytest.mark.parametrize("mean", [0.2, 0.5, 0.9])
def test_at_the_true_mean_no_bet_wins(mean: float) -> None:
    """Over all sequences of nine coins the expected capital is 1 after each."""
    total = np.zeros(9)
    for values in map(np.array, itertools.product([0.0, 1.0], repeat=9)):
        chance = np.prod(np.where(values > 0, mean, 1 - mean))
        seen = Observations.between(values, 0.0, 1.0)
        total += chance * np.exp(log_capital(seen, np.array([mean]))[:, 0])
    assert total == pytest.approx(np.ones(9), abs=1e-9)


def test_a_bound_alone_excludes() -> None:
    """A mean below what can be observed is impossible."""
    seen = Observations(np.array([0.5]), np.array([0.4]), np.array([0.6]), np.array([0.01]))
    assert np.isinf(log_capital(seen, np.array([0.3, 0.7]))).all()
    assert np.ravel(confidence_sequence(seen, 0.05)) == pytest.approx([0.4, 0.6], abs=0.002)
    nothing = Observations.between(np.empty(0), 0.0, 1.0)
    assert np.shape(confidence_sequence(nothing, 0.05)) == (2, 0)


# --- examples that are not independent ---


def test_examples_that_share_a_text_are_one_cluster() -> None:
    """Directly or through another; empty texts are shared with none."""
    rows = [("a", "b"), ("c", "a"), ("d", "e"), ("e", "f"), ("", "g"), ("", "h")]
    assert text_clusters(rows).tolist() == [0, 0, 1, 1, 2, 3]
    assert codes_of(["x", "", "x", ""]).tolist() == [0, 1, 0, 2]
    counts = [effective(np.array(codes)) for codes in ([0, 0, 1, 1], [0, 0, 0, 1])]
    assert counts == pytest.approx([2.0, 16 / 10])
    # Each pair shares a text with the next: the texts are drawn, not the one chain.
    found = text_clusters([(f"text {i}", f"text {i + 1}") for i in range(100)])
    assert found.shape == (100, 2) and (found[1:, 0] == found[:-1, 1]).all()
    # Few documents are no chain: there are no more clusters than that.
    asked = [(f"question {i}", f"document {i % 12}") for i in range(48)]
    assert effective(text_clusters(asked)) == 12


def test_clusters_of_one_are_independent_examples(rng: np.random.Generator) -> None:
    """The same draws to the digit, for two as for one, and the same tests."""
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
def test_a_correlation_of_drawn_clusters_is_that_of_scipy(
    correlation: str, ways: int, rng: np.random.Generator
) -> None:
    """Of the examples written out as often as they were drawn, which are not always equally many.

    Where an example is in two clusters, that is the product of both.
    """
    values, gold = rng.integers(0, 9, 30) / 1.0, rng.integers(0, 5, 30) / 1.0
    clusters = rng.permutation(np.arange(30 * ways) % 12).reshape(30, ways).squeeze()
    draws = bootstrap(Sample(values, gold, correlation, clusters), 20, seed=3)
    drawn = np.random.default_rng(3).integers(0, 12, (20, 12))
    for draw, row in zip(draws, drawn, strict=True):
        times = np.bincount(row, minlength=12)[clusters].reshape(30, -1).prod(axis=1)
        some = np.repeat(np.arange(30), times)
        assert draw == pytest.approx(100 * SCORED[correlation](values[some], gold[some]))


def test_the_standard_error_is_millers(rng: np.random.Generator) -> None:
    """Miller 2024, section 2.2: sums of deviations over each cluster, squared, over n squared."""
    clusters = np.repeat(np.arange(150), rng.integers(1, 6, 150))
    values = rng.normal(size=150)[clusters] + rng.normal(size=len(clusters))
    apart = np.bincount(clusters, values - values.mean())
    expected = 100 * np.sqrt((apart**2).sum()) / len(values)
    assert bootstrap(Sample(values, clusters=clusters), 4000).std() == pytest.approx(
        expected, rel=0.06
    )


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
    p = np.empty((3, trials))
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        lead = clustered(rng, 40, 6)
        pair = lead + rng.normal(size=240) > 0.5, -lead + rng.normal(size=240) > 0.5
        samples = [Sample(side.astype(float), clusters=clusters) for side in pair]
        a, b = resample_all(samples, 400, trial)
        p[:, trial] = difference([a], [b]).p, mcnemar(*pair, clusters), mcnemar(*pair)
    resampled, by_cluster, independent = (p < 0.05).sum(axis=1)
    assert max(resampled, by_cluster) <= stats.binom.ppf(0.999, trials, 0.05) < independent


def test_texts_in_chains_are_drawn_wide_enough() -> None:
    """Pairs of 60 first and 60 second texts, either of which matters: no fewer than 95 % hold."""
    pairs = np.random.default_rng(0).integers([0, 60], [60, 120], (300, 2))
    clusters, trials, held = text_clusters([(f"{a}", f"{b}") for a, b in pairs]), 100, 0
    assert clusters.shape == (300, 2)
    for trial in range(trials):
        rng = np.random.default_rng(trial)
        values = rng.normal(size=120)[pairs].sum(axis=1) + rng.normal(size=300)
        low, high = ends(values, clusters, 300, trial)
        held += low <= 0.0 <= high
    assert held >= stats.binom.ppf(0.001, trials, 0.95)


# --- what varies a score besides the choice of examples: draws and seeds ---


FLAT = {"share_right": np.full(400, 0.5)}
SHARE = {"mean_of": "share_right"}


@pytest.mark.parametrize(("kept", "averaged"), [("draws", 10), ("seeds", 1)])
def test_the_interval_by_luck_is_students(kept: str, averaged: int) -> None:
    """Where examples do not vary: of a mean over draws, or of one seed, which is no mean.

    Its variance is exactly that of Student's t-distribution.
    """
    scores = np.array([52.0, 47, 50, 49, 51, 55, 46, 50, 48, 52])
    error = scores.std(ddof=1) / np.sqrt(averaged)
    resampled = bootstrap(main_sample(FLAT | {kept: scores}, SHARE), 4000)
    expected = stats.t(9, 50, error).interval(0.95)
    np.testing.assert_allclose(np.percentile(resampled, [2.5, 97.5]), expected, rtol=0.01)
    assert resampled.std() == pytest.approx(error * stats.t(9).std(), rel=1e-3)
    # Of three draws nothing is known: Student's t has no variance on two degrees of freedom.
    found = [main_sample(FLAT | {"draws": np.arange(r, dtype=float)}, SHARE).luck for r in (3, 4)]
    assert found == [None, pytest.approx((np.arange(4) - 1.5) / 100 / np.sqrt(12))]


def test_single_seeds_of_two_encoders_are_not_paired() -> None:
    """One seed that jumps in one of them alone is no difference, though all others agree.

    The standard error is that of both, as of Welch's test; equal encoders have none.
    """
    modes = np.array([50.0, 60, 60, 50, 60, 50, 60, 60, 50, 60])
    jumped = np.r_[60.0, modes[1:]]
    first, second, again = (
        [one]
        for one in resample_all(
            [
                main_sample({"share_right": np.full(400, one[0] / 100), "seeds": one}, SHARE)
                for one in (jumped, modes, modes)
            ]
        )
    )
    found = difference(first, second)
    error = np.sqrt(jumped.var(ddof=1) + modes.var(ddof=1))
    p = pytest.approx(2 * stats.t(9).sf(10 / error), rel=0.05)
    assert (found.p, found.verdict) == (p, "tie")
    np.testing.assert_allclose(second[0].draws, again[0].draws)


def test_p_values_are_those_of_the_paired_t_test_over_draws(rng: np.random.Generator) -> None:
    """scipy.stats.ttest_rel, down to the p-values that many tests at once need."""
    first = rng.normal(50, 1, 10)
    found = []
    for second in (first + rng.normal(1, 0.5, 10), first + rng.normal(0, 0.5, 10)):
        pair = [
            main_sample({"share_right": np.full(400, one.mean() / 100), "draws": one}, SHARE)
            for one in (first, second)
        ]
        resampled = [[one] for one in resample_all(pair)]
        found.append(difference(*resampled).p)
        assert pairwise(resampled)[0, 1] == pytest.approx(found[-1])
        assert found[-1] == pytest.approx(stats.ttest_rel(first, second).pvalue, rel=1e-3)
    assert found[0] < 0.001 < 0.05 < found[1], "one of each, or the test says little"


# --- seeds ---


def row(seed: int, score: float | None, **other: object) -> dict[str, object]:
    """A result as the store lists it."""
    kept = {
        "encoder": "e",
        "task": "MR",
        "protocol": "senteval",
        "fingerprint": "f",
        "data_hash": "d",
        "error": None,
    }
    return kept | {"seed": seed, "score": score} | other


def test_the_deviation_is_that_of_a_sample() -> None:
    """80, 81, 84: mean 81.67, squares 2.78 + 0.44 + 5.44 = 8.67, over n - 1: 4.33, root 2.08."""
    (found,) = spreads([row(1, 80.0), row(2, 81.0), row(3, 84.0)]).values()
    mean, deviation = map(pytest.approx, (245 / 3, math.sqrt(13 / 3)))
    assert found == Spread(3, mean, deviation, 80.0, 84.0)
    assert words(found) == "± 2.08 over 3 seeds"


OLD = [row(1, 10.0), row(2, 20.0)]
NEW = [row(1, 80.0, fingerprint="g"), row(2, 82.0, fingerprint="g")]


@pytest.mark.parametrize(
    ("rows", "mean"),
    [
        # Of two versions the one measured last counts: new weights have their own spread.
        (OLD + NEW, 81.0),
        (NEW + OLD, 15.0),
        ([OLD[0], *NEW, OLD[1]], 15.0),
        # A failed one, one that gave no number and one of another question are no second.
        ([row(1, 80.0)], None),
        ([row(1, 80.0), row(2, None, error="Memory ran out.")], None),
        ([row(1, 80.0), row(2, math.nan)], None),
        *(
            ([row(1, 80.0), row(2, 90.0, **{question: "other"})], None)
            for question in ("encoder", "task", "protocol", "fingerprint", "data_hash")
        ),
    ],
)
def test_the_seeds_of_one_question_have_a_spread(
    rows: list[dict[str, object]], mean: float | None
) -> None:
    assert {of: found.mean for of, found in spreads(rows).items()} == (
        {} if mean is None else {("e", "MR", "senteval"): mean}
    )
