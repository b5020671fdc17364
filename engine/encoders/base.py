"""The protocols of an encoder, and of the cache that an encoder may use.

Knows neither where an encoder comes from nor where a cache keeps its vectors.
"""

import hashlib
import inspect
from collections.abc import Sequence
from typing import Any, Protocol, TypeGuard, runtime_checkable

import numpy as np

from theodolite.engine.encoders.finite import finite
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress


@runtime_checkable
class Encoder(Protocol):
    """Text to vectors.

    Attributes:
        name: the canonical spec string; `load(encoder.name)` gives the same encoder.
        dim: length of a vector.
        fingerprint: hex hash over source, weights, tokenizer, options, steps and a format version.
            Two encoders with one fingerprint give the same vectors (up to float noise).
        warnings: sentences that a person should read before trusting a score (pooling doctor).

    An encoder may have three more (see `engine.encoders.sides`): `queries`, the encoder of queries
    where `encode` is for documents; `similarity`, where vectors are not compared by the cosine; and
    `needs_task`, with `bind`, while `@task` is not bound.
    """

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def dim(self) -> int: ...  # noqa: D102
    @property
    def fingerprint(self) -> str: ...  # noqa: D102
    @property
    def warnings(self) -> tuple[str, ...]: ...  # noqa: D102

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """Return float32 (n, dim), row i for sentence i. An empty sentence is allowed."""
        ...


def is_encoder(value: object) -> TypeGuard[Encoder]:
    """Whether something is an encoder, rather than the spec of one."""
    return hasattr(value, "encode") and not isinstance(value, str)


def with_checks(given: Any) -> Any:
    """What is given; of an encoder of a person's own, one whose vectors are checked."""
    if not is_encoder(given) or type(given).__module__.startswith("theodolite."):
        return given
    return _Own(given)


class _Own:
    """An encoder of a person's own, whose `encode` may take the sentences alone."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self.warnings: tuple[str, ...] = getattr(encoder, "warnings", ())
        second = list(inspect.signature(encoder.encode).parameters)[1:2]
        self._is_told = "progress" in second

    def __getattr__(self, name: str) -> Any:
        return with_checks(getattr(self._encoder, name))

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """See `Encoder.encode`."""
        told = (progress,) if self._is_told else ()
        rows = rows_of(self._encoder.encode(sentences, *told), len(sentences), self.dim)
        return finite(rows, sentences)


def rows_of(given: Any, n: int, dim: int) -> np.ndarray:
    """What an encoder gave for n sentences, an array or what becomes one, as float (n, dim)."""
    try:
        rows = np.asarray(given)
        shape = f"vectors of shape {rows.shape}"
        fits = rows.shape == (n, dim) and np.issubdtype(rows.dtype, np.number)
    except (TypeError, ValueError, RuntimeError):  # lists of different lengths, a graph's tensor
        shape, fits = f"a {type(given).__name__} that is no array", False
    if not fits:
        raise UserError(
            f"The encoder gave {shape} for {n} sentences; expected ({n}, {dim}).",
            "An encoder must give one vector a sentence, always of the dimension it announces.",
            code="mismatch",
        )
    return rows


def encoder_repr(encoder: Encoder) -> str:
    """How encoders are printed: as their `__repr__`."""
    return f"<encoder {encoder.name!r}>"


class VectorCache(Protocol):
    """Remembers vectors by (fingerprint, sentence key). The store implements the durable one."""

    def get(
        self, fingerprint: str, keys: Sequence[bytes], dim: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return (found, vectors): bool (n,), float32 (found.sum(), dim) in the order of keys."""
        ...

    def put(self, fingerprint: str, keys: Sequence[bytes], vectors: np.ndarray) -> None:
        """Add float32 (n, dim) rows under distinct keys; a key that is known changes nothing."""
        ...


def sentence_key(sentence: str) -> bytes:
    """16 bytes of blake2b over the UTF-8 text: the name of a sentence in a cache."""
    return hashlib.blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=16).digest()
