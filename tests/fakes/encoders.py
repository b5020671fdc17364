"""Encoders that need no model: one that behaves, and one for each way to misbehave."""

import hashlib
from collections.abc import Sequence

import numpy as np

from theodolite.engine.progress import Progress


class HashEncoder:
    """Gives every sentence its own Gaussian direction, seeded by its text.

    Args:
        dim: length of a vector.
        name: also what the fingerprint is made of.
    """

    def __init__(self, dim: int = 16, name: str = "fake:hash") -> None:
        self.name = name
        self.dim = dim
        self.fingerprint = hashlib.blake2b(f"{name} {dim}".encode(), digest_size=16).hexdigest()
        self.warnings: tuple[str, ...] = ()
        self.calls: list[int] = []
        """Number of sentences of each call of `encode`."""

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return float32 (n, dim); reports progress once before and once after."""
        self.calls.append(len(sentences))
        if progress is not None:
            progress(0, len(sentences))
        vectors = np.empty((len(sentences), self.dim), dtype=np.float32)
        for row, sentence in enumerate(sentences):
            seed = hashlib.blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=8)
            rng = np.random.default_rng(int.from_bytes(seed.digest(), "little"))
            vectors[row] = rng.normal(size=self.dim)
        if progress is not None:
            progress(len(sentences), len(sentences))
        return vectors


class NaNEncoder(HashEncoder):
    """Gives NaN for one sentence in ten."""

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """As HashEncoder, with NaN in rows 0, 10, 20 and so on."""
        vectors = super().encode(sentences, progress)
        vectors[::10, 0] = np.nan
        return vectors


class ConstantEncoder(HashEncoder):
    """Gives every sentence the same vector, as a collapsed model does."""

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return ones, float32 (n, dim)."""
        return np.ones((len(sentences), self.dim), dtype=np.float32)


class BrokenEncoder(HashEncoder):
    """Fails on every call."""

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Raise what a native library would."""
        raise RuntimeError("CUDA error: device-side assert triggered\nmore lines of no use")
