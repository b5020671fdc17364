"""The order of examples: every one once an epoch, the same from any step on."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from theodolite.engine.training import order
from theodolite.engine.training.encoder import batches, steps_of
from theodolite.engine.training.spec import TrainSpec


def spec(**changes) -> TrainSpec:
    """A spec with some changes."""
    return TrainSpec("unsup", "new:layers=1", "starter", "out", **changes)


def test_an_epoch_has_each_example_once():
    """An epoch has each example once."""
    epoch = list(batches(10, 4, 3, seed=1))
    assert [len(batch) for batch in epoch] == [4, 4, 2]
    assert sorted(np.concatenate(epoch)) == list(range(10))


def test_each_epoch_has_an_order_of_its_own():
    """Each epoch has an order of its own."""
    run = list(batches(9, 3, 6, seed=1))
    first, second = np.concatenate(run[:3]), np.concatenate(run[3:])
    assert sorted(first) == sorted(second) == list(range(9))
    assert list(first) != list(second)


@pytest.mark.parametrize("start", [0, 1, 3, 4, 7, 11])
def test_a_run_goes_on_as_if_it_had_not_stopped(start):
    """A run goes on as if it had not stopped."""
    whole = list(batches(10, 3, 12, seed=5))
    rest = list(batches(10, 3, 12, seed=5, start=start))
    assert [list(batch) for batch in rest] == [list(batch) for batch in whole[start:]]


def test_the_seed_decides_the_order():
    """The seed decides the order."""
    one, same, other = (np.concatenate(list(batches(50, 8, 7, seed))) for seed in (1, 1, 2))
    assert list(one) == list(same) != list(other)


def test_a_batch_larger_than_the_data_holds_all_of_them():
    """A batch larger than the data holds all of them."""
    assert [sorted(batch) for batch in batches(3, 64, 2, seed=0)] == [[0, 1, 2], [0, 1, 2]]


def test_steps_are_counted_by_epochs_or_given():
    """Steps are counted by epochs or given."""
    assert steps_of(spec(batch_size=64), 1_000_000) == 15_625  # SimCSE's unsupervised run
    assert steps_of(spec(batch_size=64, epochs=0.5), 129) == 2
    assert steps_of(spec(batch_size=64, epochs=0.001), 129) == 1
    assert steps_of(spec(batch_size=64, steps=7), 1_000_000) == 7


def test_the_example_in_the_docstring_runs():
    """The example in the docstring runs."""
    assert doctest.testmod(order).failed == 0
