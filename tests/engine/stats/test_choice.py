"""Who is best and who ties with it, on examples made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from engine.stats.bootstrap import Sample
from engine.stats.choice import against, choose, is_right_or_wrong
from tests.engine.samples import pairs


def right(share: float, n: int = 200, shift: int = 0) -> Sample:
    """Right on a share of the examples, the same ones for all up to a shift."""
    values = np.zeros(n)
    values[: round(share * n)] = 1.0
    return Sample(np.roll(values, shift))


def test_the_best_and_those_that_tie_with_it() -> None:
    """Two points over one another tie; forty do not. Each has an interval that holds its score."""
    made = choose({"low": right(0.4), "high": right(0.8), "near": right(0.78, shift=3)})
    assert made.names == ("high", "near", "low")
    assert made.ties == ("near",)
    assert made.test == "McNemar's test"
    score, low, high = made.intervals["high"]
    assert score == pytest.approx(80.0)
    assert low < score < high
    assert high - low == pytest.approx(4 * 100 * np.sqrt(0.8 * 0.2 / 200), rel=0.15)


def test_picking_the_best_flatters_it_the_more_the_more_alike_they_are() -> None:
    """Of twenty that are equally good one leads by chance; of two that are far apart none does."""
    rng = np.random.default_rng(0)
    alike = {str(i): Sample((rng.random(200) < 0.7).astype(float)) for i in range(20)}
    apart = {"a": right(0.9), "b": right(0.2)}
    assert choose(alike).optimism > 1.0 > choose(apart).optimism


def test_values_between_are_resampled() -> None:
    """What is neither right nor wrong is tested by the paired bootstrap."""
    rng = np.random.default_rng(0)
    values = rng.random(100)
    made = choose({"a": Sample(values), "b": Sample(values - 0.2)})
    assert made.test == "the paired bootstrap"
    assert made.ties == ()
    assert not is_right_or_wrong(Sample(values))


def test_of_eleven_the_worse_ones_do_not_tie() -> None:
    """Ten that are equally good, and random words."""
    samples = {f"good {i}": pairs(300, 1.0, i) for i in range(10)} | {"words": pairs(300, 9.0, 99)}
    made = choose(samples)
    assert "words" not in made.ties
    assert len(made.ties) == 9


def test_one_against_another_is_one_test() -> None:
    """Worse is only who is told to be: not the better one, and not one within the noise."""
    high, low, near = right(0.8), right(0.4), right(0.78, shift=3)
    assert against(low, high)[1]
    assert not against(high, low)[1]
    assert not against(near, high)[1]
    assert against(low, high)[0].delta == pytest.approx(-40.0)
