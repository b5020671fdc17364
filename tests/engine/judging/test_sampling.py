"""The choice of what is judged next, and what follows from the marks."""

import itertools
from pathlib import Path

import numpy as np
import pytest

from benchmarks import judging
from theodolite.engine.datasets import Catalog
from theodolite.engine.judging import pool, sampling
from theodolite.engine.judging.sampling import Draw, Units
from theodolite.engine.stats.betting import log_capital

WEIGHTS = np.array([[0.3, 0.1], [-0.2, 0.0], [0.1, -0.4], [-0.25, 0.2], [0.15, 0.3]])
CELLS = np.array([0, 1, 0, 1, 2])


def _every_session(units: Units, truth: np.ndarray):  # type: ignore[no-untyped-def]
    """All orders in which units can be drawn, each with its probability and its draws."""
    for order in itertools.permutations(range(len(truth))):
        chance, draws = 1.0, []
        left = np.ones(len(truth), bool)
        for position, unit in enumerate(order):
            drawn = list(order[:position])
            expected = sampling.rates(units, drawn, truth[drawn])
            undecided = (position < 2, True)  # may change with what was seen
            chance *= sampling.probabilities(units, left, expected, undecided)[unit]
            draws.append(Draw(unit, expected, undecided))
            left[unit] = False
        yield chance, draws


@pytest.mark.parametrize("low", [0.0, -1.0])
def test_unbiased_whatever_is_chosen(low: float) -> None:
    """Over all 120 orders the mean of each observation is the difference, and within its bounds.

    And a gambler who bets against the true difference has 1 on average after each mark: with that,
    Ville's inequality makes the interval valid, however the units are chosen.
    """
    truth = np.array([1.0, 0.0, 1.0, 1.0, low])
    units = Units(WEIGHTS, CELLS, low)
    true = WEIGHTS.T @ truth
    values, capital, total = np.zeros((5, 2)), np.zeros((5, 2)), 0.0
    for chance, draws in _every_session(units, truth):
        total += chance
        seen = sampling.observations(units, draws, truth[[one.unit for one in draws]])
        for pair, one in enumerate(seen):
            values[:, pair] += chance * one.values
            capital[:, pair] += chance * np.exp(log_capital(one, true[pair : pair + 1])[:, 0])
            assert (one.low - 1e-9 <= one.values).all() and (one.values <= one.high + 1e-9).all()
            assert (one.low - 1e-9 <= true[pair]).all() and (true[pair] <= one.high + 1e-9).all()
    assert total == pytest.approx(1.0)
    assert values == pytest.approx(np.tile(true, (5, 1)))
    assert capital == pytest.approx(np.ones((5, 2)))


def test_all_judged_is_all_known() -> None:
    """At the end the interval is the difference itself."""
    truth, units = np.array([1.0, 0.0, 1.0, 1.0, 0.0]), Units(WEIGHTS, CELLS)
    _, draws = next(_every_session(units, truth))
    for pair, found in enumerate(sampling.estimates(units, draws, truth)):
        assert (found.low, found.high) == pytest.approx((WEIGHTS[:, pair] @ truth,) * 2, abs=1e-9)


def test_probabilities_are_bounded_below() -> None:
    """However sure the rates are, no unit is left out: each keeps 0.4 of its weight's share."""
    units = Units(WEIGHTS[:, :1], CELLS)
    left = np.ones(5, bool)
    chances = sampling.probabilities(units, left, (0.0, 1.0, 0.5), (True,))
    share = np.abs(WEIGHTS[:, 0]) / np.abs(WEIGHTS[:, 0]).sum()
    assert (chances >= 0.4 * share - 1e-12).all() and chances.sum() == pytest.approx(1.0)


def test_no_difference_is_rarely_claimed() -> None:
    """Of 200 sessions without a difference no more claim one than chance allows; of 1,000 66."""
    assert judging.most_by_chance(1000) == 66
    assert judging.false_claims(200, queries=14) <= judging.most_by_chance(200)


def test_adaptive_choice_needs_fewer_marks() -> None:
    """On ten sessions with a clear difference: under 0.8 of those of random queries."""
    worlds = [judging.drawn_world(seed, 0.8) for seed in range(10)]
    marks = {
        choose: [choose(world, seed).marks for seed, world in enumerate(worlds)]
        for choose in (judging.adaptive, judging.random_queries)
    }
    assert sum(marks[judging.adaptive]) < 0.8 * sum(marks[judging.random_queries])


@pytest.mark.parametrize("encoders", judging.ENCODERS, ids=["apart", "near twins"])
def test_claims_do_not_contradict_hidden_judgements(data_root: Path, encoders) -> None:  # type: ignore[no-untyped-def]
    """Cranfield's own judgements, hidden and played by a script, in 20 sessions of 300 marks."""
    ((_, world),) = judging.real_worlds(Catalog(data_root), encoders, ("cranfield",))
    played = [judging.adaptive(world, seed, most=300) for seed in range(20)]
    right = int(np.sign(world.difference))
    assert sum(one.claim == -right for one in played) <= judging.most_by_chance(20)
    assert sum(one.claim == right for one in played) >= 10


def test_the_difference_is_that_of_the_measure() -> None:
    """The sum over units is the difference of the encoders' gains, query by query."""
    world = judging.drawn_world(3, 0.4)
    at = pool.gains(judging.K, "dcg")
    means = [
        np.mean(
            [
                sum(
                    at[rank] * world.mark(query, document)
                    for rank, document in enumerate(lists[: judging.K])
                )
                for query, lists in enumerate(side)
            ]
        )
        for side in world.rankings.values()
    ]
    assert world.difference == pytest.approx(means[0] - means[1])


def test_what_need_not_be_judged() -> None:
    """The same document at the same rank tells nothing; encoders that return the same, neither."""
    keys, units = pool.documents({"a": [[1, 2, 3]], "b": [[1, 3, 4]]}, 3, "precision")
    assert keys == [(0, 2), (0, 4)]
    assert units.weights[:, 0] == pytest.approx([1 / 3, -1 / 3])
    keys, units = pool.documents({"a": [[1, 2]], "b": [[1, 2]]}, 2, "dcg")
    assert keys == [] and units.weights.shape == (0, 1)
    assert sampling.draw(units, [], np.empty(0), (True,), np.random.default_rng(0)) is None
    (found,) = sampling.estimates(units, [], np.empty(0))
    assert (found.difference, found.low, found.high) == (0.0, 0.0, 0.0)
    keys, units = pool.preferences({"a": [[1, 2], [3]], "b": [[1, 2], [4]], "c": [[2], [3]]}, 2)
    assert keys == [(0, 1), (0, 2), (1, 0), (1, 2)] and units.low == -1.0
