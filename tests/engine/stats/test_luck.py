"""What varies a score besides the choice of examples: draws, seeds, neighbours."""

import math

import numpy as np
import pytest
from scipy import stats

from theodolite.engine.stats.bootstrap import bootstrap, main_sample, resample_all
from theodolite.engine.stats.significance import difference, pairwise
from theodolite.engine.stats.spread import spreads, words

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
    ends = np.percentile(resampled, [2.5, 97.5])
    half = stats.t(9).ppf(0.975) * error
    np.testing.assert_allclose(ends, [50 - half, 50 + half], rtol=0.01)
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
    assert found.p == pytest.approx(2 * stats.t(9).sf(10 / error), rel=0.05)
    assert found.verdict == "tie"
    np.testing.assert_allclose(second[0].draws, again[0].draws)


def test_p_values_are_those_of_the_paired_t_test_over_draws() -> None:
    """scipy.stats.ttest_rel, down to the p-values that many tests at once need."""
    rng = np.random.default_rng(0)
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
    assert (found.seeds, found.lowest, found.highest) == (3, 80.0, 84.0)
    assert (found.mean, found.deviation) == pytest.approx((245 / 3, math.sqrt(13 / 3)))
    assert words(found) == "± 2.08 over 3 seeds"


OLD = [row(1, 10.0), row(2, 20.0)]
NEW = [row(1, 80.0, fingerprint="g"), row(2, 82.0, fingerprint="g")]


@pytest.mark.parametrize(
    ("rows", "mean"),
    [
        # Of two versions the one measured last counts: new weights have their own spread.
        (OLD + NEW, 81.0),
        (NEW + OLD, 15.0),
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
    found = spreads(rows)
    assert {of: one.mean for of, one in found.items()} == (
        {} if mean is None else {("e", "MR", "senteval"): mean}
    )
