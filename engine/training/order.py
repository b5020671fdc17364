"""The examples of each batch: a new permutation per epoch, restored without replaying."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from theodolite.engine.training.spec import TrainSpec


def steps_of(spec: TrainSpec, n: int) -> int:
    """Return the number of updates of a run on n examples.

    As transformers' trainer counts them, which SimCSE's is built on: a short last batch is a step.

    Example:
        >>> spec = TrainSpec("sup", "dir:base", "nli.csv", "out", batch_size=512, epochs=3)
        >>> steps_of(spec, 275_601)  # 539 batches an epoch
        1617
    """
    if spec.steps is not None:
        return spec.steps
    return max(1, math.ceil(spec.epochs * math.ceil(n / spec.batch_size)))


def batches(n: int, batch_size: int, steps: int, seed: int, start: int = 0) -> Iterator[np.ndarray]:
    """Yield the examples of each batch.

    Args:
        n: number of examples.
        batch_size: examples in a batch; the last batch of an epoch may hold fewer.
        steps: batches of the whole run.
        seed: decides the order, with the number of the epoch.
        start: batches already made, when a run resumes from a checkpoint.

    Yields:
        int64 (at most batch_size,), positions from 0 to n - 1; over an epoch, each once.
    """
    an_epoch = math.ceil(n / batch_size)
    order, epoch = np.empty(0, np.int64), -1
    for step in range(start, steps):
        if step // an_epoch != epoch:
            epoch = step // an_epoch
            order = np.random.default_rng([seed, epoch]).permutation(n)
        first = step % an_epoch * batch_size
        yield order[first : first + batch_size]
