"""What scripts take from `senteval.utils`."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.encoders.functions import dotdict

__all__ = ["cosine", "dotdict"]


def cosine(u: np.ndarray, v: np.ndarray) -> Any:
    """Cosine of two vectors, NaN when one is zero."""
    return np.dot(u, v) / (np.linalg.norm(u) * np.linalg.norm(v))
