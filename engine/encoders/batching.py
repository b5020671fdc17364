"""Groups token lists into batches. Knows only lengths, no model.

Sorting by length and filling batches up to a number of tokens wastes little on padding. A batch
whose texts all have one length needs no attention mask at all, which is faster still, so a batch is
closed early where the length changes, once it is full enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import torch

CPU_TOKENS, BUSY_CPU_TOKENS = 1024, 4096
"""Tokens of a batch where cores are free, and where they are busy.

After every operation the threads wait for each other, and on busy cores longer: larger batches have
fewer operations. On free cores smaller ones stay in the processor's cache.
"""
_TRIALS = (CPU_TOKENS, BUSY_CPU_TOKENS, CPU_TOKENS, BUSY_CPU_TOKENS)
_TRIAL_TOKENS = 4096
"""Tokens that each of the trials takes."""
_PROBED_TOKENS = 2 * _TRIAL_TOKENS
"""Least tokens of a call that tries sizes."""
_WORTH = 0.9
"""Larger batches are used where they take less than this share of the time of smaller ones."""
GPU_TOKENS = 32_768
FULL_ENOUGH = 0.3

Ids = Sequence[int]
T = TypeVar("T")


def batches(lengths: Sequence[int], tokens: Callable[[], int]) -> Iterator[np.ndarray]:
    """Split texts into batches, longest first.

    Args:
        lengths: tokens of each text, at least one.
        tokens: called before each batch; its maximum tokens, padding included. A longer text is a
            batch of its own.

    Yields:
        Indices into `lengths`, int64, in descending order of length; every index once.
    """
    length = np.asarray(lengths, np.int64)
    order = np.argsort(-length, kind="stable")
    falling = length[order]
    start = 0
    while start < len(order):
        room = max(tokens() // int(falling[start]), 1)
        stop = min(start + room, len(order))
        # First index whose text is shorter than the longest.
        change = int(np.searchsorted(-falling, -falling[start], side="right"))
        if change < stop and change - start >= FULL_ENOUGH * room:
            stop = change
        yield order[start:stop]
        start = stop


class TokenBudget:
    """Tokens that pass through a model at once; lowered when a batch does not fit the memory.

    On a CPU the first batches try two sizes, and the faster is used from then on.

    Args:
        device: of the model.
        adapt: try two sizes in a call of many texts; without, texts are batched equally every time.
    """

    def __init__(self, device: torch.device, *, adapt: bool = True) -> None:
        self.device = device
        self._tokens = CPU_TOKENS if device.type == "cpu" else GPU_TOKENS
        self._trials = list(_TRIALS) if adapt and device.type == "cpu" else []
        self._rates: dict[int, list[float]] = {size: [] for size in self._trials}
        self._trying, self._done, self._seconds = False, 0, 0.0

    def batches(self, lengths: Sequence[int]) -> Iterator[np.ndarray]:
        """Split texts into batches of at most `tokens`, as the function of this name does."""
        self._trying = sum(lengths) >= _PROBED_TOKENS
        return batches(lengths, self.tokens)

    def tokens(self) -> int:
        """Maximum tokens of the next batch, padding included."""
        return self._trials[0] if self._trying and self._trials else self._tokens

    def parts(self, forward: Callable[[Sequence[Ids]], T], ids: Sequence[Ids]) -> Iterator[T]:
        """Yield a model's outputs for a batch: for all at once, or for halves that fit the memory.

        Args:
            forward: runs the model on some of the batch's token lists.
            ids: token lists in descending order of length.
        """
        waiting = [ids]
        while waiting:
            part = waiting.pop()
            fits = len(part) == 1 or len(part) * len(part[0]) <= self.tokens()
            vectors = self._forward(forward, part) if fits else None
            if vectors is not None:
                yield vectors
                continue
            half = (len(part) + 1) // 2
            waiting += [part[half:], part[:half]]

    def _forward(self, forward: Callable[[Sequence[Ids]], T], ids: Sequence[Ids]) -> T | None:
        """Run a model on token lists; None, and a smaller budget, if they do not fit."""
        from theodolite.engine.memory import empty_cache, ran_out

        began = time.process_time()
        try:
            vectors = forward(ids)
            self._add_time(ids, time.process_time() - began)
            return vectors
        except (RuntimeError, MemoryError) as error:
            if not ran_out(error):
                raise
            if len(ids) == 1:
                raise UserError(
                    f"A text of {len(ids[0]):,} tokens does not fit the memory of {self.device}.",
                    "Cut texts earlier with max_length, or close what else uses that memory.",
                    code="too-large",
                ) from error
        # The error, which kept alive what did not fit, is gone here.
        empty_cache(self.device)
        self._trials, self._tokens = [], max(1, len(ids) * len(ids[0]) // 2)
        return None

    def _add_time(self, ids: Sequence[Ids], seconds: float) -> None:
        """Add the CPU seconds of a batch to the trial; after the last one choose a size."""
        size = self.tokens()
        if not self._trying or not self._trials or len(ids) * len(ids[0]) < FULL_ENOUGH * size:
            return
        self._done, self._seconds = self._done + sum(map(len, ids)), self._seconds + seconds
        if self._done < _TRIAL_TOKENS:
            return
        self._rates[self._trials.pop(0)].append(self._seconds / self._done)
        self._done, self._seconds = 0, 0.0
        if not self._trials:
            usual, large = (min(self._rates[size]) for size in (CPU_TOKENS, BUSY_CPU_TOKENS))
            self._tokens = BUSY_CPU_TOKENS if large < _WORTH * usual else CPU_TOKENS


def pad_batch(ids: Sequence[Sequence[int]], pad: int) -> tuple[torch.Tensor, torch.Tensor | None]:
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
