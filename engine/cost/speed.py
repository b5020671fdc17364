"""The speed of an encoder, by a short timing of real work."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from theodolite.engine.progress import ProgressCallback, nobody

_BLOCK = 64
"""Sentences encoded between two readings of the clock."""
_WARM = 8
"""Sentences encoded first, to warm up."""


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
