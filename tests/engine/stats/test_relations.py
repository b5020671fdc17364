"""Rank correlations over encoders, against scipy and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from theodolite.engine.errors import UserError
from theodolite.engine.stats.agreement import LEAST_ENCODERS
from theodolite.engine.stats.relations import relate, stability, without_each

NAMES = [f"encoder {i}" for i in range(8)]


def numbers(columns: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Columns of eight as rows by encoder; nan is left out."""
    return {
        name: {c: v[row] for c, v in columns.items() if not math.isnan(v[row])}
        for row, name in enumerate(NAMES)
    }


RNG = np.random.default_rng(0)
DIAGNOSTICS = {name: RNG.normal(size=8).round(1).tolist() for name in ("id", "bleu", "cosine")}
SCORES = {name: RNG.normal(size=8).round(1).tolist() for name in ("MR", "Depth")}


def test_every_correlation_is_scipys() -> None:
    """Each diagnostic with each score, ties and all; the least and the mean over diagnostics."""
    found = relate(numbers(DIAGNOSTICS), numbers(SCORES))
    assert found.encoders == tuple(NAMES)
    assert len(found.cells) == 6
    for cell in found.cells:
        rho = stats.spearmanr(DIAGNOSTICS[cell.diagnostic], SCORES[cell.score]).statistic
        assert cell.rho == pytest.approx(rho, abs=1e-12)
        assert cell.encoders == 8
    for summary in found.summaries:
        values = [c.rho for c in found.cells if c.score == summary.score]
        assert (summary.lowest, summary.diagnostics) == (min(values), 3)
        assert summary.mean == pytest.approx(sum(values) / 3)
    assert [s.score for s in found.summaries] == ["MR", "Depth"]
    assert found.overall.lowest == min(c.rho for c in found.cells)
    assert found.overall.mean == pytest.approx(np.mean([c.rho for c in found.cells]))
    assert not found.missing


def test_one_encoder_can_make_the_correlation() -> None:
    """Seven in order and an outlier: 1 without it, and by hand 1/3 with it.

    The ranks 1 to 8 against 2 to 8 and 1: seven differences of 1 and one of 7, so
    1 - 6 (7 + 49) / (8 * 63) = 1/3.
    """
    diagnostics = numbers({"id": [1.0, 2, 3, 4, 5, 6, 7, 8]})
    scores = numbers({"MR": [2.0, 3, 4, 5, 6, 7, 8, 1]})
    assert relate(diagnostics, scores).cells[0].rho == pytest.approx(1 / 3)
    without = without_each(diagnostics, scores)
    assert list(without) == NAMES
    assert without[NAMES[7]].overall.mean == pytest.approx(1.0)
    assert all(without[name].overall.mean < 0.5 for name in NAMES[:7])
    assert all(w.cells[0].encoders == 7 for w in without.values())


def test_six_are_enough_to_leave_one_out() -> None:
    """Of the least that can be correlated, five remain."""
    few = {name: numbers(DIAGNOSTICS)[name] for name in NAMES[:LEAST_ENCODERS]}
    without = without_each(few, numbers(SCORES))
    assert {cell.encoders for each in without.values() for cell in each.cells} == {5}


def test_an_encoder_without_a_number_is_left_out_of_it() -> None:
    """Of that correlation alone; a score that too few have is told, not correlated."""
    gap, rare = SCORES["MR"].copy(), SCORES["Depth"].copy()
    gap[2] = math.nan
    rare[:4] = [math.nan] * 4
    found = relate(numbers(DIAGNOSTICS), numbers({"MR": gap, "Depth": rare}))
    assert {(c.score, c.encoders) for c in found.cells} == {("MR", 7)}
    assert found.missing == {"Depth": 2}
    kept = [i for i in range(8) if i != 2]
    rho = stats.spearmanr(np.array(DIAGNOSTICS["id"])[kept], np.array(gap)[kept]).statistic
    assert found.cells[0].rho == pytest.approx(rho)
    assert [s.score for s in found.summaries] == ["MR"]
    rare[3] = 1.0  # five: one too few with all encoders, and no more when one is left out
    every = without_each(numbers(DIAGNOSTICS), numbers({"MR": gap, "Depth": rare}))
    assert {cell.score for each in every.values() for cell in each.cells} == {"MR"}


def test_encoders_that_are_all_alike_have_no_order() -> None:
    """No number in its cell, and not counted in the mean."""
    found = relate(numbers(DIAGNOSTICS | {"id": [3.0] * 8}), numbers({"MR": SCORES["MR"]}))
    assert math.isnan(found.cells[0].rho)
    assert found.overall.diagnostics == 2
    assert math.isfinite(found.overall.mean)
    alike = relate(numbers({"id": [3.0] * 8}), numbers(SCORES))
    assert alike.overall.diagnostics == 0
    assert math.isnan(alike.overall.mean)


@pytest.mark.parametrize("here", [0, 1, 5])
def test_too_few_encoders(here: int) -> None:
    """Says how many there are and how many are missing."""
    few = {name: numbers(SCORES)[name] for name in NAMES[:here]}
    expected = f"{here} encoders have a diagnosis and a score: {6 - here} are missing"
    with pytest.raises(UserError, match=expected):
        relate(numbers(DIAGNOSTICS), few)
    with pytest.raises(UserError, match=expected):
        without_each(numbers(DIAGNOSTICS), few)


def test_stability_is_scipys() -> None:
    """Between every two kinds of decoder, for each diagnostic that both have."""
    variants = {
        name: numbers({k: (np.array(v) + RNG.normal(size=8)).tolist() for k, v in columns.items()})
        for name, columns in (
            ("prefix", DIAGNOSTICS),
            ("lstm", DIAGNOSTICS),
            ("half", {"id": DIAGNOSTICS["id"]}),
        )
    }
    found = stability(variants)
    assert [(a.first, a.second, a.diagnostic) for a in found] == [
        *(("prefix", "lstm", name) for name in DIAGNOSTICS),
        ("prefix", "half", "id"),
        ("lstm", "half", "id"),
    ]
    for one in found:
        left, right = (
            [variants[side][name][one.diagnostic] for name in NAMES]
            for side in (one.first, one.second)
        )
        assert one.rho == pytest.approx(stats.spearmanr(left, right).statistic, abs=1e-12)
        assert one.encoders == 8


def test_stability_needs_two_kinds_and_six_encoders() -> None:
    """And says what is missing."""
    with pytest.raises(UserError, match="1 kinds"):
        stability({"prefix": numbers(DIAGNOSTICS)})
    few = {name: numbers(DIAGNOSTICS)[name] for name in NAMES[:4]}
    with pytest.raises(UserError, match=r"4 encoders have decoders of two kinds.*2 are"):
        stability({"prefix": numbers(DIAGNOSTICS), "lstm": few})
