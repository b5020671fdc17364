"""Many small classifiers side by side as columns of one matrix, with their gradients by hand.

Every model holds C classifiers over the same features. It computes the logits and the gradient of
the mean cross-entropy, where each classifier weighs the rows of the batch by itself; it knows
neither optimisers nor stopping.

Shapes: B rows, F features, C columns (classifiers), K classes, H hidden units.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch

_MAX_INNER = 32
"""Most classes with which columns are the inner dimension."""


@dataclass(frozen=True, eq=False)
class Parameter:
    """Weights of all columns; `axis` is the axis of the columns."""

    values: torch.Tensor
    axis: int

    def take(self, columns: torch.Tensor) -> Parameter:
        """Return a copy with some columns."""
        return Parameter(self.values.index_select(self.axis, columns).contiguous(), self.axis)


@dataclass(frozen=True, eq=False)
class Scaling:
    """z-normalisation of the features, for each column.

    It is folded into the weights, so that no normalised copy of the features is made:
    (x - mean) / deviation @ W = x @ (W / deviation) - mean @ (W / deviation).

    Attributes:
        mean, inverse: float32 (F, C); `inverse` is 1 / deviation.
    """

    mean: torch.Tensor
    inverse: torch.Tensor

    def take(self, columns: torch.Tensor) -> Scaling:
        """Return a copy with some columns."""
        return Scaling(self.mean[:, columns], self.inverse[:, columns])


class ColumnsModel(Protocol):
    """C classifiers."""

    parameters: list[Parameter]
    scaling: Scaling | None

    def gradients(
        self, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, out: list[torch.Tensor]
    ) -> None:
        """Write the gradient for each parameter into `out`.

        Args:
            x: (B, F).
            y: float32 (B, K), 1 at the class of each row.
            weight: (B, C) or (1, 1), of each row in each column's mean: 1 / its number of rows, or
                0.
            out: tensors of the parameters' shapes; allocating new ones for each batch would cost
                as much as the arithmetic.
        """
        ...

    def predict(self, x: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """Return the classes (B, len(columns)) that some of the columns predict."""
        ...


def linear_start(width: int, outputs: int, generator: torch.Generator) -> torch.Tensor:
    """Draw (width + 1, outputs) as `torch.nn.Linear` draws weights, then biases."""
    bound = 1 / math.sqrt(width)
    weights = torch.empty(outputs, width).uniform_(-bound, bound, generator=generator)
    biases = torch.empty(outputs).uniform_(-bound, bound, generator=generator)
    return torch.cat([weights.T, biases[None]])


def _repeat(one: torch.Tensor, columns: int, axis: int, device: str) -> Parameter:
    """Initialise every column alike: the reference reseeds for every fit."""
    shape = list(one.shape)
    shape.insert(axis, columns)
    return Parameter(one.unsqueeze(axis).expand(shape).contiguous().to(device), axis)


class TwoClasses:
    """Softmax regression with K = 2.

    Only the difference of the two logits matters, so both products are half as wide; the gradients
    are exact, and each class keeps its own weights, which decay.

    `parameters[0]`: (F + 1, 2, C), the last row being the bias.
    """

    def __init__(self, width: int, columns: int, generator: torch.Generator, device: str) -> None:
        start = linear_start(width, 2, generator)
        self.parameters = [_repeat(start, columns, 2, device)]
        self.scaling: Scaling | None = None

    def _difference(self) -> torch.Tensor:
        w = self.parameters[0].values
        return _weights_of_raw(w[:, 1] - w[:, 0], self.scaling, 1)  # (F + 1, C)

    def gradients(
        self, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, out: list[torch.Tensor]
    ) -> None:
        """See `ColumnsModel`."""
        error = _affine(x, self._difference()).sigmoid_().sub_(y[:, 1:]).mul_(weight)
        _write_gradient(x, error, self.scaling, 1, out[0][:, 1])
        torch.neg(out[0][:, 1], out=out[0][:, 0])

    def predict(self, x: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """See `ColumnsModel`."""
        return (_affine(x, self._difference()[:, columns]) > 0).long()


class ColumnsLinear:
    """Softmax regression.

    `parameters[0]`: (F + 1, K, C), the last row being the bias; (F + 1, C, K) for many classes,
    since a softmax is fast when the inner dimension is long.
    """

    def __init__(
        self, width: int, columns: int, classes: int, generator: torch.Generator, device: str
    ) -> None:
        start = linear_start(width, classes, generator)
        self._classes, axis = (1, 2) if classes <= _MAX_INNER else (2, 1)
        self.parameters = [_repeat(start, columns, axis, device)]
        self.scaling: Scaling | None = None

    def gradients(
        self, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, out: list[torch.Tensor]
    ) -> None:
        """See `ColumnsModel`."""
        w = self.parameters[0]
        z = _affine(x, _weights_of_raw(w.values, self.scaling, w.axis))
        error = _softmax_error(z, y, weight, self._classes)
        _write_gradient(x, error, self.scaling, w.axis, out[0])

    def predict(self, x: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """See `ColumnsModel`."""
        w = self.parameters[0].take(columns)
        scaling = None if self.scaling is None else self.scaling.take(columns)
        return _affine(x, _weights_of_raw(w.values, scaling, w.axis)).argmax(self._classes)


def _softmax_error(
    z: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, classes: int
) -> torch.Tensor:
    """Return the gradient of the weighted cross-entropies with respect to their logits.

    Args:
        z: logits (B, K, C) or (B, C, K).
        y: (B, K), 1 at the class of each row.
        weight: (B, C).
        classes: the axis of z that runs over classes, 1 or 2.
    """
    columns = 3 - classes
    error = torch.softmax(z, dim=classes).sub_(y.unsqueeze(columns))
    return error.mul_(weight.unsqueeze(classes))


def _affine(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Map (B, F) by weights (F + 1, ...) whose last row is the bias."""
    flat = w.reshape(len(w), -1)
    return torch.addmm(flat[-1], x, flat[:-1]).view(len(x), *w.shape[1:])


def _along(scale: torch.Tensor, axis: int, dimensions: int) -> torch.Tensor:
    """View (F, C) so that it broadcasts over weights whose `axis` is that of the columns."""
    shape = [1] * dimensions
    shape[0], shape[axis] = scale.shape
    return scale.view(shape)


def _weights_of_raw(w: torch.Tensor, scaling: Scaling | None, axis: int) -> torch.Tensor:
    """Return weights (F + 1, ...) for raw features from those for normalised features."""
    if scaling is None:
        return w
    scaled = w[:-1] * _along(scaling.inverse, axis, w.dim())
    moved = (_along(scaling.mean, axis, w.dim()) * scaled).sum(0)
    return torch.cat([scaled, (w[-1] - moved)[None]])


def _write_gradient(
    x: torch.Tensor,
    error: torch.Tensor,
    scaling: Scaling | None,
    axis: int,
    out: torch.Tensor,
) -> None:
    """Write the gradient of the weights (F + 1, ...) from that of their outputs (B, ...)."""
    flat_error, flat = error.reshape(len(error), -1), out.view(len(out), -1)
    torch.mm(x.T, flat_error, out=flat[:-1])
    torch.sum(flat_error, 0, out=flat[-1])
    if scaling is not None:
        mean = _along(scaling.mean, axis, out.dim())
        inverse = _along(scaling.inverse, axis, out.dim())
        out[:-1].sub_(mean * out[-1]).mul_(inverse)


class Hidden:
    """One hidden layer: linear, dropout, sigmoid, linear, in this order.

    `parameters`: (F + 1, C, H) and (C, H + 1, K), the last row of each being the bias.
    """

    def __init__(
        self,
        width: int,
        columns: int,
        classes: int,
        hidden: int,
        dropout: float,
        generator: torch.Generator,
        device: str,
    ) -> None:
        first = linear_start(width, hidden, generator)
        second = linear_start(hidden, classes, generator)
        self.parameters = [
            _repeat(first, columns, 1, device),
            _repeat(second, columns, 0, device),
        ]
        self.dropout = dropout
        self.scaling: Scaling | None = None
        self._noise = torch.Generator(device).manual_seed(generator.initial_seed())

    def _logits(self, active: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        z = torch.baddbmm(second[:, -1:], active.transpose(0, 1), second[:, :-1])  # (C, B, K)
        return z.transpose(0, 1)

    def gradients(
        self, x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, out: list[torch.Tensor]
    ) -> None:
        """See `ColumnsModel`."""
        first, second = (parameter.values for parameter in self.parameters)
        active = _affine(x, _weights_of_raw(first, self.scaling, 1))  # (B, C, H)
        mask = None
        if self.dropout:
            mask = torch.empty_like(active).bernoulli_(1 - self.dropout, generator=self._noise)
            active.mul_(mask.div_(1 - self.dropout))
        active.sigmoid_()
        z = self._logits(active, second)  # (B, C, K)
        error = _softmax_error(z, y, weight, 2).transpose(0, 1)
        torch.bmm(active.permute(1, 2, 0), error, out=out[1][:, :-1])
        torch.sum(error, 1, out=out[1][:, -1])
        back = torch.bmm(error, second[:, :-1].transpose(1, 2)).transpose(0, 1)
        back = back * active * (1 - active)
        if mask is not None:
            back.mul_(mask)
        _write_gradient(x, back, self.scaling, 1, out[0])

    def predict(self, x: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
        """See `ColumnsModel`; without dropout."""
        first, second = (p.take(columns).values for p in self.parameters)
        scaling = None if self.scaling is None else self.scaling.take(columns)
        return self._logits(
            _affine(x, _weights_of_raw(first, scaling, 1)).sigmoid_(), second
        ).argmax(2)
