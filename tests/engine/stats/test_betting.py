"""Confidence sequences by betting."""

import itertools

import numpy as np
import pytest

from theodolite.engine.stats.betting import Observations, confidence_sequence, log_capital


def test_a_game_worked_by_hand() -> None:
    """Nothing is bet before anything is seen; after a 1, three fifths on more of them.

    The guess of 1/2 counts twice: the mean is guessed at 2/3, its gap to 1/2 is 1/6, the variance
    1/4, so the bet is (1/6) / (1/4 + 1/36) = 0.6, and another 1 makes 1 + 0.6 * 0.5 of 1.
    """
    seen = Observations.between(np.array([1.0, 1.0]), 0.0, 1.0)
    assert np.exp(log_capital(seen, np.array([0.5]))[:, 0]) == pytest.approx([1.0, 1.3])


@pytest.mark.parametrize("mean", [0.2, 0.5, 0.9])
def test_at_the_true_mean_no_bet_wins(mean: float) -> None:
    """Over all sequences of nine coins the expected capital is 1 after each."""
    total = np.zeros(9)
    for coins in itertools.product([0.0, 1.0], repeat=9):
        values = np.array(coins)
        chance = np.prod(np.where(values > 0, mean, 1 - mean))
        seen = Observations.between(values, 0.0, 1.0)
        total += chance * np.exp(log_capital(seen, np.array([mean]))[:, 0])
    assert total == pytest.approx(np.ones(9), abs=1e-9)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (10.0, 30.0), (0.2, 0.2)])
def test_the_interval_holds_at_every_look(a: float, b: float) -> None:
    """Of 200 sequences of 150, at most 18 ever miss the mean: 0.99 of the binomial at 5 %."""
    rng = np.random.default_rng(7)
    missed = 0
    for _ in range(200):
        low, high = confidence_sequence(Observations.between(rng.beta(a, b, 150), 0.0, 1.0), 0.05)
        missed += bool(((low > a / (a + b)) | (high < a / (a + b))).any())
        assert (np.diff(low) >= 0).all() and (np.diff(high) <= 0).all()
    assert missed <= 18


def test_it_narrows_with_the_variance() -> None:
    """Observations that vary little give a narrower interval, as no bound by the range would."""
    rng = np.random.default_rng(0)
    widths = []
    for a, b in ((1.0, 1.0), (10.0, 10.0)):
        low, high = confidence_sequence(Observations.between(rng.beta(a, b, 300), 0.0, 1.0), 0.05)
        widths.append(high[-1] - low[-1])
    assert widths[1] < 0.55 * widths[0] < 0.1


def test_a_bound_alone_excludes() -> None:
    """A mean below what can be observed is impossible."""
    seen = Observations(np.array([0.5]), np.array([0.4]), np.array([0.6]), np.array([0.01]))
    assert np.isinf(log_capital(seen, np.array([0.3, 0.7]))).all()
    low, high = confidence_sequence(seen, 0.05)
    assert low[0] == pytest.approx(0.4, abs=0.002) and high[0] == pytest.approx(0.6, abs=0.002)
    nothing = confidence_sequence(Observations.between(np.empty(0), 0.0, 1.0), 0.05)
    assert [len(side) for side in nothing] == [0, 0]
