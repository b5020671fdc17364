"""A GPU that is allocated for the duration of a call, as on the hub's ZeroGPU.

Only a decorated function sees the GPU, in a process of its own: its arguments and results have to
be plain, so a model is passed by its number. Weights are read at once, in the thread that starts
the app: only there can they be placed on a GPU that is not attached yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from theodolite.engine.encoders.source import Source

Encode = Callable[[int, list[str]], list[np.ndarray]]
_decorated: list[Encode] = []
_sources: list[ZeroGpuSource] = []
"""Kept alive, so that no weights are dropped and read again where that is impossible."""


class ZeroGpuSource(Source):
    """A source whose model runs on an allocated GPU, by a decorated function `call`."""

    def __init__(self, source: Source, call: Encode) -> None:
        self.name, self.dim, self.fingerprint = source.name, source.dim, source.fingerprint
        self.prompt, self.source = source.prompt, source
        self.similarity = getattr(source, "similarity", "cosine")
        source.read()
        self._call, self._number = call, len(_sources)
        _sources.append(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `Encoder`."""
        return self.source.warnings

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        if sentences:  # every allocation is charged, and waited for
            yield from self._call(self._number, list(sentences))


def encode(number: int, sentences: list[str]) -> list[np.ndarray]:
    """Encode with a model, float32 (n, dim) in parts: the body of the decorated function."""
    return list(_sources[number].source.chunks(sentences))


def use(decorated: Encode) -> None:
    """Run every model that can use a GPU in this function from now on."""
    _decorated[:] = [decorated]


def on_zero_gpu(source: Source) -> Source:
    """The source itself, or on ZeroGPU, where that is used and the source can use a GPU."""
    return ZeroGpuSource(source, _decorated[0]) if _decorated and source.uses_gpu else source
