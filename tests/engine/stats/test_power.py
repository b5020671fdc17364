"""How many more examples decide: by hand, and whether what is promised comes true."""

import numpy as np

from theodolite.engine.stats.bootstrap import Sample
from theodolite.engine.stats.choice import Behind, choose
from theodolite.engine.stats.power import (
    MAX_MORE,
    MIN_MORE,
    POWER,
    MoreExamples,
    to_show,
    to_tell_apart,
)

CRITICAL = 1.96


def found(delta: float, error: float, n: int = 300, critical: float = CRITICAL) -> Behind:
    """A difference with its standard error."""
    half = critical * error
    return Behind(delta, delta - half, delta + half, error, critical, n)


def test_the_wider_the_lead_the_fewer_are_lacking() -> None:
    """And more of them where more pairs are tested at once; whoever is ahead."""
    lacking = [to_tell_apart(found(d, 1.0, 1000)).n or 0 for d in (1.5, 1.7, 1.9)]
    assert MAX_MORE * 1000 > lacking[0] > lacking[1] > lacking[2] > 0
    assert (to_tell_apart(found(1.7, 1.0, 1000, 2.9)).n or 0) > lacking[1]
    assert to_tell_apart(found(-1.7, 1.0, 1000)).n == lacking[1]
    # Equals are never told apart, and half a standard error of four points promises nothing.
    assert to_tell_apart(found(0.0, 0.0)) == MoreExamples(None, 0.0)
    more = to_tell_apart(found(2.0, 4.0, 100))
    assert more.n is None and more.power < POWER


def test_a_handful_is_not_worth_a_sentence() -> None:
    """Where a tenth as many would do, no number is named, but the probability."""
    more = to_tell_apart(found(9.0, 1.0, 1000))
    assert more.n is None and more.power >= POWER
    named = [to_tell_apart(found(d, 1.0, 1000, 2.9)).n for d in np.arange(1.0, 4.5, 0.25)]
    assert all(n is None or n >= MIN_MORE * 1000 for n in named) and any(named)


def test_the_number_is_as_the_normal_distribution_has_it() -> None:
    """With no doubt about the difference, power is that of a z-test: (1.96 + 0.84)^2 s^2 / d^2.

    A standard error of 0.3 points on 10,000 examples hardly leaves any doubt, nor does the prior.
    """
    more = to_tell_apart(found(0.55, 0.3, 10_000))
    whole = (1.96 + 0.8416) ** 2 * (0.3**2 * 10_000) / 0.55**2
    # Doubt about the difference only asks for more.
    assert more.n is not None
    assert whole - 10_000 < more.n < 10 * (whole - 10_000)


def test_a_margin_is_shown_where_the_loss_is_smaller() -> None:
    """The smaller the loss and the wider the margin, the fewer are lacking; never beyond it."""
    lacking = [to_show(found(-d, 0.8, 300), 2.0, smaller=True).n or 0 for d in (0.0, 0.3)]
    assert 0 < lacking[0] < lacking[1]
    assert to_show(found(-0.3, 0.8, 300), 2.2, smaller=True).n < lacking[1]
    assert to_show(found(-4.0, 0.8, 300), 2.0, smaller=False).n is None


def promised(rng: np.random.Generator, spread: float, n: int = 400) -> tuple[bool, bool]:
    """A tie of two encoders that differ by some points: is a number named, and does it hold?"""
    ahead = rng.normal(0.0, spread) / 100
    odds = np.array([0.15 + ahead / 2, 0.15 - ahead / 2, 0.7]).clip(0.0)

    def drawn(many: int) -> dict[str, Sample]:
        kind = rng.choice(3, many, p=odds / odds.sum())
        return {"a": Sample((kind != 1).astype(float)), "b": Sample((kind != 0).astype(float))}

    first = choose(drawn(n))
    if not first.ties:
        return False, False
    more = to_tell_apart(first.behind[first.ties[0]])
    return (False, False) if more.n is None else (True, not choose(drawn(n + more.n)).ties)


def test_what_is_promised_comes_true() -> None:
    """Of the ties that name a number for 80 %, about so many end with it in a new sheet.

    In full: `benchmarks.choosing`.
    """
    rng = np.random.default_rng(2026)
    held = [kept for named, kept in [promised(rng, 5.0) for _ in range(300)] if named]
    assert len(held) > 20
    assert 0.65 <= np.mean(held) <= 0.9
