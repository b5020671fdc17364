"""Agreement of rankings, diagnostics and judges, by hand and against scipy."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import adjusted_mutual_info_score, v_measure_score

from tests.errors import refused
from theodolite.engine.stats.agreement import (
    MIN_ENCODERS,
    Agreement,
    DecoderAgreement,
    LeaveOneOut,
    Relation,
    Summary,
    agreement,
    alpha,
    between_decoders,
    complete,
    correlations,
    means,
    overlapping,
    relate,
    shared,
    stability,
    without_each,
)
from theodolite.engine.stats.bootstrap import Sample, bootstrap
from theodolite.engine.stats.v_measure import adjusted_mutual_information, v_measure_parts

SIX = "abcdef"
RISING = dict(zip(SIX, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), strict=True))
TURNING = dict(zip(SIX, (5.0, 2.0, 3.0, 4.0, 1.0, 6.0), strict=True))
RNG = np.random.default_rng(0)
NAN = pytest.approx(math.nan, nan_ok=True)


def test_one_swap_of_four_by_hand() -> None:
    """Orders 1234 and 1243: d² sums to 2, so rho = 1 - 6·2/(4·15); 5 pairs agree, 1 does not."""
    first = {"a": 90.0, "b": 80.0, "c": 70.0, "d": 60.0}
    found = agreement(first, {"a": 90.0, "b": 80.0, "c": 61.0, "d": 62.0})
    assert found == Agreement(4, pytest.approx(0.8), pytest.approx(4 / 6), (("c", "d"),))
    # A swapped pair names first who was ahead, and what is missing takes no part.
    assert agreement({"a": 1.0, "b": 2.0}, {"a": 2.0, "b": 1.0}).swapped == (("b", "a"),)
    assert agreement(first, {"a": 30.0, "c": 10.0, "d": math.nan}) == Agreement(2, 1.0, 1.0, ())
    # Too few, or all tied, have no rank correlation.
    for second in ({}, {"a": 1.0}, {"a": 5.0, "b": 5.0}):
        assert agreement({"a": 1.0, "b": 2.0}, second) == Agreement(len(second), NAN, NAN, ())


def test_rank_correlations_are_those_of_scipy() -> None:
    x, y = (RNG.integers(0, 6, 12).astype(float) for _ in range(2))
    found = agreement(dict(enumerate(x)), dict(enumerate(y)))
    expected = stats.spearmanr(x, y).statistic, stats.kendalltau(x, y).statistic
    assert (found.spearman, found.kendall) == pytest.approx(expected, abs=1e-12)
    x, y = RNG.normal(size=9), RNG.normal(size=9)
    each = [stats.spearmanr(np.delete(x, i), np.delete(y, i)).statistic for i in range(9)]
    without = stability(dict(enumerate(x)), dict(enumerate(y)))
    assert (without.lowest, without.highest) == pytest.approx((min(each), max(each)))


def test_a_correlation_that_one_encoder_turns_by_hand() -> None:
    """d² sums to 32: rho = 1 - 6·32/210; without f it is 1 - 6·32/120, without a 1 - 6·12/120."""
    found, firm = stability(RISING, TURNING), stability(RISING, RISING)
    rho, lowest, highest = map(pytest.approx, (1 - 192 / 210, -0.6, 0.4))
    assert found == LeaveOneOut(rho, 6, lowest, highest, "f", "a") and found.turns
    assert (firm.value, firm.lowest, firm.highest, firm.turns) == (1.0, 1.0, 1.0, False)


def test_a_table_is_over_the_encoders_that_have_all_of_it() -> None:
    five = {name: RISING[name] for name in "abcde"}
    assert stability(five, RISING) is None
    scores = {n: {"MR": RISING[n], "SUBJ": RISING[n], "Length": TURNING[n]} for n in SIX}
    with refused("too-few", "5 encoders", MIN_ENCODERS):
        correlations({name: scores[name] for name in five}, ["MR"], ["Length"])
    scores["g"] = {"MR": 0.0, "Length": 100.0}
    found = correlations(scores, ["MR", "SUBJ"], ["Length"])
    assert found["MR", "Length"] == found["SUBJ", "Length"] and found["MR", "Length"].n == 6
    flat = {name: scores[name] | {"Flat": 50.0} for name in SIX}
    assert list(correlations(flat, ["MR"], ["Flat", "Length"])) == [("MR", "Length")]
    # A task that few have costs the others nothing.
    scores["a"]["SNLI"] = 1.0
    assert complete(scores, ["SNLI", "SUBJ", "Length"]) == (list(SIX), ["SUBJ", "Length"])
    assert complete({"a": {"MR": 1.0}}, ["MR"]) == ([], [])


@pytest.mark.parametrize(
    ("having", "encoders", "tasks"),
    [
        ({"a": "xyz", "b": "xy"}, "ab", "xy"),  # a task more counts for nobody
        ({"a": "wxyz", "b": "wxyz", "c": "w"}, "ab", "wxyz"),  # one task only costs nobody others
        ({"a": "xyz", "b": "xyz", "c": "xy"}, "abc", "xy"),  # as many cells: the more encoders
        ({"a": "wxyz", "b": "x"}, "ab", "x"),  # two can be compared, one cannot
        ({"a": "xyz", "b": "w", "c": "w"}, "bc", "w"),
        ({"a": "xy", "b": "z"}, "a", "xy"),
        ({"odd": "z", "a": "xy", "b": "xy"}, "ab", "xy"),
        ({}, "", ""),
    ],
)
def test_all_that_is_ranked_is_shared(having: dict[str, str], encoders: str, tasks: str) -> None:
    """The encoders and tasks with the most cells among which none is missing."""
    scores = {name: dict.fromkeys(mine, 1.0) for name, mine in having.items()}
    assert shared(scores) == shared(scores, scores) == (list(encoders), list(tasks))


def test_means_are_over_what_all_were_measured_on_both_ways() -> None:
    first = {"a": {"MR": 70.0, "SUBJ": 90.0}, "b": {"MR": 60.0, "SUBJ": 80.0}, "c": {"MR": 1.0}}
    second = {"a": {"MR": 72.0, "SUBJ": 91.0}, "b": {"MR": 71.0}}
    assert shared(first, second) == (["a", "b"], ["MR"])
    assert means(second, *shared(first, second)) == {"a": 72.0, "b": 71.0}
    # Ranges over seeds: b meets a at one point; c is clear of both.
    assert overlapping({"a": (70.0, 71.0), "b": (71.0, 72.0), "c": (73.0, 74.0)}) == [("a", "b")]


# --- diagnostics of decoders and other scores ----------------------------------------------------

NAMES = [f"encoder {i}" for i in range(8)]
DIAGNOSTICS = {name: RNG.normal(size=8).round(1).tolist() for name in ("id", "bleu", "cosine")}
SCORES = {name: RNG.normal(size=8).round(1).tolist() for name in ("MR", "Depth")}


def by_encoder(columns: dict[str, list[float]], encoders: int = 8) -> dict[str, dict[str, float]]:
    """Columns as rows by encoder; nan is left out."""
    return {
        name: {c: v[row] for c, v in columns.items() if not math.isnan(v[row])}
        for row, name in enumerate(NAMES[:encoders])
    }


def test_every_relation_is_scipys() -> None:
    found = relate(by_encoder(DIAGNOSTICS), by_encoder(SCORES))
    assert (found.encoders, found.missing) == (tuple(NAMES), {})
    assert list(found.cells) == [
        Relation(name, task, pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12), 8)
        for task, y in SCORES.items()
        for name, x in DIAGNOSTICS.items()
    ]
    rhos = [cell.rho for cell in found.cells]
    assert [*found.summaries, found.overall] == [
        Summary(task, min(of), pytest.approx(np.mean(of)), len(of))
        for task, of in (("MR", rhos[:3]), ("Depth", rhos[3:]), ("", rhos))
    ]
    # Encoders that are all alike have no order.
    alike = {"id": [3.0] * 8}
    some = relate(by_encoder(DIAGNOSTICS | alike), by_encoder({"MR": SCORES["MR"]}))
    assert math.isnan(some.cells[0].rho) and not math.isnan(some.overall.mean)
    none = relate(by_encoder(alike), by_encoder(SCORES)).overall
    assert (some.overall.diagnostics, none) == (2, Summary("", NAN, NAN, 0))


def test_one_encoder_can_make_the_correlation() -> None:
    """Seven in order and an outlier: 1 without it, and by hand 1/3 with it.

    The ranks 1 to 8 against 2 to 8 and 1: seven differences of 1 and one of 7, so
    1 - 6 (7 + 49) / (8 * 63) = 1/3.
    """
    diagnostics = by_encoder({"id": [1.0, 2, 3, 4, 5, 6, 7, 8]})
    scores = by_encoder({"MR": [2.0, 3, 4, 5, 6, 7, 8, 1]})
    assert relate(diagnostics, scores).cells[0].rho == pytest.approx(1 / 3)
    without = without_each(diagnostics, scores)
    assert list(without) == NAMES and {w.cells[0].encoders for w in without.values()} == {7}
    *others, outlier = (each.overall.mean for each in without.values())
    assert max(others) < 0.5 < outlier == pytest.approx(1.0)
    few = without_each(by_encoder(DIAGNOSTICS, MIN_ENCODERS), by_encoder(SCORES))
    assert {cell.encoders for each in few.values() for cell in each.cells} == {5}


def test_an_encoder_without_a_number_is_left_out_of_it() -> None:
    """Of that correlation alone; a score that too few have is told, not correlated."""
    gap, rare = SCORES["MR"].copy(), SCORES["Depth"].copy()
    gap[2], rare[:4] = math.nan, [math.nan] * 4
    found = relate(by_encoder(DIAGNOSTICS), by_encoder({"MR": gap, "Depth": rare}))
    assert {(c.score, c.encoders) for c in found.cells} == {("MR", 7)}
    assert ([s.score for s in found.summaries], found.missing) == (["MR"], {"Depth": 2})
    rho = stats.spearmanr(np.delete(DIAGNOSTICS["id"], 2), np.delete(gap, 2)).statistic
    assert found.cells[0].rho == pytest.approx(rho)
    rare[3] = 1.0  # five: one too few with all encoders, and no more when one is left out
    every = without_each(by_encoder(DIAGNOSTICS), by_encoder({"MR": gap, "Depth": rare}))
    assert {cell.score for each in every.values() for cell in each.cells} == {"MR"}


def test_decoders_of_two_kinds_agree_as_scipy_says() -> None:
    variants = {
        kind: {name: (DIAGNOSTICS[name] + RNG.normal(size=8)).tolist() for name in names}
        for kind, names in (("prefix", DIAGNOSTICS), ("lstm", DIAGNOSTICS), ("half", ["id"]))
    }
    found = between_decoders({kind: by_encoder(columns) for kind, columns in variants.items()})
    expected = [
        *((name, "prefix", "lstm") for name in DIAGNOSTICS),
        ("id", "prefix", "half"),
        ("id", "lstm", "half"),
    ]
    for one, (name, *pair) in zip(found, expected, strict=True):
        rho = stats.spearmanr(*(variants[kind][name] for kind in pair)).statistic
        assert one == DecoderAgreement(name, *pair, pytest.approx(rho, abs=1e-12), 8)


@pytest.mark.parametrize("here", [0, 1, 5])
def test_too_few_encoders(here: int) -> None:
    diagnostics, few = by_encoder(DIAGNOSTICS), by_encoder(DIAGNOSTICS, here)
    for correlate in (relate, without_each, lambda *of: between_decoders(dict(enumerate(of)))):
        with refused("too-few", f"{here} encoders", f"{6 - here} are"):
            correlate(diagnostics, few)
    with refused("too-few", "1 kinds"):
        between_decoders({"prefix": diagnostics})


# --- judges --------------------------------------------------------------------------------------

_ = np.nan
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
)
"""Krippendorff 2011, section C: four observers, twelve units, some not seen by all."""
TWO = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], float)
"""Section A: ten units and binary marks."""


def test_agreement_of_judges() -> None:
    of_both = [alpha(PUBLISHED), alpha(TWO), alpha(TWO[[0, 0]])]
    assert of_both == pytest.approx([0.743, 0.095, 1.0], abs=5e-4)
    assert alpha(np.stack([TWO[0], 1 - TWO[0]])) < 0
    nothing = (np.ones((2, 5)), np.array([[1.0, _], [_, 0.0]]), np.empty((2, 0)))
    assert np.isnan([alpha(marks) for marks in nothing]).all()


# --- groups ---


def test_the_mean_of_the_parts_is_v_measure(rng: np.random.Generator) -> None:
    """Of examples that count several times or not at all."""
    labels, times = rng.integers(0, 8, 500), rng.integers(0, 4, 500)
    clusters = (labels + rng.integers(0, 3, 500)) % 8
    expected = v_measure_score(np.repeat(labels, times), np.repeat(clusters, times))
    assert v_measure_parts(labels, clusters, times).mean() == pytest.approx(expected)
    alike = v_measure_parts(np.zeros(4, int), np.zeros(4, int), np.ones(4))
    assert alike.tolist() == [1.0] * 4, "one label in one cluster"


def test_the_parts_move_as_v_measure_does(rng: np.random.Generator) -> None:
    """Leaving out one example in a hundred moves both alike; the plain bootstrap would not do."""
    labels = rng.integers(0, 5, 3000)
    clusters = np.where(rng.random(3000) < 0.8, labels, rng.integers(0, 5, 3000))
    parts = v_measure_parts(labels, clusters, np.ones(3000))
    most = rng.random((30, 3000)) > 0.01
    moved = [v_measure_score(labels[kept], clusters[kept]) for kept in most]
    guessed = [parts[kept].mean() for kept in most]
    assert np.corrcoef(moved, guessed)[0, 1] > 0.99
    assert np.std(guessed) == pytest.approx(np.std(moved), rel=0.1)
    spread = bootstrap(Sample(parts), 300).std()
    assert spread == pytest.approx(100 * parts.std() / np.sqrt(3000), rel=0.15)


@pytest.mark.parametrize(
    ("n", "labels", "clusters"),
    [(4000, 2, 2), (3000, 3, 40), (2000, 90, 90), (60, 30, 25), (5, 5, 5), (50, 1, 4), (9, 1, 1)],
)
@pytest.mark.parametrize("agreement", [0.0, 0.7, 1.0])
def test_adjusted_mutual_information(
    n: int, labels: int, clusters: int, agreement: float, rng: np.random.Generator
) -> None:
    """Large and small groups, some in one, chance and agreement; some count several times."""
    right, times = rng.integers(0, labels, n), rng.integers(0, 4, n)
    found = np.where(rng.random(n) < agreement, right % clusters, rng.integers(0, clusters, n))
    expected = adjusted_mutual_info_score(np.repeat(right, times), np.repeat(found, times))
    assert adjusted_mutual_information(right, found, times) == pytest.approx(expected, abs=1e-9)
