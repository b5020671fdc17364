"""Shared by all cost estimates: short timings of the real work that leave no trace."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from theodolite.engine.progress import ProgressCallback, nobody

if TYPE_CHECKING:
    import torch

    from theodolite.engine.training.precision import Precision

_BLOCK = 64
"""Sentences encoded between two readings of the clock."""
_WARM = 8
"""Sentences encoded first, to warm up."""
SAMPLE = _WARM + _BLOCK
"""Sentences for a first estimate of the speed."""
_FIRST = 8
"""Examples in the first timed batch; a quarter of them warm up."""


@dataclass(frozen=True)
class Speed:
    """Seconds that work takes.

    Attributes:
        each: per item.
        once: overhead per round.
    """

    each: float
    once: float = 0.0

    def seconds(self, count: float, rounds: float = 0.0) -> float:
        """Return the seconds for `count` items in some rounds."""
        return self.each * count + self.once * rounds

    @property
    def per_second(self) -> float:
        """Items per second."""
        return 1 / self.each


class _Encodes(Protocol):
    def encode(self, sentences: list[str], /) -> np.ndarray: ...


def encoding_speed(
    encoder: _Encodes,
    sentences: Sequence[str],
    seconds: float = 0.0,
    tick: ProgressCallback = nobody,
) -> Speed:
    """Encode sentences until the time is over or there are no more; return the time of one.

    Args:
        encoder: its cache, if any, keeps the vectors, so that no work is lost.
        sentences: a representative sample.
        seconds: approximate time; at least one block is encoded.
        tick: called after each block with the share of the time; an exception stops the probe.
    """
    sentences = list(sentences)
    if len(sentences) > _BLOCK:  # the first call also warms up
        encoder.encode(sentences[:_WARM])
        sentences = sentences[_WARM:]
    start, done = time.perf_counter(), 0
    while done < len(sentences) and (done == 0 or time.perf_counter() - start < seconds):
        done += len(encoder.encode(sentences[done : done + _BLOCK]))
        tick(min(1.0, (time.perf_counter() - start) / max(seconds, 1e-6)))
    return Speed(max(time.perf_counter() - start, 1e-6) / done)


def spread(sentences: Sequence[str], most: int = SAMPLE) -> list[str]:
    """Sample sentences evenly: cached ones are among them in proportion."""
    places = np.linspace(0, len(sentences) - 1, min(most, len(sentences))).astype(int)
    return [sentences[i] for i in np.random.default_rng(0).permutation(places)]


class _Trains(Protocol):
    precision: Precision

    def batches(self, start: int, /) -> Iterator[np.ndarray]: ...

    def update(self, batch: np.ndarray, /) -> object: ...


def timed_updates(
    trainer: _Trains, whole: int, seconds: float
) -> Iterator[tuple[np.ndarray, float]]:
    """Make updates from real batches until the time is up: one to warm up, and at least one more.

    Each batch is twice as large as the one before, until it is whole.

    Args:
        trainer: of an encoder or a decoder, with batches in the order of the run.
        whole: examples of a whole batch.
        seconds: approximate time; a single update may take longer.

    Yields:
        The examples of an update and its seconds; the first includes one-off initialisation.
    """
    size, points = min(_FIRST, whole), list[tuple[int, float]]()
    began = time.perf_counter()
    batches = (batch for _ in count() for batch in trainer.batches(0))  # repeats at the end
    for number, batch in enumerate(batches):
        part = batch[: size if number else _FIRST // 4]
        start = time.perf_counter()
        trainer.update(part)
        _wait(trainer.precision.device)
        took = time.perf_counter() - start
        yield part, took
        if number:
            points.append((len(part), took))
            size = min(2 * size, whole)
            if time.perf_counter() - began + extended(size, points) > seconds:
                return


def _wait(device: torch.device) -> None:
    """Wait until the device has finished its queued work."""
    if device.type == "cuda":
        import torch

        torch.cuda.synchronize(device)


def extended(size: int, points: list[tuple[int, float]]) -> float:
    """Extrapolate measurements at smaller sizes linearly.

    Args:
        size: the size to extrapolate to.
        points: (size, measurement), sizes rising.

    Returns:
        The median at this size where it was measured; else the line through the medians at the
        two largest sizes, or, where that falls or starts below 0, the one through the largest
        and 0.

    Examples:
        >>> extended(64, [(8, 1.0), (16, 1.5), (32, 2.5)])
        4.5
        >>> extended(64, [(32, 2.0)])
        4.0
    """
    sizes = sorted({at for at, _ in points})
    medians = [float(np.median([value for at, value in points if at == s])) for s in sizes]
    last, value = sizes[-1], medians[-1]
    if last >= size:
        return value
    if len(sizes) > 1:
        slope = (value - medians[-2]) / (last - sizes[-2])
        if slope >= 0 and value - slope * last >= 0:
            return value + slope * (size - last)
    return value * size / last


@contextmanager
def trial() -> Iterator[Path]:
    """Yield a temporary folder for a training that is timed and then discarded.

    The state of the random generators is restored, and memory is freed.
    """
    import torch

    from theodolite.engine.memory import release

    state = random.getstate()
    try:
        with (
            tempfile.TemporaryDirectory(prefix="theodolite-estimate-") as folder,
            torch.random.fork_rng(),
        ):
            yield Path(folder)
    finally:
        random.setstate(state)
        release()
