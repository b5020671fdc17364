"""The fast solver against the plain loop, and its columns against torch's own autograd."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits
from torch import nn

from theodolite.engine.classifiers import columns, exact, models, optimisers
from theodolite.engine.classifiers.features import Features
from theodolite.engine.classifiers.setting import Fit, SolverSetting
from theodolite.engine.classifiers.validation import (
    FoldTrainer,
    cross_validate,
    folds,
    normalised,
    outer_folds,
    split,
)
from theodolite.engine.datasets.types import LabelledSentences
from theodolite.engine.progress import nobody
from theodolite.engine.tasks import classification
from theodolite.engine.threads import one_blas_thread, one_torch_thread

EXACT = SolverSetting("exact", folds=3)
FAST = replace(EXACT, solver="columns")
BRIEF = replace(EXACT, passes=2, tenacity=2, max_passes=20)


def clouds(classes: int, n: int = 360) -> tuple[Features, np.ndarray]:
    """Overlapping clouds of points, one a class."""
    random, width = np.random.default_rng(classes), 8
    labels = random.permutation(np.arange(n) % classes)
    points = random.normal(size=(classes, width))[labels] + 1.2 * random.normal(size=(n, width))
    return Features(points.astype(np.float32), np.arange(n)), labels


EVERY = np.arange(360)
TRAIN, DEV, TEST = np.split(np.random.default_rng(1).permutation(360), [200, 280])
BOTH = np.concatenate([TRAIN, DEV])


@pytest.mark.parametrize("hidden", [0, 6])
@pytest.mark.parametrize("classes", [2, 4, 40])
def test_fits_on_the_same_rows_are_the_plain_loops(classes: int, hidden: int) -> None:
    """With a split of its own every draw is shared: same accuracies, passes and predictions."""
    features, labels = clouds(classes)
    fits = [Fit(TRAIN, DEV, penalty, TEST) for penalty in (1e-5, 1e-2)]
    for optimiser in ("adam", "rmsprop"):
        setting = replace(BRIEF, hidden=hidden, optimiser=optimiser)
        ours = columns.solve(features, labels, fits, setting, 1111, nobody)
        theirs = exact.solve(features, labels, fits, setting, 1111, nobody)
        for a, b in zip(ours, theirs, strict=True):
            assert (a.accuracy, a.passes) == (pytest.approx(b.accuracy), b.passes)
            assert (a.predicted == b.predicted).mean() > 0.97  # float noise on the boundary


def test_a_column_learns_nothing_from_rows_it_may_not_see() -> None:
    """Spoilt features of left-out rows change nothing, while another column learns from them."""
    features, labels = clouds(2)
    spoilt = features.rows(torch.arange(360)).numpy().copy()
    spoilt[TRAIN[100:]] = 1e3
    fits = [Fit(rows, DEV, 1e-4, TEST) for rows in (TRAIN[:100], TRAIN[100:])]
    first, second = columns.solve(features, labels, fits, EXACT, 1, nobody)
    same, other = columns.solve(Features(spoilt, EVERY), labels, fits, EXACT, 1, nobody)
    assert first.accuracy == same.accuracy and (first.predicted == same.predicted).all()
    assert (second.predicted != other.predicted).any()


def test_the_plans_agree_up_to_the_order_of_draws() -> None:
    """Nested folds, folds and splits: dev and test within a few samples of the plain loop."""
    features, labels = clouds(3)
    quick = {"optimiser": "rmsprop", "passes": 5, "tenacity": 1}  # learnt in a few dozen passes
    for plan in PLANS:
        fast, slow = (
            plan(FoldTrainer(features, labels, replace(setting, **quick), 1111, nobody))
            for setting in (FAST, EXACT)
        )
        assert fast.dev == pytest.approx(slow.dev, abs=2.0)
        assert fast.test == pytest.approx(slow.test, abs=4.0)
        assert (fast.predicted == slow.predicted).mean() > 0.9


PLANS = (
    cross_validate,
    lambda trainer: folds(trainer, BOTH, TEST),
    lambda trainer: split(trainer, TRAIN, DEV, TEST),
)


def uneven() -> tuple[np.ndarray, np.ndarray]:
    """Points whose features have other means and spreads, the first one none; and labels."""
    features, labels = clouds(3)
    raw = features.rows(torch.arange(360)).numpy() * np.array([0, 9, 0.1, 1, 1, 3, 1, 2])
    return (raw + np.arange(8) - 0.3).astype(np.float32), labels


@pytest.mark.parametrize("hidden", [0, 6])
@pytest.mark.parametrize("solver", [columns, exact], ids=["columns", "exact"])
def test_normalised_fits_are_fits_on_normalised_features(solver, hidden: int) -> None:
    """As StandardScaler has it, of the rows learnt from alone; plain fits beside them stay plain.

    The oracle is the plain loop on a copy.
    """
    raw, labels = uneven()
    copy = StandardScaler().fit(raw[TRAIN].astype(np.float64)).transform(raw).astype(np.float32)
    assert (copy[:, 0] == 0).all(), "a constant feature says nothing, and nothing is amplified"
    setting = replace(BRIEF, hidden=hidden)
    fits = [Fit(TRAIN, DEV, 1e-3, TEST, znorm=znorm) for znorm in (True, False, True)]
    normal, plain, again = solver.solve(Features(raw, EVERY), labels, fits, setting, 1111, nobody)
    for ours, seen in ((normal, copy), (plain, raw), (again, copy)):
        (theirs,) = exact.solve(Features(seen, EVERY), labels, fits[1:2], setting, 1111, nobody)
        assert (ours.accuracy, ours.passes) == (pytest.approx(theirs.accuracy), theirs.passes)
        assert (ours.predicted == theirs.predicted).mean() > 0.97  # float noise on the boundary
    assert normal.accuracy != plain.accuracy


def test_rows_set_aside_to_stop_on_do_not_normalise() -> None:
    """They are drawn from the training rows as in the plain loop, and left out of the moments."""
    raw, labels = uneven()
    held = np.random.RandomState(1111).permutation(TRAIN)[: len(TRAIN) // 20]
    raw[held] = 50
    scaler = StandardScaler().fit(np.delete(raw, [*held, *TEST, *DEV], axis=0))
    copy = Features(scaler.transform(raw).astype(np.float32), EVERY)
    normal, plain = (Fit(TRAIN, None, 1e-3, TEST, znorm=znorm) for znorm in (True, False))
    (theirs,) = exact.solve(copy, labels, [plain], BRIEF, 1111, nobody)
    for solver in (columns, exact):
        (ours,) = solver.solve(Features(raw, EVERY), labels, [normal], BRIEF, 1111, nobody)
        assert (ours.predicted == theirs.predicted).mean() > 0.97
    # The third solver has the same meaning: a pipeline of StandardScaler and the regression.
    raw, labels = uneven()
    fits = [Fit(TRAIN, DEV, 0.5, TEST, znorm=True)]
    (ours,) = exact.solve_by_scikit_learn(Features(raw, EVERY), labels, fits, EXACT, 1, nobody)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(C=0.5))
    pipeline.fit(raw[TRAIN], labels[TRAIN])
    assert ours.accuracy == pytest.approx(pipeline.score(raw[DEV], labels[DEV]))
    assert (ours.predicted == pipeline.predict(raw[TEST])).mean() > 0.97


@pytest.mark.parametrize("with_dev", [False, True])
def test_normalising_is_chosen_by_dev_accuracy(with_dev: bool) -> None:
    """Small differences are learnt in few steps when they are normalised, and not otherwise.

    The fast solver and the plain loop choose the same, and both options are told.
    """
    features, labels = clouds(2)
    raw = features.rows(torch.arange(360)).numpy() / 100 + 1
    quick = {"passes": 10, "tenacity": 1, "max_passes": 20}
    for vectors, znorm in ((raw, True), (np.zeros_like(raw), False)):
        for setting in (FAST, EXACT)[: 1 + znorm]:
            features = Features(vectors, EVERY)
            trainer = FoldTrainer(features, labels, replace(setting, **quick), 1, nobody)
            outer = [(TRAIN, TEST)] if with_dev else outer_folds(trainer)
            found = normalised(trainer, outer, DEV if with_dev else None)
            assert found.details["znorm"] == znorm, "and plain in doubt"
            assert list(found.options) == ["plain", "z-normalised"]
            plain, normal = found.options.values()
            assert (found.dev, found.test) == (normal if znorm else plain)
            tested = labels[np.sort(TEST)] if with_dev else labels
            right = 100 * (found.predicted == tested).mean()
            assert right == pytest.approx(found.test, abs=0.3)
            assert found.n_dev == (80 if with_dev else len(union_of_dev_parts(trainer)))
            if znorm:
                assert (np.subtract(normal, plain) > 5).all()


def union_of_dev_parts(trainer: FoldTrainer) -> set[int]:
    """Rows that choose in one of the outer folds, by scikit-learn's own splitter."""
    splitter, labels = StratifiedKFold(3, shuffle=True, random_state=1111), trainer.labels
    seen = [rows for rows, _ in splitter.split(labels, labels)]
    parts = [rows[next(splitter.split(rows, labels[rows]))[1]] for rows in seen]
    return set(np.concatenate(parts).tolist())


def test_features_formed_in_batches_are_those_formed_whole(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Pairs too many to keep give the same rows as few."""
    vectors = rng.normal(size=(30, 4)).astype(np.float32)
    left, right = rng.integers(0, 30, (2, 50))
    u, v = vectors[left], vectors[right]
    expected = {
        "|u-v|, u*v": np.c_[np.abs(u - v), u * v],
        "u, v, u*v, |u-v|": np.c_[u, v, u * v, np.abs(u - v)],
    }
    for limit in (1 << 28, 0):
        monkeypatch.setattr("theodolite.engine.classifiers.features.KEPT_BYTES", limit)
        for combination, whole in expected.items():
            rows = Features(vectors, left, right, combination).rows(torch.arange(50))
            np.testing.assert_array_equal(rows, whole)


# --- columns against torch's own autograd, optimisers and layers ---


ROWS, WIDTH, COLUMNS = 12, 7, 3


def generator() -> torch.Generator:
    """The same draws for us and, through `torch.manual_seed`, for torch."""
    return torch.Generator().manual_seed(5)


def layers(classes: int, hidden: int) -> nn.Sequential:
    """What one column is, by torch."""
    torch.manual_seed(5)
    first = [nn.Linear(WIDTH, hidden), nn.Sigmoid()] if hidden else []
    return nn.Sequential(*first, nn.Linear(hidden or WIDTH, classes)).double()


def three_columns(classes: int, hidden: int) -> models.ColumnsModel:
    """Three columns of ours, in float64."""
    some = Features(np.zeros((1, WIDTH), np.float32), np.arange(1))
    model = columns._model(some, classes, COLUMNS, replace(EXACT, hidden=hidden), 5)
    model.parameters = [models.Parameter(p.values.double(), p.axis) for p in model.parameters]
    return model


def batch(classes: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows, classes, and a mask (rows, columns) of which rows each column sees."""
    random = np.random.default_rng(0)
    x = torch.from_numpy(random.normal(size=(ROWS, WIDTH)))
    y = torch.from_numpy(random.integers(0, classes, ROWS))
    return x, y, torch.from_numpy(random.random((ROWS, COLUMNS)) < 0.6)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize(("classes", "hidden"), [(2, 0), (5, 0), (40, 0), (2, 4), (3, 4)])
def test_gradients_are_those_of_autograd(classes: int, hidden: int, normalised: bool) -> None:
    """Each column's is the gradient of the mean cross-entropy over the rows it sees.

    The start is torch's own, drawn from the same seed. Folded into the weights, z-normalisation
    gives what a normalised copy gives.
    """
    x, y, seen = batch(classes)
    x = 3 * x + 1
    mean, deviation = torch.zeros(WIDTH, COLUMNS), torch.ones(WIDTH, COLUMNS)
    model = three_columns(classes, hidden)
    if normalised:
        mean = torch.stack([x[seen[:, j]].mean(0) for j in range(COLUMNS)], dim=1)
        deviation = torch.stack([x[seen[:, j]].std(0, correction=0) for j in range(COLUMNS)], dim=1)
        model.scaling = models.Scaling(mean, 1 / deviation)
    out = [torch.empty_like(p.values) for p in model.parameters]
    model.gradients(x, torch.eye(classes, dtype=torch.float64)[y], seen / seen.sum(0), out)
    for j in range(COLUMNS):
        layer, rows = layers(classes, hidden), seen[:, j]
        z = (x - mean[:, j]) / deviation[:, j]
        nn.functional.cross_entropy(layer(z[rows]), y[rows]).backward()
        linear = [part for part in layer if isinstance(part, nn.Linear)]
        for part, gradient, own in zip(linear, out, model.parameters, strict=True):
            column = gradient.select(own.axis, j)
            torch.testing.assert_close(column[:-1], part.weight.grad.T)
            torch.testing.assert_close(column[-1], part.bias.grad)
        assert model.predict(x, torch.tensor([j]))[:, 0].tolist() == layer(z).argmax(1).tolist()


@pytest.mark.parametrize(
    ("kind", "peer"), [("adam", torch.optim.Adam), ("rmsprop", torch.optim.RMSprop)]
)
def test_optimisers_are_torchs_with_a_decay_for_each_column(kind: str, peer) -> None:
    """Twenty steps, then half of the columns is taken out, and twenty more."""
    decays = torch.tensor([0.0, 1e-3, 0.1], dtype=torch.float64)
    start = torch.randn(4, 3, generator=generator(), dtype=torch.float64)
    ours = [models.Parameter(start.clone(), 1)]
    optimiser = optimisers.OPTIMISERS[kind](ours, decays)
    theirs = [start[:, j].clone().requires_grad_() for j in range(3)]
    peers = [peer([w], weight_decay=float(d)) for w, d in zip(theirs, decays, strict=True)]
    for step, left in enumerate([torch.tensor([0, 1, 2])] * 20 + [torch.tensor([0, 2])] * 20):
        if step == 20:
            ours = [p.take(left) for p in ours]
            optimiser.keep(left)
        gradient = torch.randn(4, 3, generator=generator().manual_seed(step), dtype=torch.float64)
        optimiser.step(ours, [gradient[:, left].clone()])
        for j in left:
            theirs[j].grad = gradient[:, j].clone()
            peers[j].step()
    torch.testing.assert_close(ours[0].values, torch.stack(theirs, 1)[:, left].detach())


def test_dropout_drops_the_share_and_keeps_the_mean() -> None:
    """A hidden unit that is dropped has no gradient in that row; predictions drop nothing."""
    model, x = models.Hidden(WIDTH, 1, 2, 400, 0.25, generator(), "cpu"), torch.ones(1, WIDTH)
    out = [torch.empty_like(p.values) for p in model.parameters]
    model.gradients(x, torch.eye(2)[:1], torch.ones(1, 1), out)
    assert (out[0][-1, 0] == 0).float().mean() == pytest.approx(0.25, abs=0.06)
    assert (model.predict(x, torch.tensor([0])) == model.predict(x, torch.tensor([0]))).all()


# --- threads ---


LABELS = np.arange(60) % 2
VECTORS = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)


def by_solver() -> None:
    """The solver of `senteval-sklearn`."""
    features, fits = Features(VECTORS, np.arange(60)), [Fit(np.arange(60), None, 1.0)]
    exact.solve_by_scikit_learn(features, LABELS, fits, SolverSetting("logistic"), 1, nobody)


def by_task() -> None:
    """The classification of `starter-1`."""
    names = [f"label {label}" for label in LABELS]
    data = LabelledSentences("clouds", [f"sentence {i}" for i in range(60)], names)
    classification.measure(data, VECTORS, seed=1)


def blas_threads() -> list[int]:
    """Of every library of linear algebra that is loaded."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("run", [by_solver, by_task])
def test_threads_do_not_fight(run: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fit sees one thread, and afterwards there are as many as before."""
    seen: list[int] = []
    fit = LogisticRegression.fit
    monkeypatch.setattr(
        LogisticRegression, "fit", lambda *given: seen.extend(blas_threads()) or fit(*given)
    )
    with threadpool_limits(2):
        run()
        assert (set(seen), set(blas_threads())) == ({1}, {2})


def test_who_ends_first_does_not_matter() -> None:
    """Two that overlap see one thread, and when both are over there are as many as before."""
    with threadpool_limits(2):
        one, other = one_blas_thread(), one_blas_thread()
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        other.__exit__(None, None, None)
        assert set(blas_threads()) == {2}
    before = torch.get_num_threads()
    with pytest.raises(KeyError), one_torch_thread():
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == before
