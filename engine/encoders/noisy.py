"""An encoder with noise: its copies measure alike, so a test that tells them apart is wrong."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from theodolite.engine.encoders import Encoder, query_side
from theodolite.engine.progress import Progress

_Kept = dict[tuple[str, ...], tuple[np.ndarray, np.ndarray]]


class Noisy:
    """A copy of an encoder whose vectors have normal noise, of equal variance in all dimensions.

    Equal sentences of one call stay equal. All else is the encoder's own.

    Args:
        encoder: any.
        share: expected length of the noise as a share of the vector's.
        seed: of the noise; further calls draw further noise.
        kept: vectors without noise, filled for other copies of the encoder.
    """

    def __init__(self, encoder: Encoder, share: float, seed: int, kept: _Kept) -> None:
        self._encoder, self._share, self._cache = encoder, share, kept
        self._seed, self._rng = seed, np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    @property
    def queries(self) -> Encoder:
        """The same noise on the side of the queries."""
        side = query_side(self._encoder)
        if side is self._encoder:
            return self
        return Noisy(side, self._share, self._seed + 1, {})

    def bind(self, *task: Any) -> Encoder:
        """Bind `@task`."""
        bound = self._encoder.bind(*task)  # type: ignore[attr-defined]
        return Noisy(bound, self._share, self._seed, {})

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return float32 (n, dim)."""
        key = tuple(sentences)
        if key not in self._cache:
            _, same = np.unique(np.array(key, dtype=object), return_inverse=True)
            self._cache[key] = self._encoder.encode(sentences, progress), same
        vectors, same = self._cache[key]
        noise = self._rng.standard_normal((same.max(initial=-1) + 1, vectors.shape[1]), np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True) / vectors.shape[1] ** 0.5
        return np.asarray(vectors + self._share * lengths * noise[same], np.float32)
