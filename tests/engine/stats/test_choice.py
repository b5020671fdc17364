"""Who is best, who ties with it and what is as good, on examples made by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from tests.engine.samples import right
from theodolite.engine.stats.bootstrap import Sample
from theodolite.engine.stats.choice import Behind, behind, choose
from theodolite.engine.stats.power import (
    MAX_MORE,
    MIN_MORE,
    POWER,
    MoreExamples,
    to_show,
    to_tell_apart,
)


def test_the_best_and_those_that_tie_with_it() -> None:
    """Two points over one another tie; forty do not. Each has an interval that holds its score."""
    made = choose({"low": right(200, 120), "high": right(200, 40), "near": right(200, 44, 3)})
    assert (made.names, made.ties) == (("high", "near", "low"), ("near",))
    assert made.apart == {frozenset(("low", "high")), frozenset(("low", "near"))}
    score, low, high = made.intervals["high"]
    assert low < score < high and score == pytest.approx(80.0)
    assert high - low == pytest.approx(4 * 100 * np.sqrt(0.8 * 0.2 / 200), rel=0.15)
    assert made.behind["low"].delta == pytest.approx(-40.0)
    # A correlation may be below 0. A score without spread has none, and comes last.
    gold = np.arange(60.0)
    by_chance = np.random.default_rng(0).permutation(gold)
    score, low, high = choose({"chance": Sample(by_chance, gold)}).intervals["chance"]
    assert (low, high) == pytest.approx((score - 26, score + 26), abs=5) and low < min(score, 0)
    made = choose({"flat": Sample(np.ones(60), gold), "good": Sample(gold + 1, gold)})
    assert made.names == ("good", "flat")


def test_picking_the_best_flatters_it_the_more_the_more_alike_they_are(
    rng: np.random.Generator,
) -> None:
    """Of twenty that are equally good one leads by chance; of two that are far apart none does."""
    alike = {str(i): Sample((rng.random(200) < 0.7).astype(float)) for i in range(20)}
    apart = choose({"a": right(200, 20), "b": right(200, 160)})
    assert choose(alike).optimism > 1.0 > apart.optimism


def test_one_comparison_is_a_z_test_and_independent_ones_are_sidaks(
    rng: np.random.Generator,
) -> None:
    """Half the width of the interval in standard errors, for 1 and for 20 differences at once."""
    best = Sample(np.zeros(500))
    others = {str(i): Sample(rng.normal(size=500)) for i in range(20)}
    one = behind(best, {"0": others["0"]})["0"]
    assert one.critical == pytest.approx(1.96, abs=0.1)
    plain = 100 * others["0"].values.std() / np.sqrt(500)
    # One more example on which either is better.
    assert one.error == pytest.approx(np.hypot(plain, 100 * np.sqrt(2) / 500), rel=0.05)
    many = behind(best, others)["0"]
    assert many.critical == pytest.approx(norm.ppf((1 + 0.95 ** (1 / 20)) / 2), abs=0.15)
    assert many.high - many.low == pytest.approx(2 * many.critical * many.error)


@pytest.mark.parametrize("clusters", [3, 8])
def test_equals_on_a_few_clusters_are_seldom_told_apart(
    clusters: int, rng: np.random.Generator
) -> None:
    """Of two correlations, as few as Student's t-test does, where a z-test does in 11 to 25 %."""
    gold, which = rng.normal(size=80), np.arange(80) % clusters
    wrong = 0
    for _ in range(150):
        noise = rng.normal(size=(2, clusters))[:, which] + rng.normal(size=(2, 80)) / 2
        wrong += bool(choose({str(x): Sample(x, gold, clusters=which) for x in noise + gold}).apart)
    assert wrong <= 150 * 0.05 + 2 * np.sqrt(150 * 0.05 * 0.95)


@pytest.mark.parametrize("n", [30, 100])
@pytest.mark.parametrize("size", [1, 5])
def test_graded_scores_need_a_smaller_allowance_than_right_or_wrong(
    size: int, n: int, rng: np.random.Generator
) -> None:
    """Differences of reciprocal ranks, most of them 0, lie in intervals not as wide as theirs."""
    ranks = rng.geometric(0.6, (2, 4000 // size, size))
    ranks[1] = np.where(rng.random(ranks[1].shape) < 0.8, ranks[0], ranks[1] + 1)
    apart, which = np.diff(1 / ranks, axis=0)[0], np.repeat(np.arange(n), size)
    drawn = [apart[rng.integers(len(apart), size=n)].ravel() for _ in range(100)]
    zero = Sample(np.zeros(n * size), clusters=which if size > 1 else None)
    found = [behind(zero, {"b": replace(zero, values=values)})["b"] for values in drawn]
    held = [one.low <= 100 * apart.mean() <= one.high for one in found]
    assert sum(held) >= 100 * 0.95 - 2 * np.sqrt(100 * 0.05 * 0.95)
    plain = np.hypot(apart.mean(axis=1).std() / np.sqrt(n), np.sqrt(2) / n)
    assert np.mean([one.high - one.low for one in found]) < 0.9 * 2 * 1.96 * 100 * plain


def test_training_on_other_examples_widens_every_interval(rng: np.random.Generator) -> None:
    """By the root of what it adds to the variance."""
    samples = {name: Sample((rng.random(2000) < 0.7).astype(float)) for name in "ab"}
    plain, refitted = choose(samples), choose(samples, refit=0.5)
    for name in "ab":
        widths = [high - low for _, low, high in (plain.intervals[name], refitted.intervals[name])]
        assert widths[1] / widths[0] == pytest.approx(np.sqrt(1.5))
    (name,) = plain.behind
    assert refitted.behind[name].error / plain.behind[name].error == pytest.approx(1.22, abs=0.02)


def test_what_is_shown_to_be_within_a_margin_is(rng: np.random.Generator) -> None:
    """Of sheets with forms that lose 2.5 points, at most 5 % recommend one of them.

    On 40 examples that both get right, one may still be worse; on 400 hardly.
    """
    few, many = (behind(right(n, 0), {"b": right(n, 0)})["b"] for n in (40, 400))
    assert [(one.delta, one.within(2.0)) for one in (few, many)] == [(0.0, False), (0.0, True)]
    wrong = 0
    for _ in range(80):
        best = rng.random(300) < 0.8
        forms = {}
        for i in range(6):  # right where the best is wrong in 2 %, wrong where it is right in 4.5 %
            kind = rng.random(300)
            forms[str(i)] = Sample(np.where(kind < 0.02, 1.0, np.where(kind < 0.065, 0.0, best)))
        found = behind(Sample(best.astype(float)), forms)
        wrong += any(one.within(100 * (0.045 * 0.8 - 0.02 * 0.2)) for one in found.values())
    assert wrong <= 80 * 0.05 + 2 * np.sqrt(80 * 0.05 * 0.95)


# --- how many more examples decide ---


def found(delta: float, error: float, n: int = 300, critical: float = 1.96) -> Behind:
    """A difference with its standard error."""
    half = critical * error
    return Behind(delta, delta - half, delta + half, error, critical, n)


def test_the_wider_the_lead_the_fewer_are_lacking() -> None:
    """And more of them where more pairs are tested at once; whoever is ahead."""
    lacking = [to_tell_apart(found(d, 1.0, 1000)).n or 0 for d in (1.5, 1.7, 1.9)]
    assert MAX_MORE * 1000 > lacking[0] > lacking[1] > lacking[2] > 0
    assert (to_tell_apart(found(1.7, 1.0, 1000, 2.9)).n or 0) > lacking[1]
    assert to_tell_apart(found(-1.7, 1.0, 1000)).n == lacking[1]
    # Equals are never told apart, and half a standard error of four points promises nothing.
    assert to_tell_apart(found(0.0, 0.0)) == MoreExamples(None, 0.0)
    more = to_tell_apart(found(2.0, 4.0, 100))
    assert more.n is None and more.power < POWER


def test_the_number_is_as_the_normal_distribution_has_it() -> None:
    """With no doubt about the difference, power is that of a z-test: (1.96 + 0.84)^2 s^2 / d^2.

    A standard error of 0.3 points on 10,000 examples hardly leaves any doubt, nor does the prior.
    """
    more = to_tell_apart(found(0.55, 0.3, 10_000))
    whole = (1.96 + 0.8416) ** 2 * (0.3**2 * 10_000) / 0.55**2
    # Doubt about the difference only asks for more.
    assert whole - 10_000 < more.n < 10 * (whole - 10_000)
    # Where a tenth as many would do, no number is named, but the probability.
    more = to_tell_apart(found(9.0, 1.0, 1000))
    assert more.n is None and more.power >= POWER
    named = {to_tell_apart(found(d, 1.0, 1000, 2.9)).n for d in np.arange(1.0, 4.5, 0.25)}
    assert MIN_MORE * 1000 <= min(named - {None})


def test_a_margin_is_shown_where_the_loss_is_smaller() -> None:
    """The smaller the loss and the wider the margin, the fewer are lacking; never beyond it."""
    lacking = [to_show(found(-d, 0.8, 300), 2.0).n or 0 for d in (0.0, 0.3)]
    assert 0 < lacking[0] < lacking[1]
    assert to_show(found(-0.3, 0.8, 300), 2.2).n < lacking[1]
    assert to_show(found(-4.0, 0.8, 300), 2.0).n is None


def test_what_is_promised_comes_true_in_four_of_five(rng: np.random.Generator) -> None:
    """Of encoders that differ on few examples or on many, and of forms that lose too much."""
    shown, apart = [], []

    def drawn(n: int, differ: float, won: float) -> Behind:
        ahead = np.where(rng.random(n) < (1.0 + won) / 2.0, 1.0, -1.0) * (rng.random(n) < differ)
        return behind(Sample((ahead < 0).astype(float)), {"b": Sample(ahead > 0)})["b"]

    for differ in np.tile([0.01, 0.06, 0.2], 60):
        n, won = int(rng.choice([60, 150, 400])), rng.uniform(-0.8, 0.4)
        first = drawn(n, differ, won)
        if first.low < -2.0 and (more := to_show(first, 2.0).n):
            shown.append(drawn(n + more, differ, won).within(2.0))
        if first.low <= 0.0 <= first.high and (more := to_tell_apart(first).n):
            new = drawn(n + more, differ, won)
            apart.append(new.low > 0.0 or new.high < 0.0)
    assert min(len(shown), len(apart)) > 20
    assert 0.7 < np.mean([*shown, *apart]) < 0.95
