"""The paper's ablations: every row is a run, and its own choice is the run as it was."""

from __future__ import annotations

import math

import pytest

from theodolite.engine.errors import UserError
from theodolite.engine.training.ablations import ABLATIONS, SCALES, children, scaled
from theodolite.engine.training.encoder import steps_of
from theodolite.engine.training.presets import SUPERVISED, UNSUPERVISED
from theodolite.engine.training.spec import TrainSpec

UNSUP = TrainSpec.from_dict(UNSUPERVISED | {"base": "minilm", "train": "starter", "out": "o"})
SUP = TrainSpec.from_dict(SUPERVISED | {"base": "minilm", "train": "nli", "out": "o"})
START = {"unsup": UNSUP, "sup": SUP}


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_row_is_a_run_of_its_own(name) -> None:
    """No two rows are the same run, and no two labels the same."""
    spec = START[ABLATIONS[name].objective]
    found = children(name, spec)
    runs = {
        str({**TrainSpec.from_dict(spec.to_dict() | changes).to_dict(), "dropout": dropout})
        for _, changes in found
        for dropout in [changes.get("dropout", 0.1)]
    }
    assert len(runs) == len(dict(found)) == len(found)


@pytest.mark.parametrize("name", ABLATIONS)
def test_the_paper_chose_its_best_row(name) -> None:
    """What the paper's presets are is the best row of each table (82.5, 86.2), bar equals."""
    ablation = ABLATIONS[name]
    spec = START[ablation.objective]
    top = max(row.score for row in ablation.rows)
    assert top == {"unsup": 82.5, "sup": 86.2}[ablation.objective]
    best = [row.changes for row in ablation.rows if row.score == top]
    usual = spec.to_dict() | {"dropout": 0.1}
    assert any(usual | changes == usual for changes in best)


def test_the_subjects_of_the_tables_are_all_there() -> None:
    """In the numbers of the paper's last version."""
    assert [a.table for a in ABLATIONS.values()] == [
        "1",
        "2",
        "3",
        "4",
        "6",
        "6",
        "7",
        "D.1",
        "D.2",
    ]
    assert [len(a.rows) for a in ABLATIONS.values()] == [10, 8, 8, 3, 4, 4, 4, 6, 4]


def test_alpha_of_equation_8_becomes_a_logit() -> None:
    """Adding log 2 to a logit doubles its term in the sum."""
    weights = [row.changes.get("hard_negative_weight") for row in ABLATIONS["hard-negatives"].rows]
    assert weights[0] is None
    assert [math.exp(weight) for weight in weights[1:]] == pytest.approx([0.5, 1.0, 2.0])


def test_a_table_needs_the_objective_it_starts_from() -> None:
    """A table of supervised runs is none of unsupervised data."""
    with pytest.raises(UserError, match="starts from sup, not from unsup"):
        children("temperature", UNSUP)
    with pytest.raises(UserError, match="no ablation 'temprature'"):
        children("temprature", SUP)


def test_scales_bound_the_examples_and_look_ten_times() -> None:
    """A run of 20,000 sentences in batches of 64 has 313 updates, and looks every 31."""
    small = scaled(UNSUP, "small")
    assert (small.limit, small.dev_every) == (20_000, 31)
    assert steps_of(small, 20_000) == 313
    assert scaled(UNSUP, "paper") == UNSUP
    assert scaled(SUP, "try").dev_every >= 1
    limits = [scale.limit or math.inf for scale in SCALES.values()]
    assert limits == sorted(limits)
    with pytest.raises(UserError, match="no scale 'huge'"):
        scaled(UNSUP, "huge")
