"""Reject vectors with NaN or infinity, and those that are all equal, before they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np


def finite(vectors: np.ndarray, sentences: Sequence[str]) -> np.ndarray:
    """Return the vectors of sentences, float (n, dim), unchanged if all are finite."""
    import numpy as np

    bad = ~np.isfinite(vectors).all(axis=1)
    if bad.any():
        raise UserError(
            f"{int(bad.sum())} of {len(vectors)} vectors contain NaN or infinity, the first "
            f"for the sentence {sentences[int(bad.argmax())][:80]!r}.",
            "Choose another encoder, or check its steps.",
            code="not-finite",
        )
    return vectors


def differing(vectors: np.ndarray, sentences: Sequence[str]) -> np.ndarray:
    """Return the vectors of sentences, float (n, dim), if they are finite and not all equal."""
    finite(vectors, sentences)
    if len(vectors) > 1 and (vectors == vectors[0]).all():
        raise UserError(
            f"The vectors of {len(vectors)} texts are all equal.",
            "Nothing can be told from them. Choose another encoder, or check its steps.",
            code="unsupported",
        )
    return vectors
