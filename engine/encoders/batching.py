"""Groups token lists into batches. Knows only lengths, no model.

Sorting by length and filling batches up to a number of tokens wastes little on padding. A batch
whose texts all have one length needs no attention mask at all, which is faster still, so a batch is
closed early where the length changes, once it is full enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from engine.errors import UserError

if TYPE_CHECKING:
    import torch

# Measured with MiniLM-L6 on two cores: 512 to 2,048 tokens were within noise, 1,024 best.
CPU_TOKENS = 1024
GPU_TOKENS = 32_768
FULL_ENOUGH = 0.3

Ids = Sequence[int]
T = TypeVar("T")


def batches(lengths: Sequence[int], tokens: int) -> Iterator[np.ndarray]:
    """Split texts into batches, longest first.

    Args:
        lengths: tokens of each text, at least one.
        tokens: maximum tokens of a batch, padding included; a longer text is a batch of its own.

    Yields:
        Indices into `lengths`, int64, in descending order of length; every index once.
    """
    length = np.asarray(lengths, np.int64)
    order = np.argsort(-length, kind="stable")
    falling = length[order]
    start = 0
    while start < len(order):
        room = max(tokens // int(falling[start]), 1)
        stop = min(start + room, len(order))
        # First index whose text is shorter than the longest.
        change = int(np.searchsorted(-falling, -falling[start], side="right"))
        if change < stop and change - start >= FULL_ENOUGH * room:
            stop = change
        yield order[start:stop]
        start = stop


class TokenBudget:
    """Tokens that pass through a model at once; lowered when a batch does not fit the memory.

    Args:
        device: of the model.

    Attributes:
        tokens: maximum of a batch, padding included.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.tokens = CPU_TOKENS if device.type == "cpu" else GPU_TOKENS

    def parts(self, forward: Callable[[Sequence[Ids]], T], ids: Sequence[Ids]) -> Iterator[T]:
        """Yield a model's outputs for a batch: for all at once, or for halves that fit the memory.

        Args:
            forward: runs the model on some of the batch's token lists.
            ids: token lists in descending order of length.

        Raises:
            UserError: a single text does not fit the memory.
        """
        waiting = [ids]
        while waiting:
            part = waiting.pop()
            fits = len(part) == 1 or len(part) * len(part[0]) <= self.tokens
            made = self._tried(forward, part) if fits else None
            if made is not None:
                yield made
                continue
            half = (len(part) + 1) // 2
            waiting += [part[half:], part[:half]]

    def _tried(self, forward: Callable[[Sequence[Ids]], T], ids: Sequence[Ids]) -> T | None:
        """Run a model on token lists; None, and a smaller budget, if they do not fit."""
        from engine.memory import empty_cache, ran_out

        try:
            return forward(ids)
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise
            if len(ids) == 1:
                raise UserError(
                    f"A text of {len(ids[0]):,} tokens does not fit the memory of {self.device}.",
                    "Cut texts earlier with max_length, or close what else uses that memory.",
                ) from error
        # The error, which kept alive what did not fit, is gone here.
        empty_cache(self.device)
        self.tokens = max(1, len(ids) * len(ids[0]) // 2)
        return None


def padded(ids: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Token lists in descending order of length as one tensor, padded on the right.

    Returns:
        int64 (b, t) and the attention mask, int64 (b, t), or None when nothing was padded.
    """
    import torch

    longest = len(ids[0])
    if len(ids[-1]) == longest:
        return torch.tensor(ids), None
    lengths = np.array([len(row) for row in ids])
    mask = np.arange(longest) < lengths[:, None]  # (b, t)
    matrix = np.full(mask.shape, pad, np.int64)
    matrix[mask] = np.concatenate([np.asarray(row, np.int64) for row in ids])
    return torch.from_numpy(matrix), torch.from_numpy(mask.astype(np.int64))
