"""Columns against torch's own autograd, optimisers and layers."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits
from torch import nn

from theodolite.engine.classifiers import exact, models, optimisers
from theodolite.engine.classifiers.features import Features
from theodolite.engine.classifiers.setting import Fit, SolverSetting
from theodolite.engine.datasets.types import LabelledSentences
from theodolite.engine.progress import nobody
from theodolite.engine.tasks import classification
from theodolite.engine.threads import one_blas_thread, one_torch_thread

ROWS, WIDTH, COLUMNS = 12, 7, 3


def generator() -> torch.Generator:
    """The same draws for us and, through `torch.manual_seed`, for torch."""
    return torch.Generator().manual_seed(5)


def layers(classes: int, hidden: int) -> nn.Sequential:
    """What one column is, by torch."""
    torch.manual_seed(5)
    first = [nn.Linear(WIDTH, hidden), nn.Sigmoid()] if hidden else []
    return nn.Sequential(*first, nn.Linear(hidden or WIDTH, classes)).double()


def columns(classes: int, hidden: int) -> models.ColumnsModel:
    """Three columns of ours, in float64."""
    model: models.ColumnsModel
    if hidden:
        model = models.Hidden(WIDTH, COLUMNS, classes, hidden, 0.0, generator(), "cpu")
    elif classes == 2:
        model = models.TwoClasses(WIDTH, COLUMNS, generator(), "cpu")
    else:
        model = models.ColumnsLinear(WIDTH, COLUMNS, classes, generator(), "cpu")
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
    model = columns(classes, hidden)
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


@pytest.mark.parametrize("kind", ["adam", "rmsprop"])
def test_optimisers_are_torchs_with_a_decay_for_each_column(kind: str) -> None:
    """Twenty steps, then half of the columns is taken out, and twenty more."""
    decays = torch.tensor([0.0, 1e-3, 0.1], dtype=torch.float64)
    start = torch.randn(4, 3, generator=generator(), dtype=torch.float64)
    ours = [models.Parameter(start.clone(), 1)]
    optimiser = optimisers.OPTIMISERS[kind](ours, decays)
    theirs = [start[:, j].clone().requires_grad_() for j in range(3)]
    peer = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}[kind]
    peers = [peer([w], weight_decay=float(d)) for w, d in zip(theirs, decays, strict=True)]
    left = torch.tensor([0, 1, 2])
    for step in range(40):
        if step == 20:
            left = torch.tensor([0, 2])
            ours = [p.kept(left) for p in ours]
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

    def watched(self: LogisticRegression, *given: Any) -> LogisticRegression:
        seen.extend(blas_threads())
        return fit(self, *given)

    monkeypatch.setattr(LogisticRegression, "fit", watched)
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
