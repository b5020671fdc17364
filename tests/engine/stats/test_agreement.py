"""The tools of Pitfalls (Eger, Rücklé, Gurevych 2019) on numbers worked by hand and by scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from theodolite.engine.errors import UserError
from theodolite.engine.stats.agreement import (
    agreement,
    complete,
    correlations,
    means,
    overlapping,
    shared,
    stability,
)

SIX = "abcdef"
RISING = dict(zip(SIX, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), strict=True))
TURNING = dict(zip(SIX, (5.0, 2.0, 3.0, 4.0, 1.0, 6.0), strict=True))


def test_one_swap_of_four_by_hand() -> None:
    """Orders 1234 and 1243: d² sums to 2, so rho = 1 - 6·2/(4·15); 5 pairs agree, 1 does not."""
    first = {"a": 90.0, "b": 80.0, "c": 70.0, "d": 60.0}
    second = {"a": 90.0, "b": 80.0, "c": 61.0, "d": 62.0}
    found = agreement(first, second)
    assert found.n == 4
    assert found.spearman == pytest.approx(0.8)
    assert found.kendall == pytest.approx(4 / 6)
    assert found.swapped == (("c", "d"),)


def test_a_swapped_pair_names_first_who_was_ahead() -> None:
    """Whatever the order in which the encoders are given."""
    assert agreement({"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}).swapped == (("b", "a"),)


def test_rank_correlations_are_those_of_scipy() -> None:
    """With ties, on both sides."""
    rng = np.random.default_rng(4)
    x, y = (rng.integers(0, 6, 12).astype(float) for _ in range(2))
    names = [str(i) for i in range(12)]
    found = agreement(dict(zip(names, x, strict=True)), dict(zip(names, y, strict=True)))
    assert found.spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)
    assert found.kendall == pytest.approx(stats.kendalltau(x, y).statistic, abs=1e-12)


def test_what_is_missing_takes_no_part() -> None:
    """Neither absent nor nan counts as zero, which would swap b and c."""
    first = {"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.5}
    found = agreement(first, {"a": 30.0, "c": 10.0, "d": math.nan})
    assert (found.n, found.spearman, found.swapped) == (2, 1.0, ())


@pytest.mark.parametrize("second", [{}, {"a": 1.0}, {"a": 5.0, "b": 5.0}])
def test_too_few_or_all_tied_have_no_rank_correlation(second: dict[str, float]) -> None:
    """nan, and nobody swapped."""
    found = agreement({"a": 1.0, "b": 2.0}, second)
    assert math.isnan(found.spearman) and math.isnan(found.kendall)
    assert found.swapped == ()


def test_a_correlation_that_one_encoder_turns_by_hand() -> None:
    """d² sums to 32: rho = 1 - 6·32/210; without f it is 1 - 6·32/120, without a 1 - 6·12/120."""
    found = stability(RISING, TURNING)
    assert found is not None
    assert found.value == pytest.approx(1 - 192 / 210)
    assert (found.lowest, found.without_lowest) == (pytest.approx(-0.6), "f")
    assert (found.highest, found.without_highest) == (pytest.approx(0.4), "a")
    assert found.turns and found.n == 6


def test_each_correlation_without_one_is_that_of_scipy() -> None:
    """Lowest and highest of scipy's spearmanr over all sets with one left out."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=9), rng.normal(size=9)
    names = [str(i) for i in range(9)]
    found = stability(dict(zip(names, x, strict=True)), dict(zip(names, y, strict=True)))
    rest = [np.arange(9) != i for i in range(9)]
    each = [stats.spearmanr(x[keep], y[keep]).statistic for keep in rest]
    assert found is not None
    assert found.lowest == pytest.approx(min(each)) and found.highest == pytest.approx(max(each))


def test_a_firm_correlation_does_not_turn() -> None:
    """Perfect order stays 1 whoever is left out."""
    found = stability(RISING, RISING)
    assert found is not None
    assert (found.value, found.lowest, found.highest, found.turns) == (1.0, 1.0, 1.0, False)


def test_below_six_encoders_there_is_no_correlation() -> None:
    """None rather than a number, and a sentence where a table was asked for."""
    five = {name: RISING[name] for name in "abcde"}
    assert stability(five, RISING) is None
    scores = {name: {"MR": 1.0 * i, "Length": 2.0 * i} for i, name in enumerate("abcde")}
    with pytest.raises(UserError, match="over 5 encoders means nothing"):
        correlations(scores, ["MR"], ["Length"])


def test_a_task_that_scores_all_alike_has_no_correlation() -> None:
    """Its cell is absent, not zero."""
    scores = {name: {"MR": RISING[name], "Flat": 50.0, "Length": TURNING[name]} for name in SIX}
    found = correlations(scores, ["MR"], ["Flat", "Length"])
    assert list(found) == [("MR", "Length")]


def test_an_encoder_without_all_tasks_is_in_no_cell() -> None:
    """Seven encoders, one without SUBJ: every cell is over the same six."""
    scores = {n: {"MR": RISING[n], "SUBJ": RISING[n], "Length": TURNING[n]} for n in SIX}
    scores["g"] = {"MR": 0.0, "Length": 100.0}
    found = correlations(scores, ["MR", "SUBJ"], ["Length"])
    assert {cell.n for cell in found.values()} == {6}
    assert found["MR", "Length"] == found["SUBJ", "Length"]


def test_a_task_that_few_have_does_not_cost_the_others() -> None:
    """SNLI, measured once, is left out; the six that share the rest stay."""
    scores = {name: {"MR": 1.0, "Length": 1.0} for name in SIX}
    scores["a"]["SNLI"] = 1.0
    assert complete(scores, ["SNLI", "MR", "Length"]) == (list(SIX), ["MR", "Length"])
    assert complete({"a": {"MR": 1.0}}, ["MR"]) == ([], [])


def test_means_are_over_what_all_were_measured_on_both_ways() -> None:
    """Encoder b lacks SUBJ the second way, so means are over MR; c has nothing there."""
    first = {"a": {"MR": 70.0, "SUBJ": 90.0}, "b": {"MR": 60.0, "SUBJ": 80.0}, "c": {"MR": 1.0}}
    second = {"a": {"MR": 72.0, "SUBJ": 91.0}, "b": {"MR": 71.0}}
    names, tasks = shared(first, second)
    assert (names, tasks) == (["a", "b"], ["MR"])
    assert means(second, names, tasks) == {"a": 72.0, "b": 71.0}


def test_an_encoder_that_shares_no_task_is_given_up() -> None:
    """Rather than the comparison of the other two."""
    rest = {"MR": 1.0, "SUBJ": 2.0}
    scores = {"odd": {"TREC": 3.0}, "a": rest, "b": rest}
    assert shared(scores, scores) == (["a", "b"], ["MR", "SUBJ"])
    assert shared({}, {}) == ([], [])


@pytest.mark.parametrize(
    ("having", "encoders", "tasks"),
    [
        ({"a": "xyz", "b": "xy"}, "ab", "xy"),  # a task more counts for nobody
        (
            {"a": "wxyz", "b": "wxyz", "c": "w"},
            "ab",
            "wxyz",
        ),  # one task only costs nobody the others
        ({"a": "xyz", "b": "xyz", "c": "xy"}, "abc", "xy"),  # as many cells: the more encoders
        ({"a": "wxyz", "b": "x"}, "ab", "x"),  # two can be compared, one cannot
        ({"a": "xyz", "b": "w", "c": "w"}, "bc", "w"),
        ({"a": "xy", "b": "z"}, "a", "xy"),
    ],
)
def test_all_that_is_ranked_is_shared(having: dict[str, str], encoders: str, tasks: str) -> None:
    """The encoders and tasks with the most cells among which none is missing."""
    scores = {name: dict.fromkeys(mine, 1.0) for name, mine in having.items()}
    assert shared(scores) == (list(encoders), list(tasks))


def test_ranges_over_seeds_overlap_or_not() -> None:
    """Encoder b meets a at one point; c is clear of both."""
    ranges = {"a": (70.0, 71.0), "b": (71.0, 72.0), "c": (73.0, 74.0)}
    assert overlapping(ranges) == [("a", "b")]
