"""The features of a sentence or a pair for a classifier, computed when needed.

SNLI has 550,000 pairs with four features per dimension: 7 GB in all at 768 dimensions. So features
are rows of the sentence matrix, combined for one batch at a time.
"""

from __future__ import annotations

import copy
from typing import Literal

import numpy as np
import torch

Combination = Literal["u", "|u-v|, u*v", "u, v, u*v, |u-v|"]
"""Features of the vectors u and v of a pair; `u` alone for single sentences."""

_WIDTHS: dict[Combination, int] = {"u": 1, "|u-v|, u*v": 2, "u, v, u*v, |u-v|": 4}
KEPT_BYTES = 1 << 28
"""Features up to this size are computed once and kept."""
_CHUNK = 2048
"""Rows summed at once."""
_CONSTANT = 1e-6
"""A deviation below this share of the mean is float32 rounding."""


def accelerator() -> str:
    """Return the torch device on which large products are fast."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def batches(tensor: torch.Tensor, size: int) -> tuple[torch.Tensor, ...]:
    """Cut a tensor into views of `size` rows, the last one shorter."""
    return tensor.split(size)  # type: ignore[no-untyped-call]


class Features:
    """Rows of features over a matrix of sentence vectors.

    Args:
        vectors: float32 (sentences, dim).
        left: (n,) sentence of each row, or the first of its pair.
        right: (n,) second of its pair; None for single sentences.
        combination: of the two.
        device: of torch.
    """

    def __init__(
        self,
        vectors: np.ndarray,
        left: np.ndarray,
        right: np.ndarray | None = None,
        combination: Combination = "u",
        device: str = "cpu",
    ) -> None:
        self.combination: Combination = combination
        self.width = _WIDTHS[combination] * vectors.shape[1]
        self.device = device
        self._vectors = torch.from_numpy(np.ascontiguousarray(vectors, np.float32)).to(device)
        self._left = torch.from_numpy(left.astype(np.int64)).to(device)
        self._right = None if right is None else torch.from_numpy(right.astype(np.int64)).to(device)
        self._features: torch.Tensor | None = None
        self._scale: tuple[torch.Tensor, torch.Tensor] | None = None
        if 4 * self.width * len(left) <= KEPT_BYTES:
            self._features = self._combine(torch.arange(len(left), device=device))

    def rows(self, rows: torch.Tensor) -> torch.Tensor:
        """Return float32 (len(rows), width) for int64 row numbers on the device."""
        features = (
            self._combine(rows) if self._features is None else self._features.index_select(0, rows)
        )
        if self._scale is None:
            return features
        mean, deviation = self._scale
        return (features - mean) / deviation

    def moments(self, rows: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
        """Mean and standard deviation (ddof 0) over some rows.

        A constant feature has the deviation 1, as in scikit-learn's StandardScaler.

        Args:
            rows: int64 row numbers, at least one.

        Returns:
            Two tensors (width,), float64.
        """
        total, square = torch.zeros(2, self.width, dtype=torch.float64, device=self.device)
        for chunk in batches(torch.from_numpy(rows).to(self.device), _CHUNK):
            x = self.rows(chunk).double()
            total += x.sum(0)
            square += x.square_().sum(0)
        mean = total / len(rows)
        deviation = (square / len(rows) - mean.square()).clamp_(min=0).sqrt_()
        deviation[deviation <= _CONSTANT * mean.abs()] = 1
        return mean, deviation

    def standardised(self, rows: np.ndarray) -> Features:
        """Return the same features z-normalised by the moments of some rows; no row is copied."""
        mean, deviation = self.moments(rows)
        scaled = copy.copy(self)
        scaled._scale = mean.float(), deviation.float()
        return scaled

    def _combine(self, rows: torch.Tensor) -> torch.Tensor:
        u = self._vectors.index_select(0, self._left[rows])
        if self._right is None:
            return u
        v = self._vectors.index_select(0, self._right[rows])
        if self.combination == "|u-v|, u*v":
            return torch.cat([(u - v).abs_(), u * v], dim=1)
        return torch.cat([u, v, u * v, (u - v).abs_()], dim=1)
