"""Grids and random searches: every combination, seeded draws, nothing that cannot be run."""

from __future__ import annotations

import math

import pytest

from theodolite.engine.errors import UserError
from theodolite.engine.training.spec import TrainSpec
from theodolite.engine.training.sweeps import Range, best, grid, parsed, search

SPEC = TrainSpec("unsup", "minilm", "starter", "out")


def test_a_grid_has_every_combination_in_a_stable_order() -> None:
    """The last field changes fastest, labels say what is run."""
    runs = grid(SPEC, {"learning_rate": [1e-5, 3e-5], "batch_size": [64, 128]})
    assert runs == [
        ("learning rate 1e-05, batch size 64", {"learning_rate": 1e-5, "batch_size": 64}),
        ("learning rate 1e-05, batch size 128", {"learning_rate": 1e-5, "batch_size": 128}),
        ("learning rate 3e-05, batch size 64", {"learning_rate": 3e-5, "batch_size": 64}),
        ("learning rate 3e-05, batch size 128", {"learning_rate": 3e-5, "batch_size": 128}),
    ]


def test_a_value_given_twice_is_run_once() -> None:
    """The same run again would only be skipped as done."""
    assert len(grid(SPEC, {"seed": [1, 2, 1]})) == 2


@pytest.mark.parametrize(
    ("varied", "message"),
    [
        ({"learning_rte": [1]}, "no field 'learning_rte'"),
        ({"out": ["a", "b"]}, "no field 'out'"),
        ({"temperature": [0.05, 0.0]}, "temperature cannot be 0.0"),
        ({"head": ["mlp", "mpl"]}, "head cannot be 'mpl'"),
        ({"seed": []}, "seed has no value"),
        ({}, "Nothing is varied"),
        ({"seed": range(501)}, "501 runs"),
        ({"seed": range(10**6), "batch_size": range(1, 10**6)}, "runs; 500 are the most"),
        ({"temperature": Range(0.01, 1.0)}, "no ranges"),
    ],
)
def test_what_cannot_be_run_is_refused_before_anything_starts(varied, message) -> None:
    """Each child is checked as a TrainSpec."""
    with pytest.raises(UserError, match=message):
        grid(SPEC, varied)


def test_a_search_is_decided_by_its_seed() -> None:
    """And a longer one begins with the runs of a shorter one."""
    varied = {"learning_rate": Range(1e-6, 1e-4, log=True), "batch_size": Range(16, 256)}
    runs = search(SPEC, varied, 10, seed=3)
    assert search(SPEC, varied, 10, seed=3) == runs
    assert search(SPEC, varied, 4, seed=3) == runs[:4]
    assert search(SPEC, varied, 10, seed=4) != runs
    assert len({label for label, _ in runs}) == 10


def test_draws_stay_in_their_range_and_are_whole_where_they_must() -> None:
    """A third of the draws of a logarithmic range fall into each of its three decades."""
    varied = {"learning_rate": Range(1e-6, 1e-3, log=True), "batch_size": Range(16, 256)}
    changes = [found for _, found in search(SPEC, varied, 300, seed=0)]
    assert all(isinstance(c["batch_size"], int) and 16 <= c["batch_size"] <= 256 for c in changes)
    rates = [c["learning_rate"] for c in changes]
    assert all(1e-6 <= rate <= 1e-3 for rate in rates)
    decades = [sum(low <= math.log10(r) < low + 1 for r in rates) for low in (-6, -5, -4)]
    assert all(70 <= count <= 130 for count in decades)


def test_a_search_among_few_finds_each_once() -> None:
    """Fewer come back than were asked for, and none comes twice."""
    runs = search(SPEC, {"head": ["mlp", "none"], "seed": [1, 2]}, 50, seed=0)
    assert len(runs) == 4


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("learning_rate=1e-5, 3e-5", ("learning_rate", [1e-5, 3e-5])),
        ("batch-size=64,128", ("batch_size", [64, 128])),
        ("hard_negatives=true,false", ("hard_negatives", [True, False])),
        ("dropout=none,0.2", ("dropout", [None, 0.2])),
        ("head=mlp,none", ("head", ["mlp", "none"])),
        ("temperature=0.01..0.1", ("temperature", Range(0.01, 0.1))),
        ("learning_rate=1e-6..1e-4:log", ("learning_rate", Range(1e-6, 1e-4, log=True))),
    ],
)
def test_what_is_varied_can_be_written_in_a_line(text, wanted) -> None:
    """For the command line; values take the type of their field."""
    assert parsed(text) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rate=1", "no field 'rate'"),
        ("seed", "no values"),
        ("seed=1.5", "Expected a whole number"),
        ("dropout=much", "Expected a number"),
        ("dual=perhaps", "Expected true or false"),
        ("temperature=1..0.1", "no range"),
        ("temperature=low..0.1", "The temperature cannot be 'low'"),
        ("temperature=0..1:log", "no logarithm"),
        ("temperature=0.1..1:lin", "ends in 'lin'"),
        ("batch_size=1.6..1.9", "The batch size cannot be '1.6'"),
    ],
)
def test_a_slip_is_told(text, message) -> None:
    """With what was expected."""
    with pytest.raises(UserError, match=message):
        parsed(text)


def test_a_range_of_what_is_no_number_is_refused() -> None:
    """Heads have no order."""
    with pytest.raises(UserError, match="head is no number"):
        search(SPEC, {"head": Range(0, 1)}, 3, seed=0)


def test_the_best_has_the_highest_dev_score() -> None:
    """The first of equals; runs without a score do not count."""
    assert best([70.0, 75.5, None, 75.5, math.nan]) == 1
    assert best([None, math.nan]) is None
