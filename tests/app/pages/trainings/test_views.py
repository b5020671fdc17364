"""Pictures of training, and ablations beside the paper: directions, spreads, recognition."""

import json

import numpy as np
import pytest

from theodolite.app.pages.trainings.ablations import judged, recognised
from theodolite.app.pages.trainings.answer import Line, charts, thinned
from theodolite.app.pages.trainings.service import Curves
from theodolite.engine.training.ablations import ABLATIONS
from theodolite.engine.training.sweeps import seeded


def test_a_long_curve_is_averaged_over_neighbours():
    """Numpy's means over blocks of eight; the last step is never lost."""
    values = np.random.default_rng(0).random(7_003)
    steps, means = thinned(Line("a", 0, range(1, 7_004), values))
    blocks = [values[i : i + 8].mean() for i in range(0, 7_003, 8)]
    np.testing.assert_allclose(means, blocks, rtol=1e-12)
    assert (len(steps), steps[0], steps[-1]) == (876, 8, 7_003)


@pytest.mark.parametrize(("kept", "mark"), [(70.0, "star"), (66.0, "x"), (68.0, "x")])
def test_the_base_is_a_line_and_only_what_is_better_has_a_star(kept, mark):
    """Within its interval; the curve starts at the base."""
    scores = {0: 68.0, 10: 65.0, 20: kept}
    looks = [{"step": s, "score": v, "low": v - 2, "high": v + 2} for s, v in scores.items()]
    _, chart = charts([("mine", 20, Curves(evals=looks))])
    base, band, line, star = json.loads(chart.drawing["figure"])["data"]
    assert (base["x"], base["y"], base["line"]["dash"]) == ([0, 20], [68.0, 68.0], "dot")
    assert (min(band["y"]), max(band["y"])) == (min(65.0, kept) - 2, max(68.0, kept) + 2)
    assert (line["x"][0], line["y"][0], star["marker"]["symbol"]) == (0, 68.0, mark)


DROPOUT = ABLATIONS["dropout"]
ROWS = [(row.label, row.changes) for row in DROPOUT.rows]


def by_label(scores):
    """Verdicts of the dropout table, by the label of its row."""
    return {one["row"]: one for one in judged(DROPOUT, scores)}


def test_the_papers_best_row_is_what_others_are_held_against():
    """In table 3 that is p = 0.1 with 82.5; p = 0 is 11.4 points below it."""
    found = by_label({})
    assert found["p = 0.1"]["verdict"] == "reference"
    assert found["p = 0"]["paper_difference"] == pytest.approx(71.1 - 82.5)


def test_one_seed_agrees_or_disagrees_by_its_sign():
    """Without a spread nothing can lie within it."""
    found = by_label({"p = 0.1": [70.0], "p = 0": [69.9], "p = 0.5": [70.1]})
    assert (found["p = 0"]["verdict"], found["p = 0"]["difference_deviation"]) == ("agrees", None)
    assert (found["p = 0.5"]["verdict"], found["p = 0.2"]["verdict"]) == ("disagrees", "")


def test_several_seeds_have_a_spread():
    """By hand: deviations 1 and sqrt(2) give one of sqrt(3) for a difference of single seeds."""
    scores = {"p = 0.1": [69.0, 70.0, 71.0], "p = 0": [67.0, 69.0], "p = 0.5": [60.0, 62.0]}
    found = by_label(scores)
    assert found["p = 0"]["difference"] == pytest.approx(-2.0)
    first = found["p = 0"]
    assert first["difference_deviation"] == pytest.approx(3**0.5) and first["verdict"] == "agrees"
    closer = by_label(scores | {"p = 0": [67.5, 69.5]})["p = 0"]
    assert (closer["difference"], closer["verdict"]) == (pytest.approx(-1.5), "within the spread")
    assert found["p = 0.5"]["verdict"] == "agrees"


@pytest.mark.parametrize(
    ("reference", "same", "verdict"),
    [
        ([80.0], [80.4], ""),
        ([80.0, 81.0], [80.2, 81.2], "agrees"),
        ([80.0, 80.1], [90.0, 90.1], "disagrees"),
    ],
)
def test_rows_that_the_paper_prints_alike_agree_within_the_spread(reference, same, verdict):
    """Table 7 has 86.2 for two weights; one seed says nothing about a tie."""
    hard = ABLATIONS["hard-negatives"]
    one, two = (next(r.label for r in hard.rows if r.label.endswith(f"α = {a}")) for a in (1, 2))
    judgements = judged(hard, {one: reference, two: same})
    assert [found["verdict"] for found in judgements if found["row"] == two] == [verdict]


@pytest.mark.parametrize("name", ABLATIONS)
def test_a_sweep_is_recognised_by_its_rows(name):
    """Pooling has the same rows twice: the objective tells them apart."""
    ablation = ABLATIONS[name]
    children = seeded([(row.label, row.changes) for row in ablation.rows], [1, 2])
    labels = [label for label, _ in children]
    assert recognised(labels, [ablation.objective]) is ablation
    assert recognised(labels[:-2], [ablation.objective]) is None
