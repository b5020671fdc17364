"""The names that scripts import from `senteval.utils`."""

from typing import Any

import numpy as np

from theodolite.engine.encoders.functions import dotdict

__all__ = ["cosine", "dotdict"]


def cosine(u: np.ndarray, v: np.ndarray) -> Any:
    """Return the cosine of two vectors, NaN if either is zero."""
    return np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))
