"""What every estimate of cost does: time the real thing for a moment, and leave nothing behind."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np

_BLOCK = 64
"""Sentences encoded between two looks at the clock."""
_WARM = 8
"""Sentences encoded before, for what is only done once."""
SAMPLE = _WARM + _BLOCK
"""Sentences that give a first idea of the speed."""


class _Encodes(Protocol):
    def encode(self, sentences: list[str], /) -> np.ndarray: ...


def sentences_per_second(
    encoder: _Encodes,
    sentences: Sequence[str],
    seconds: float = 0.0,
    tick: Callable[[float], None] = lambda share: None,
) -> float:
    """Encode sentences until the time is over or there are no more; return the speed.

    Args:
        encoder: whose cache keeps what is encoded, so that nothing is lost.
        sentences: a fair sample of those to come.
        seconds: about how long; a block of them is encoded in any case.
        tick: called after each block with the share of the time; what it raises stops the probe.
    """
    sentences = list(sentences)
    if len(sentences) > _BLOCK:  # the first call also warms up
        encoder.encode(sentences[:_WARM])
        sentences = sentences[_WARM:]
    start, done = time.perf_counter(), 0
    while done < len(sentences) and (done == 0 or time.perf_counter() - start < seconds):
        done += len(encoder.encode(sentences[done : done + _BLOCK]))
        tick(min(1.0, (time.perf_counter() - start) / max(seconds, 1e-6)))
    return done / max(time.perf_counter() - start, 1e-6)


def spread(sentences: Sequence[str], most: int = SAMPLE) -> list[str]:
    """Some from all over: what a cache holds is among them in its share."""
    places = np.linspace(0, len(sentences) - 1, min(most, len(sentences))).astype(int)
    return [sentences[i] for i in np.random.default_rng(0).permutation(places)]


@contextmanager
def trial() -> Iterator[Path]:
    """A folder for a training that is begun to be timed, and then forgotten.

    The state of the random generators is put back, and the memory returned.
    """
    import torch

    from engine.memory import release

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
