"""A GPU that is available for the duration of a call, as on the hub's ZeroGPU.

Only a decorated function sees the GPU, in a process of its own: its arguments and results have to
be plain, so a model is passed by its number. Weights are read at once, in the thread that starts
the app: only there can they be placed on a GPU that is not attached yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from theodolite.engine.encoders.source import Source

Encode = Callable[[int, list[str]], list[np.ndarray]]
_lender: list[Encode] = []
_lent: list[Lent] = []
"""Kept alive, so that no weights are dropped and read again where that is impossible."""


class Lent(Source):
    """A source that runs on a lent GPU.

    Args:
        source: whose model runs on the GPU.
        ask: the decorated function, given the model's number and sentences.
    """

    def __init__(self, source: Source, ask: Encode) -> None:
        self.name, self.dim, self.fingerprint = source.name, source.dim, source.fingerprint
        self.prompt, self.source = source.prompt, source
        self.similarity = getattr(source, "similarity", "cosine")
        source.read()
        self._ask, self._number = ask, len(_lent)
        _lent.append(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `Encoder`."""
        return self.source.warnings

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        if sentences:  # every request for a GPU is charged, and waited for
            yield from self._ask(self._number, list(sentences))


def encode(number: int, sentences: list[str]) -> list[np.ndarray]:
    """Encode with a model, float32 (n, dim) in parts: the body of the decorated function."""
    return list(_lent[number].source.chunks(sentences))


def lend(decorated: Encode) -> None:
    """Run every model that can use a GPU in this function from now on."""
    _lender[:] = [decorated]


def where_lent(source: Source) -> Source:
    """The source itself, or a `Lent` one where a GPU is lent and the source can use it."""
    return Lent(source, _lender[0]) if _lender and source.uses_gpu else source
