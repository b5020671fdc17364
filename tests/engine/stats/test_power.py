"""How many more examples end a tie: by hand, and whether what is promised comes true."""

from __future__ import annotations

import numpy as np
import pytest

from engine.stats.bootstrap import Resampled, Sample, resample_all
from engine.stats.choice import against
from engine.stats.power import POWER, REACH, MoreExamples, more_examples


def pair(delta: float, error: float, n: int = 300) -> tuple[Resampled, Resampled]:
    """Two scores whose difference has this value and this standard error."""
    noise = np.random.default_rng(1).normal(size=2000)
    noise = (noise - noise.mean()) / noise.std()
    a = Resampled(50 + delta, 50 + delta + error * noise, n)
    return a, Resampled(50.0, np.full(2000, 50.0), n)


def test_those_who_do_the_same_are_never_told_apart() -> None:
    """No number of examples ends a tie between equals."""
    assert more_examples(*pair(0.0, 0.0)) == MoreExamples(None, 0.0)


def test_a_lead_within_the_noise_is_out_of_reach() -> None:
    """Half a standard error of four points, on 100 examples, promises nothing."""
    found = more_examples(*pair(2.0, 4.0, 100))
    assert found.n is None
    assert found.power < POWER


def test_the_wider_the_lead_the_fewer_are_lacking() -> None:
    """And more of them where more pairs are tested at once; whoever is ahead."""
    lacking = [more_examples(*pair(d, 1.0, 1000)).n or 0 for d in (1.5, 1.7, 1.9)]
    assert REACH * 1000 > lacking[0] > lacking[1] > lacking[2] > 0
    assert (more_examples(*pair(1.7, 1.0, 1000), 3).n or 0) > lacking[1]
    other, one = pair(-1.7, 1.0, 1000)
    assert more_examples(one, other).n == pytest.approx(lacking[1], rel=0.1)


def test_the_number_is_as_the_normal_distribution_has_it() -> None:
    """With no doubt about the difference, power is that of a z-test: (1.96 + 0.84)^2 s^2 / d^2.

    A standard error of 0.3 points on 10,000 examples hardly leaves any doubt, nor does the prior.
    """
    a, b = pair(0.55, 0.3, 10_000)
    found = more_examples(a, b)
    whole = (1.96 + 0.8416) ** 2 * (0.3**2 * 10_000) / 0.55**2
    # Doubt about the difference only asks for more.
    assert found.n is not None
    assert whole - 10_000 < found.n < 10 * (whole - 10_000)


def promised(rng: np.random.Generator, spread: float, n: int = 400) -> tuple[bool, bool]:
    """A tie of two encoders that differ by some points: is a number named, and does it hold?"""
    ahead = rng.normal(0.0, spread) / 100
    odds = np.array([0.15 + ahead / 2, 0.15 - ahead / 2, 0.7]).clip(0.0)

    def drawn(many: int) -> tuple[np.ndarray, np.ndarray]:
        kind = rng.choice(3, many, p=odds / odds.sum())
        return (kind != 1).astype(float), (kind != 0).astype(float)

    first = drawn(n)
    samples = [Sample(side) for side in first]
    if any(against(*pair)[1] for pair in (samples, samples[::-1])):
        return False, False
    more = more_examples(*resample_all(samples, 1000, 0))
    if more.n is None:
        return False, False
    a, b = (Sample(np.r_[old, new]) for old, new in zip(first, drawn(more.n), strict=True))
    return True, against(a, b)[1] or against(b, a)[1]


@pytest.mark.slow
def test_what_is_promised_comes_true() -> None:
    """Of the ties that name a number for 80 %, about so many end with it; `benchmarks.choosing`."""
    rng = np.random.default_rng(2026)
    found = [promised(rng, 5.0) for _ in range(250)]
    held = [kept for named, kept in found if named]
    assert len(held) > 30
    assert 0.7 <= np.mean(held) <= 0.97
