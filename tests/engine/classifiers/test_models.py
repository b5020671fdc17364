"""Columns against torch's own autograd, optimisers and layers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from theodolite.engine.classifiers import models, optimisers

ROWS, WIDTH, COLUMNS = 12, 7, 3


def generator() -> torch.Generator:
    """The same draws for us and, through `torch.manual_seed`, for torch."""
    return torch.Generator().manual_seed(5)


def layers(classes: int, hidden: int) -> nn.Sequential:
    """What one column is, by torch."""
    torch.manual_seed(5)
    if not hidden:
        return nn.Sequential(nn.Linear(WIDTH, classes)).double()
    return nn.Sequential(
        nn.Linear(WIDTH, hidden), nn.Sigmoid(), nn.Linear(hidden, classes)
    ).double()


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
    seen = torch.from_numpy(random.random((ROWS, COLUMNS)) < 0.6)
    return x, y, seen


def weights_of(layer: nn.Sequential, j: int, found: list[torch.Tensor], axes: list[int]) -> None:
    """Assert that column j of `found` is the gradient of every layer."""
    linear = [part for part in layer if isinstance(part, nn.Linear)]
    for part, ours, axis in zip(linear, found, axes, strict=True):
        one = ours.select(axis, j)
        assert part.weight.grad is not None
        assert part.bias.grad is not None
        torch.testing.assert_close(one[:-1], part.weight.grad.T)
        torch.testing.assert_close(one[-1], part.bias.grad)


@pytest.mark.parametrize("normalised", [False, True])
@pytest.mark.parametrize(("classes", "hidden"), [(2, 0), (5, 0), (40, 0), (2, 4), (3, 4)])
def test_gradients_are_those_of_autograd(classes: int, hidden: int, normalised: bool) -> None:
    """Each column's is the gradient of the mean cross-entropy over the rows it sees.

    The start is torch's own, drawn from the same seed. Folded into the weights, z-normalisation
    gives what a normalised copy gives.
    """
    x, y, seen = batch(classes)
    x = 3 * x + 1
    mean, deviation = torch.zeros(2, WIDTH, COLUMNS, dtype=torch.float64)
    deviation += 1
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
        weights_of(layer, j, out, [p.axis for p in model.parameters])
        expected = layer(z).argmax(1)
        assert model.predict(x, torch.tensor([j]))[:, 0].tolist() == expected.tolist()


@pytest.mark.parametrize("kind", ["adam", "rmsprop"])
def test_optimisers_are_torchs_with_a_decay_for_each_column(kind: str) -> None:
    """Twenty steps, then half of the columns is taken out, and twenty more."""
    decays = torch.tensor([0.0, 1e-3, 0.1], dtype=torch.float64)
    start = torch.randn(4, 3, generator=generator(), dtype=torch.float64)
    ours = [models.Parameter(start.clone(), 1)]
    optimiser = optimisers.OPTIMISERS[kind](ours, decays)
    theirs = [start[:, j].clone().requires_grad_() for j in range(3)]
    torchs = [
        {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}[kind](
            [w], weight_decay=float(decays[j])
        )
        for j, w in enumerate(theirs)
    ]
    left = [0, 1, 2]
    for step in range(40):
        if step == 20:
            left = [0, 2]
            kept = torch.tensor(left)
            ours = [p.kept(kept) for p in ours]
            optimiser.keep(kept)
        gradient = torch.randn(4, 3, generator=generator().manual_seed(step), dtype=torch.float64)
        optimiser.step(ours, [gradient[:, left].clone()])
        for j in left:
            theirs[j].grad = gradient[:, j].clone()
            torchs[j].step()
    for place, j in enumerate(left):
        torch.testing.assert_close(ours[0].values[:, place], theirs[j].detach())


def test_dropout_drops_the_share_and_keeps_the_mean() -> None:
    """A hidden unit that is dropped has no gradient in that row; predictions drop nothing."""
    hidden = 400
    model = models.Hidden(WIDTH, 1, 2, hidden, 0.25, generator(), "cpu")
    x, y = torch.ones(1, WIDTH), torch.eye(2)[:1]
    out = [torch.empty_like(p.values) for p in model.parameters]
    model.gradients(x, y, torch.ones(1, 1), out)
    dropped = (out[0][-1, 0] == 0).float().mean()
    assert dropped == pytest.approx(0.25, abs=0.06)
    assert (model.predict(x, torch.tensor([0])) == model.predict(x, torch.tensor([0]))).all()
