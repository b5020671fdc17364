"""The base class of encoders of precomputed vectors, from a file or from a folder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from theodolite.engine.encoders.source import Source, in_chunks
from theodolite.engine.errors import UserError
from theodolite.engine.given import texts
from theodolite.engine.progress import Progress


class KnownVectors(Source):
    """Precomputed vectors of some sentences, and of no others.

    Attributes:
        path: of the file or folder.
        bytes: size on disk.
    """

    path: Path
    bytes: int

    @abstractmethod
    def lacking(self, sentences: Sequence[str]) -> list[str]:
        """The sentences without a vector, in order, repetitions included."""

    @abstractmethod
    def _look_up(self, sentences: Sequence[str]) -> np.ndarray:
        """Vectors of sentences that have one, float32 (n, dim)."""

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""
        sentences = texts(sentences)
        lacking = self.lacking(sentences)
        if lacking:
            raise UserError(
                f"{self.path.name} lacks {len(lacking):,} of {len(sentences):,} sentences, "
                f"the first being {lacking[0][:80]!r}.",
                "Add their vectors to the file, or choose a task whose sentences it has.",
            )
        return super().encode(sentences, progress)

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        return in_chunks(sentences, self._look_up)
