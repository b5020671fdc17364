"""AdamW, its linear schedule, and one update, as in transformers' trainer, which SimCSE uses.

Loshchilov and Hutter 2019; betas 0.9 and 0.999, epsilon 1e-8. Nothing here waits for a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import nn

from theodolite.engine.training.spec import TrainSpec


def adamw(model: nn.Module, spec: TrainSpec) -> torch.optim.AdamW:
    """The optimiser of a model's trained parameters; biases and norms are not decayed."""
    trained = [p for p in model.parameters() if p.requires_grad]
    # Biases and the scales of norms are the parameters with a single dimension.
    groups = [
        {"params": [p for p in trained if p.ndim > 1], "weight_decay": spec.weight_decay},
        {"params": [p for p in trained if p.ndim <= 1], "weight_decay": 0.0},
    ]
    # One kernel for all parameters; of the supported devices only Apple's lack it in older torch.
    fused = trained[0].device.type in ("cuda", "cpu")
    return torch.optim.AdamW(groups, lr=spec.learning_rate, eps=1e-8, fused=fused)


def learning_rate(spec: TrainSpec, step: int, steps: int) -> float:
    """The learning rate of an update: linear warm-up, then linear decay towards 0.

    Args:
        spec: has the peak rate, and the share of the steps that warm up.
        step: updates made before this one, from 0.
        steps: updates in all.

    Examples:
        >>> spec = TrainSpec("unsup", "minilm", "a.txt", "out", learning_rate=0.8, warmup=0.5)
        >>> [learning_rate(spec, step, 8) for step in range(8)]
        [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 0.6000000000000001, 0.4, 0.2]
    """
    warming = math.ceil(spec.warmup * steps)
    if step < warming:
        return spec.learning_rate * (step / warming)
    return spec.learning_rate * ((steps - step) / max(1, steps - warming))


def update(
    optimiser: torch.optim.AdamW,
    scaler: torch.amp.GradScaler,
    rate: float,
    max_norm: float,
    parameters: Iterable[nn.Parameter] | None = None,
) -> torch.Tensor:
    """Clip the gradients, move the weights, and drop the gradients.

    Args:
        optimiser: of the parameters, which have their gradients.
        scaler: of fp16; it skips an update whose gradients overflowed, and lowers its scale. A
            disabled one does nothing.
        rate: the learning rate; a group of parameters may have a `share` of it.
        max_norm: longer gradients are scaled down to this; 0 for never.
        parameters: those of the optimiser in another order: sums of floats depend on it.

    Returns:
        The norm of all gradients before clipping, a scalar on the device.
    """
    scaler.unscale_(optimiser)
    if parameters is None:
        parameters = [p for group in optimiser.param_groups for p in group["params"]]
    norm = nn.utils.clip_grad_norm_(parameters, max_norm or math.inf)
    for group in optimiser.param_groups:
        group["lr"] = rate * group.get("share", 1.0)
    scaler.step(optimiser)
    scaler.update()
    optimiser.zero_grad(set_to_none=True)
    return norm.detach()
