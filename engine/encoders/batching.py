"""Which token lists go through a model together. Knows lengths only, no model.

Sorting by length and filling batches up to a number of tokens wastes little on padding. A batch
whose texts all have one length needs no attention mask at all, which is faster still, so a batch is
closed early where the length changes, once it is full enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

# Measured with MiniLM-L6 on two cores: 512 to 2,048 tokens were within noise, 1,024 best.
CPU_TOKENS = 1024
GPU_TOKENS = 32_768
FULL_ENOUGH = 0.3


def batches(lengths: Sequence[int], tokens: int) -> Iterator[np.ndarray]:
    """Split texts into batches, longest first.

    Args:
        lengths: tokens of each text, at least one.
        tokens: most tokens of a batch, padding included; a longer text goes alone.

    Yields:
        Indices into `lengths`, int64, by falling length; every index once.
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


def padded(ids: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Token lists of falling length as one tensor, padded on the right.

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
