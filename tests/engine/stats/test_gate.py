"""The three verdicts of a gate; how often they are right is measured by `benchmarks.gate`."""

import numpy as np
import pytest
from scipy.stats import binomtest

from benchmarks import gate as benchmark
from theodolite.engine.stats.bootstrap import Sample
from theodolite.engine.stats.gate import gate


def right(n: int, wrong: int, start: int = 0) -> Sample:
    values = np.ones(n)
    values[start : start + wrong] = 0.0
    return Sample(values)


def test_the_same_examples_are_fine() -> None:
    (one,) = gate([(right(20, 5), right(20, 5))], least=0.0)
    assert (one.verdict, one.change.delta, one.p) == ("fine", 0.0, 0.5)


def test_a_loss_is_tested_as_scipy_tests_it() -> None:
    """The mid-p of the one-sided sign test of the examples that differ."""
    (one,) = gate([(right(200, 20), right(200, 30))], least=1.0)
    lost = binomtest(10, 10, 0.5, alternative="greater").pvalue / 2
    assert one.verdict == "worse" and (one.change.delta, one.p) == pytest.approx((-5.0, lost))


def test_several_tasks_are_corrected_together() -> None:
    pair = right(200, 20), right(200, 26)
    (alone,) = gate([pair], 1.0)
    first, *_ = gate([pair, (right(200, 0), right(200, 0))] * 3, 1.0)
    assert alone.verdict == "worse" and first.p == pytest.approx(6 * alone.p)


def test_too_few_examples_say_how_many_more() -> None:
    (one,) = gate([(right(500, 50), right(500, 50, 6))], least=1.0)
    (hopeless,) = gate([(right(20, 10), right(20, 10, 5))], least=0.0)
    assert one.verdict == hopeless.verdict == "unclear"
    assert one.more > 50 and hopeless.more is None


def test_a_gain_and_a_small_loss_are_fine() -> None:
    better, slightly = gate(
        [(right(200, 40), right(200, 20)), (right(9000, 900), right(9000, 910))], least=1.0
    )
    assert better.verdict == slightly.verdict == "fine"


def test_planted_drops_are_found() -> None:
    """A quick look at what the benchmark measures in 1,000 runs."""
    rng = np.random.default_rng(0)
    mine = Sample((rng.random(2000) < 0.7).astype(float))
    flipped = rng.random(2000) < 0.01
    other = Sample(np.where(flipped, 1 - mine.values, mine.values))
    assert benchmark.alarms(mine, other, 5.0, 40) >= 0.95
    assert benchmark.alarms(mine, other, 0.0, 40) <= 0.05
