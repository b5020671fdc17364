"""A GPU that is available for the duration of a call, as on the hub's ZeroGPU.

Only what runs inside a decorated function sees it, in a process of its own: what goes there and
comes back has to be plain, so a model goes by its number. Weights are read at once, in the thread
that starts the app: only there can they be meant for a GPU that is not there yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from engine.encoders.source import Source

Encode = Callable[[int, list[str]], list[np.ndarray]]
_lender: list[Encode] = []
_lent: list[Lent] = []
"""Held, so that no weights are forgotten and read again where that cannot be done."""


class Lent(Source):
    """A source that works where a GPU is lent.

    Args:
        source: whose model runs there.
        ask: the decorated function, given the model's number and sentences.
    """

    def __init__(self, source: Source, ask: Encode) -> None:
        self.name, self.dim, self.fingerprint = source.name, source.dim, source.fingerprint
        self.prompt, self.source = source.prompt, source
        source.read()
        self._ask, self._number = ask, len(_lent)
        _lent.append(self)

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `Encoder`."""
        return self.source.warnings

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        if sentences:  # a GPU that is asked for is charged, and waited for
            yield from self._ask(self._number, list(sentences))


def encode(number: int, sentences: list[str]) -> list[np.ndarray]:
    """Vectors by a model, float32 (n, dim) in parts: what the decorated function returns."""
    return list(_lent[number].source.chunks(sentences))


def lend(decorated: Encode) -> None:
    """From now on, have every model that can run on a GPU run in this function."""
    _lender[:] = [decorated]


def where_lent(source: Source) -> Source:
    """The source itself, or where a GPU is lent and it can use one, what runs it there."""
    return Lent(source, _lender[0]) if _lender and source.uses_gpu else source
