"""Adam and RMSprop with torch's defaults and a weight decay for each column.

Written out because torch's take one weight decay for a whole matrix, and because columns that have
stopped are removed from the state.
"""

import torch

from theodolite.engine.classifiers.models import Parameter


class _Decayed:
    """The weight decay and state that both share; `step` updates weights in place."""

    _states: int

    def __init__(self, parameters: list[Parameter], penalties: torch.Tensor) -> None:
        self._penalties = penalties
        self._state = [
            [Parameter(p.values.new_zeros(p.values.shape), p.axis) for _ in range(self._states)]
            for p in parameters
        ]

    def keep(self, columns: torch.Tensor) -> None:
        """Keep the state of these columns only."""
        self._penalties = self._penalties[columns]
        self._state = [[p.take(columns) for p in states] for states in self._state]

    def _decay(self, parameter: Parameter, gradient: torch.Tensor) -> None:
        shape = [1] * gradient.dim()
        shape[parameter.axis] = -1
        gradient.addcmul_(parameter.values, self._penalties.view(shape))


class Adam(_Decayed):
    """Adam with lr 0.001, betas 0.9 and 0.999; the decay is part of the gradient.

    Uses torch's fused kernel, which passes over memory once.
    """

    _states = 2

    def __init__(self, parameters: list[Parameter], penalties: torch.Tensor) -> None:
        super().__init__(parameters, penalties)
        self._steps = [p.values.new_zeros(()) for p in parameters]  # incremented by the kernel

    def step(self, parameters: list[Parameter], gradients: list[torch.Tensor]) -> None:
        """Take one step; the gradients are overwritten."""
        from torch.optim.adam import adam

        for parameter, gradient in zip(parameters, gradients, strict=True):
            self._decay(parameter, gradient)
        means, squares = ([state[i].values for state in self._state] for i in range(2))
        adam(
            [p.values for p in parameters],
            gradients,
            means,
            squares,
            [],
            self._steps,
            fused=True,
            amsgrad=False,
            maximize=False,
            lr=1e-3,
            beta1=0.9,
            beta2=0.999,
            eps=1e-8,
            weight_decay=0.0,
        )


class RMSprop(_Decayed):
    """RMSprop with lr 0.01 and alpha 0.99; the decay is part of the gradient."""

    _states = 1

    def step(self, parameters: list[Parameter], gradients: list[torch.Tensor]) -> None:
        """Take one step; the gradients are overwritten."""
        for p, g, (square,) in zip(parameters, gradients, self._state, strict=True):
            self._decay(p, g)
            square.values.mul_(0.99).addcmul_(g, g, value=0.01)
            p.values.addcdiv_(g, square.values.sqrt().add_(1e-8), value=-0.01)


BY_TORCH = {
    "adadelta": "Adadelta",
    "adagrad": "Adagrad",
    "adam": "Adam",
    "adamax": "Adamax",
    "asgd": "ASGD",
    "rmsprop": "RMSprop",
    "rprop": "Rprop",
    "sgd": "SGD",
}
"""Optimisers of the plain loop: SentEval's name -> the class in torch.optim."""

OPTIMISERS: dict[str, type[Adam] | type[RMSprop]] = {"adam": Adam, "rmsprop": RMSprop}
"""Optimisers of the fast solver."""
