"""The gradients of one update: of the whole batch at once, or in micro-batches.

A contrastive loss compares every example of a batch with every other, so a batch cannot simply be
cut and its gradients added. GradCache (Gao, Zhang, Han and Callan 2021, section 3.2) takes three
steps, whose memory is that of one micro-batch and of the vectors:

1. pass every micro-batch through the model without a graph, and keep the vectors h;
2. compute the loss L from all of them, and its gradients dL/dh;
3. pass every micro-batch through again, this time with a graph, and backpropagate dL/dh:
   dL/dtheta = sum over micro-batches of dL/dh dh/dtheta.

Before the second pass of a micro-batch the random state of its first is restored, so that both
have the same dropout masks.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch

from theodolite.engine.training import devices
from theodolite.engine.training.devices import all_gather, is_stand_in, sum_over_ranks
from theodolite.engine.training.mlm import Masked, mask, mlm_loss
from theodolite.engine.training.model import TrainingModel
from theodolite.engine.training.objectives import Column, Objective

Scaled = Callable[[torch.Tensor], torch.Tensor]


def unscaled(loss: torch.Tensor) -> torch.Tensor:
    """The loss unchanged; fp16 uses `torch.amp.GradScaler.scale` instead."""
    return loss


def backward(
    model: TrainingModel,
    objective: Objective,
    columns: Sequence[Column],
    micro_batch: int | None,
    rng: np.random.Generator,
    *,
    counts: Sequence[int] = (),
    scaled: Scaled = unscaled,
) -> torch.Tensor:
    """Add the gradients of a batch's loss to the parameters.

    With several processes the columns are this one's shard of the batch, and its gradients are to
    be summed afterwards (`devices.sum_gradients`).

    Args:
        model: in training mode.
        objective: defines the loss.
        columns: the views of the batch, all of one length.
        micro_batch: examples that pass through the model at once; None for all.
        rng: draws the tokens that MLM masks.
        counts: with several processes the examples of each. Where this one has none, the columns
            hold a stand-in (`Ranks.shard`), which adds gradients of zero.
        scaled: applied to every loss before its backward pass.

    Returns:
        The loss of the batch (of all processes), a scalar without a graph, on the model's device
        and without synchronising with it.
    """
    size = micro_batch or len(columns[0].ids)
    loss = torch.zeros((), device=model.device)
    if objective.contrasts:
        loss = loss + _contrastive(model, objective, columns, size, counts, scaled)
    if objective.mlm_weight:
        masked = mask_tokens(columns, model, rng, objective.mlm_probability)
        masked = masked.without_labels() if is_stand_in(counts) else masked
        # As many sentences at once as a micro-batch of all columns has.
        step = size * sum(column.side == 0 for column in columns)
        loss = loss + _mlm_loss(model, objective.mlm_weight, masked, step, scaled)
    return loss


def mask_tokens(
    columns: Sequence[Column], model: TrainingModel, rng: np.random.Generator, probability: float
) -> Masked:
    """Mask tokens in the sentences of all columns of the first encoder.

    A second encoder has no part in MLM, since it is not exported.
    """
    tokenizer = model.tokenizer
    return mask(
        [row for column in columns if column.side == 0 for row in column.ids],
        rng,
        probability=probability,
        mask_id=tokenizer.mask_token_id,
        special=tokenizer.all_special_ids,
        vocabulary=len(tokenizer),
    )


def _contrastive(
    model: TrainingModel,
    objective: Objective,
    columns: Sequence[Column],
    size: int,
    counts: Sequence[int],
    scaled: Scaled,
) -> torch.Tensor:
    n = len(columns[0].ids)
    if size >= n:
        vectors = _vectors(model, columns, 0, n)
        loss = objective.loss([all_gather(column, counts) for column in vectors])
        _backward([scaled(loss)])
        return loss.detach()

    starts, device = range(0, n, size), model.device
    states, parts = [], []
    with torch.no_grad():
        for start in starts:
            states.append(devices.dropout_states(device))
            parts.append(_vectors(model, columns, start, start + size))
    # Older torch keeps the weights that autocast cast here, which have no graph (issue 112583).
    torch.clear_autocast_cache()

    cached = [torch.cat(column).requires_grad_() for column in zip(*parts, strict=True)]
    loss = objective.loss([all_gather(column, counts) for column in cached])
    _backward([scaled(loss)])

    for start, state in zip(starts, states, strict=True):
        devices.restore_dropout(state, device)
        vectors = _vectors(model, columns, start, start + size)
        _backward(vectors, [column.grad[start : start + size] for column in cached])  # type: ignore[index]
    return loss.detach()


def _mlm_loss(
    model: TrainingModel, weight: float, masked: Masked, step: int, scaled: Scaled
) -> torch.Tensor:
    """The weighted MLM loss: a mean over the tokens of all micro-batches and processes."""
    number = sum_over_ranks(torch.full((), float(masked.count), device=model.device))
    number = number.clamp(min=1)
    total = torch.zeros((), device=number.device)
    for start in range(0, len(masked.ids), step):
        loss = weight * mlm_loss(model, masked.part(start, start + step)) / number
        _backward([scaled(loss)])
        total = total + loss.detach()
    return sum_over_ranks(total)


def _backward(
    tensors: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor] | None = None
) -> None:
    """Run a backward pass in the types of its forward, whatever autocast surrounds it.

    Autocast would multiply the gradients of a float32 loss in half precision.
    """
    with torch.autocast(tensors[0].device.type, enabled=False):
        torch.autograd.backward(tensors, gradients)


def _vectors(
    model: TrainingModel, columns: Sequence[Column], start: int, stop: int
) -> list[torch.Tensor]:
    """The vectors of some examples, a tensor for each column; one forward for each encoder."""
    made: dict[int, list[torch.Tensor]] = {}
    for side in {column.side for column in columns}:
        rows = [column.ids[start:stop] for column in columns if column.side == side]
        vectors = model.vectors([ids for column in rows for ids in column], side=side)
        made[side] = list(vectors.split(len(rows[0])))  # type: ignore[no-untyped-call]
    return [made[column.side].pop(0) for column in columns]
