"""Adam and RMSprop as torch has them by default, with a weight decay for each column.

Written out because torch's take one weight decay for a whole matrix, and because columns that have
stopped are taken out of the state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.classifiers.models import Parameter

if TYPE_CHECKING:
    import torch


class _Decayed:
    """The weight decay and the state that both share; `step` moves weights in place."""

    _states: int

    def __init__(self, parameters: list[Parameter], penalties: torch.Tensor) -> None:
        self._penalties = penalties
        self._state = [
            [Parameter(p.values.new_zeros(p.values.shape), p.axis) for _ in range(self._states)]
            for p in parameters
        ]
        self._scratch = [p.values.new_empty(p.values.shape) for p in parameters]

    def keep(self, columns: torch.Tensor) -> None:
        """Forget the state of all columns but these."""
        self._penalties = self._penalties[columns]
        self._state = [[p.kept(columns) for p in states] for states in self._state]
        self._scratch = [s[0].values.new_empty(s[0].values.shape) for s in self._state]

    def _decay(self, parameter: Parameter, gradient: torch.Tensor) -> None:
        shape = [1] * gradient.dim()
        shape[parameter.axis] = -1
        gradient.addcmul_(parameter.values, self._penalties.view(shape))


class Adam(_Decayed):
    """Adam with lr 0.001, betas 0.9 and 0.999; the decay is part of the gradient."""

    _states = 2
    _steps = 0

    def step(self, parameters: list[Parameter], gradients: list[torch.Tensor]) -> None:
        """Take one step; the gradients are overwritten."""
        import torch

        self._steps += 1
        root = (1 - 0.999**self._steps) ** 0.5
        rate = 1e-3 * root / (1 - 0.9**self._steps)
        rows = zip(parameters, gradients, self._state, self._scratch, strict=True)
        for p, g, (mean, square), scratch in rows:
            self._decay(p, g)
            mean.values.lerp_(g, 0.1)
            square.values.mul_(0.999).addcmul_(g, g, value=0.001)
            torch.sqrt(square.values, out=scratch).add_(1e-8 * root)
            p.values.addcdiv_(mean.values, scratch, value=-rate)


class RMSprop(_Decayed):
    """RMSprop with lr 0.01 and alpha 0.99; the decay is part of the gradient."""

    _states = 1

    def step(self, parameters: list[Parameter], gradients: list[torch.Tensor]) -> None:
        """Take one step; the gradients are overwritten."""
        import torch

        rows = zip(parameters, gradients, self._state, self._scratch, strict=True)
        for p, g, (square,), scratch in rows:
            self._decay(p, g)
            square.values.mul_(0.99).addcmul_(g, g, value=0.01)
            torch.sqrt(square.values, out=scratch).add_(1e-8)
            p.values.addcdiv_(g, scratch, value=-0.01)


OPTIMISERS: dict[str, type[Adam] | type[RMSprop]] = {"adam": Adam, "rmsprop": RMSprop}
