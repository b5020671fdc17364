"""Refuse vectors with NaN or infinity, and those that are all equal, before they are used."""

from collections.abc import Sequence

import numpy as np

from theodolite.engine.errors import UserError


def finite(
    vectors: np.ndarray,
    sentences: Sequence[str],
    name: str = "The encoder",
    hint: str = "Choose another encoder, or check its steps.",
) -> np.ndarray:
    """Return the vectors of sentences, float (n, dim), unchanged if all are finite."""
    with np.errstate(invalid="ignore"):
        sums = vectors.sum(axis=1, dtype=np.float64)  # smaller than a mask of all numbers
    faulty = np.flatnonzero(~np.isfinite(sums))
    if len(faulty):
        raise UserError(
            f"{name} gave NaN or infinity for {len(faulty)} of {len(vectors)} sentences, the first "
            f"being {sentences[faulty[0]][:80]!r}.",
            hint,
            code="not-finite",
        )
    return vectors


def check_vectors(
    vectors: np.ndarray, sentences: Sequence[str], name: str = "The encoder"
) -> np.ndarray:
    """Return the vectors of sentences, float (n, dim), if they are finite and not all equal."""
    finite(vectors, sentences, name)
    if len(vectors) > 1 and (vectors == vectors[0]).all():
        raise UserError(
            f"{name} gave the same vector for all of {len(vectors)} texts.",
            "Nothing can be told from it. Choose another encoder, or check its steps.",
            code="unsupported",
        )
    return vectors
