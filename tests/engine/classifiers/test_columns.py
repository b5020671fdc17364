"""The fast solver against the plain loop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from engine.classifiers import columns, exact
from engine.classifiers.features import Features
from engine.classifiers.setting import Fit, Setting
from engine.classifiers.validation import Trainer, folds, nested, split

EXACT = Setting("exact", folds=3)
FAST = replace(EXACT, solver="columns")


def nothing() -> None:
    """Nobody is watching."""


def clouds(classes: int, n: int = 360) -> tuple[Features, np.ndarray]:
    """Overlapping clouds of points, one a class."""
    random, width = np.random.default_rng(classes), 8
    labels = random.permutation(np.arange(n) % classes)
    centres = random.normal(size=(classes, width))
    points = centres[labels] + 1.2 * random.normal(size=(n, width))
    return Features(points.astype(np.float32), np.arange(n)), labels


def every_row(n: int) -> torch.Tensor:
    """Row numbers."""
    return torch.arange(n)


def cut(n: int = 360) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Train, dev and test rows."""
    rows = np.random.default_rng(1).permutation(n)
    return rows[:200], rows[200:280], rows[280:]


@pytest.mark.parametrize("hidden", [0, 6])
@pytest.mark.parametrize("classes", [2, 4, 40])
def test_fits_on_the_same_rows_are_the_plain_loops(classes: int, hidden: int) -> None:
    """With a split of its own every draw is shared: same accuracies, passes and predictions."""
    features, labels = clouds(classes)
    train, dev, test = cut()
    fits = [Fit(train, dev, penalty, test) for penalty in (1e-5, 1e-2)]
    for optimiser in ("adam", "rmsprop"):
        setting = replace(EXACT, hidden=hidden, optimiser=optimiser)
        ours = columns.solve(features, labels, fits, setting, 1111, nothing)
        theirs = exact.solve(features, labels, fits, setting, 1111, nothing)
        for a, b in zip(ours, theirs, strict=True):
            assert (a.accuracy, a.passes) == (pytest.approx(b.accuracy), b.passes)
            assert (a.predicted == b.predicted).mean() > 0.97  # float noise on the boundary


def test_a_column_learns_nothing_from_rows_it_may_not_see() -> None:
    """Spoilt features of left-out rows change nothing, while another column learns from them."""
    features, labels = clouds(2)
    train, dev, test = cut()
    first, second = train[:100], train[100:]
    spoilt = features.rows(every_row(360)).numpy().copy()
    spoilt[second] = 1e3
    fits = [Fit(first, dev, 1e-4, test), Fit(second, dev, 1e-4, test)]
    whole = columns.solve(features, labels, fits, EXACT, 1, nothing)
    other = columns.solve(Features(spoilt, np.arange(360)), labels, fits, EXACT, 1, nothing)
    assert whole[0].accuracy == other[0].accuracy
    assert (whole[0].predicted == other[0].predicted).all()
    assert (whole[1].predicted != other[1].predicted).any()


def test_the_plans_agree_up_to_the_order_of_draws() -> None:
    """Nested folds, folds and splits: dev and test within a few samples of the plain loop."""
    features, labels = clouds(3)
    quick = {"optimiser": "rmsprop", "passes": 10, "tenacity": 2}  # learnt in a few dozen passes
    train, dev, test = cut()
    for plan in (
        nested,
        lambda t: folds(t, np.concatenate([train, dev]), test),
        lambda t: split(t, train, dev, test),
    ):
        fast, slow = (
            plan(Trainer(features, labels, replace(setting, **quick), 1111, nothing))
            for setting in (FAST, EXACT)
        )
        assert fast.dev == pytest.approx(slow.dev, abs=2.0)
        assert fast.test == pytest.approx(slow.test, abs=4.0)
        assert (fast.predicted == slow.predicted).mean() > 0.9


def test_normalised_columns_are_columns_on_normalised_features() -> None:
    """By the statistics of the training rows alone; a constant feature does no harm."""
    features, labels = clouds(3)
    raw = 5 * features.rows(every_row(360)).numpy() + 2
    raw[:, 0] = 7.0
    train, dev, test = cut()
    deviation = raw[train].std(0)
    deviation[0] = 1.0
    copy = Features((raw - raw[train].mean(0)) / deviation, np.arange(360))
    fits = [Fit(train, dev, 1e-3, test)]
    (ours,) = columns.solve(
        Features(raw, np.arange(360)), labels, fits, FAST, 1111, nothing, znorm=True
    )
    (theirs,) = columns.solve(copy, labels, fits, FAST, 1111, nothing)
    assert ours.accuracy == pytest.approx(theirs.accuracy, abs=0.02)
    assert (ours.predicted == theirs.predicted).mean() > 0.97


def test_features_formed_in_batches_are_those_formed_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Pairs too many to keep give the same rows as few."""
    from engine.classifiers import features as module

    random = np.random.default_rng(0)
    vectors = random.normal(size=(30, 4)).astype(np.float32)
    left, right = random.integers(0, 30, (2, 50))
    u, v = vectors[left], vectors[right]
    expected = {
        "|u-v|, u*v": np.c_[np.abs(u - v), u * v],
        "u, v, u*v, |u-v|": np.c_[u, v, u * v, np.abs(u - v)],
    }
    for limit in (1 << 28, 0):
        monkeypatch.setattr(module, "_KEPT_BYTES", limit)
        for combination, whole in expected.items():
            found = Features(vectors, left, right, combination).rows(every_row(50))
            np.testing.assert_array_equal(found.numpy(), whole)


def test_whoever_waits_can_stop_it() -> None:
    """What `tick` raises gets out of either solver."""
    features, labels = clouds(2)
    train, dev, test = cut()

    def stop() -> None:
        raise KeyboardInterrupt

    for setting in (EXACT, FAST):
        with pytest.raises(KeyboardInterrupt):
            split(Trainer(features, labels, setting, 1, stop), train, dev, test)
