"""Several processes that train one model: vectors of all as negatives, gradients summed.

Every process (rank) holds the whole model and passes its share of the batch through it. The
vectors of all ranks are gathered, and each rank computes the loss of the whole batch; only its own
vectors carry gradients, as in SimCSE's reference code. A loss of the whole batch has the gradient

    dL/dtheta = sum_i dL/dh_i dh_i/dtheta,

whose terms lie each on the rank that made h_i: summed over the ranks they are the gradient of one
process with the whole batch. (The reference lets DistributedDataParallel average, which makes its
gradients smaller by the number of ranks; AdamW hides most of that.)

`torchrun` and `accelerate launch` both set RANK, WORLD_SIZE and LOCAL_RANK.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import distributed

from engine.errors import UserError


@dataclass(frozen=True)
class Ranks:
    """This process among all.

    Attributes:
        rank: its number, from 0; rank 0 alone writes files and speaks.
        world_size: how many there are.
        local_rank: its number on this machine, which is that of its GPU.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0

    @classmethod
    def of_environment(cls) -> Ranks:
        """What the launcher set; alone without one."""
        rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        return cls(rank, world_size, int(os.environ.get("LOCAL_RANK", rank)))

    def share(self, batch: np.ndarray) -> np.ndarray:
        """This rank's part of a batch that every rank knows, in order of rank.

        Raises:
            UserError: the batch has fewer examples than there are ranks.
        """
        if len(batch) < self.world_size:
            raise UserError(
                f"A batch of {len(batch)} cannot be shared by {self.world_size} processes.",
                "Raise the batch size, or start fewer processes.",
            )
        return np.array_split(batch, self.world_size)[self.rank]


def begin(device: torch.device) -> Ranks:
    """Meet the other processes, if a launcher started several; NCCL on GPUs, else gloo."""
    ranks = Ranks.of_environment()
    if ranks.world_size > 1 and not distributed.is_initialized():
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    return ranks


def end() -> None:
    """Part from the other processes."""
    if distributed.is_initialized():
        distributed.destroy_process_group()


def copy_from_first(model: torch.nn.Module) -> None:
    """Give every rank the weights and buffers of rank 0."""
    if distributed.is_initialized():
        for tensor in model.state_dict().values():
            distributed.broadcast(tensor, src=0)


def gathered(own: torch.Tensor) -> torch.Tensor:
    """The rows of all ranks, (n of all, d), in order of rank; gradients flow to the own ones.

    Ranks may hold different numbers of rows. Alone, it is the tensor itself.
    """
    if not distributed.is_initialized():
        return own
    world_size = distributed.get_world_size()
    sizes = [torch.zeros(1, dtype=torch.long, device=own.device) for _ in range(world_size)]
    distributed.all_gather(sizes, torch.tensor([len(own)], device=own.device))
    counts = [int(size) for size in sizes]
    padded = own.detach().new_zeros(max(counts), *own.shape[1:])
    padded[: len(own)] = own.detach()
    parts = [torch.empty_like(padded) for _ in counts]
    distributed.all_gather(parts, padded)
    rows = [part[:count] for part, count in zip(parts, counts, strict=True)]
    rows[distributed.get_rank()] = own
    return torch.cat(rows)


def summed(own: torch.Tensor) -> torch.Tensor:
    """The sum over all ranks, without gradients."""
    total = own.detach().clone()
    if distributed.is_initialized():
        distributed.all_reduce(total)
    return total


def agreed(word: str, words: Sequence[str], device: torch.device) -> str:
    """What rank 0 says, one of some words known to all; every rank must ask at the same step."""
    if not distributed.is_initialized():
        return word
    number = torch.tensor([words.index(word)], device=device)
    distributed.broadcast(number, src=0)
    return words[int(number)]


def sum_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Sum every parameter's gradient over the ranks, in place.

    A parameter that only some ranks used (an MLM head where no token was chosen) counts as zero
    on the others; one that none used is left without a gradient.
    """
    if not distributed.is_initialized():
        return
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    used = torch.tensor([p.grad is not None for p in trained], device=trained[0].device).int()
    distributed.all_reduce(used)
    kept = [p for p, users in zip(trained, used.tolist(), strict=True) if users]
    for parameter in kept:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    for dtype in {parameter.dtype for parameter in kept}:
        same = [p.grad for p in kept if p.dtype == dtype and p.grad is not None]
        # One message: a message each would wait for the network as often.
        flat = torch.cat([gradient.flatten() for gradient in same])
        distributed.all_reduce(flat)
        parts = flat.split([gradient.numel() for gradient in same])  # type: ignore[no-untyped-call]
        for gradient, part in zip(same, parts, strict=True):
            gradient.copy_(part.view_as(gradient))
