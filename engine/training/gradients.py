"""The gradients of one update: of the whole batch at once, or in micro-batches.

A contrastive loss compares every example of a batch with every other, so a batch cannot simply be
cut and its gradients added. GradCache (Gao, Zhang, Han and Callan 2021, section 3.2) takes three
steps, whose memory is that of one micro-batch and of the vectors:

1. pass every micro-batch through the model without a graph, and keep the vectors h;
2. compute the loss L from all of them, and its gradients dL/dh;
3. pass every micro-batch through again, this time with a graph, and hand dL/dh back into it:
   dL/dtheta = sum over micro-batches of dL/dh dh/dtheta.

Before the second pass of a micro-batch the random state of its first is restored, so that both
have the same dropout masks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch

from engine.training.distributed import gathered, summed
from engine.training.objectives import Column, Model, Objective
from engine.training.objectives.mlm import hidden, mlm_loss

Scaled = Callable[[torch.Tensor], torch.Tensor]


def unscaled(loss: torch.Tensor) -> torch.Tensor:
    """The loss as it is; in its place stands `torch.amp.GradScaler.scale` for fp16."""
    return loss


def backward(
    model: Model,
    objective: Objective,
    columns: Sequence[Column],
    micro_batch: int | None,
    rng: np.random.Generator,
    *,
    scaled: Scaled = unscaled,
) -> torch.Tensor:
    """Add the gradients of a batch's loss to the parameters.

    With several processes the columns are this one's share of the batch, and its gradients are to
    be summed afterwards (`distributed.sum_gradients`).

    Args:
        model: in training mode.
        objective: what the loss is made of.
        columns: the views of the batch, all of one length.
        micro_batch: examples that pass through the model at once; None for all.
        rng: the tokens that MLM hides are drawn from it.
        scaled: applied to every loss before its backward pass.

    Returns:
        The loss of the batch (of all processes), a scalar without a graph, on the model's device:
        it is not waited for.
    """
    size = micro_batch or len(columns[0].ids)
    loss = torch.zeros((), device=_device(model))
    if objective.contrasts:
        loss = loss + _contrastive(model, objective, columns, size, scaled)
    if objective.mlm_weight:
        loss = loss + _masked(model, objective, columns, size, rng, scaled)
    return loss


def _contrastive(
    model: Model, objective: Objective, columns: Sequence[Column], size: int, scaled: Scaled
) -> torch.Tensor:
    n = len(columns[0].ids)
    if size >= n:
        vectors = _vectors(model, columns, 0, n)
        loss = objective.loss([gathered(column) for column in vectors])
        _hand_back([scaled(loss)])
        return loss.detach()

    starts = range(0, n, size)
    states, parts = [], []
    with torch.no_grad():
        for start in starts:
            states.append(_random_state(model))
            parts.append(_vectors(model, columns, start, start + size))
    # Older torch keeps the weights that autocast cast here, which have no graph (issue 112583).
    torch.clear_autocast_cache()

    cached = [torch.cat(column).requires_grad_() for column in zip(*parts, strict=True)]
    loss = objective.loss([gathered(column) for column in cached])
    _hand_back([scaled(loss)])

    for start, state in zip(starts, states, strict=True):
        _restore(model, state)
        vectors = _vectors(model, columns, start, start + size)
        _hand_back(vectors, [column.grad[start : start + size] for column in cached])  # type: ignore[index]
    return loss.detach()


def _masked(
    model: Model,
    objective: Objective,
    columns: Sequence[Column],
    size: int,
    rng: np.random.Generator,
    scaled: Scaled,
) -> torch.Tensor:
    """The weighted MLM loss: a mean over the tokens of all micro-batches and processes."""
    masked = hidden(columns, model, rng, objective.mlm_probability)
    chosen = summed(torch.full((), float(masked.chosen), device=_device(model)))
    chosen = chosen.clamp(min=1)
    total = torch.zeros((), device=chosen.device)
    # As many sentences at once as a micro-batch of all columns has.
    step = size * sum(column.side == 0 for column in columns)
    for start in range(0, len(masked.ids), step):
        loss = objective.mlm_weight * mlm_loss(model, masked.part(start, start + step)) / chosen
        _hand_back([scaled(loss)])
        total = total + loss.detach()
    return summed(total)


def _hand_back(
    tensors: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor] | None = None
) -> None:
    """A backward pass in the types of its forward, whatever autocast surrounds it.

    Autocast would multiply the gradients of a float32 loss in half precision.
    """
    with torch.autocast(tensors[0].device.type, enabled=False):
        torch.autograd.backward(tensors, gradients)


def _vectors(model: Model, columns: Sequence[Column], start: int, stop: int) -> list[torch.Tensor]:
    """The vectors of some examples, a tensor for each column; one forward for each encoder."""
    made: dict[int, list[torch.Tensor]] = {}
    for side in {column.side for column in columns}:
        rows = [column.ids[start:stop] for column in columns if column.side == side]
        vectors = model.vectors([ids for column in rows for ids in column], side=side)
        made[side] = list(vectors.split(len(rows[0])))  # type: ignore[no-untyped-call]
    return [made[column.side].pop(0) for column in columns]


def _device(model: Model) -> torch.device:
    return next(iter(model.parameters())).device


def _random_state(model: Model) -> tuple[torch.Tensor, torch.Tensor | None]:
    """What dropout draws from: the state of the CPU and that of the model's GPU."""
    device = _device(model)
    if device.type == "cuda":
        return torch.get_rng_state(), torch.cuda.get_rng_state(device)
    if device.type == "mps":
        return torch.get_rng_state(), torch.mps.get_rng_state()
    return torch.get_rng_state(), None


def _restore(model: Model, state: tuple[torch.Tensor, torch.Tensor | None]) -> None:
    cpu, gpu = state
    torch.set_rng_state(cpu)
    device = _device(model)
    if gpu is not None and device.type == "cuda":
        torch.cuda.set_rng_state(gpu, device)
    elif gpu is not None:
        torch.mps.set_rng_state(gpu)
