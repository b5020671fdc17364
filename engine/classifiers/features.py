"""What a classifier sees of a sentence or a pair, formed when it is needed.

SNLI has 550,000 pairs with four features a dimension: whole, that is 7 GB at 768 dimensions. So
features are rows of the sentence matrix, combined for one batch at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    import torch

Combination = Literal["u", "|u-v|, u*v", "u, v, u*v, |u-v|"]
"""Of the vectors u and v of a pair; `u` alone for single sentences."""

_WIDTHS: dict[Combination, int] = {"u": 1, "|u-v|, u*v": 2, "u, v, u*v, |u-v|": 4}
_KEPT_BYTES = 1 << 28
"""Features up to this size are formed once and kept."""


def accelerator() -> str:
    """Return the torch device that large products are fast on."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def pieces(tensor: torch.Tensor, size: int) -> tuple[torch.Tensor, ...]:
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
        import torch

        self.combination: Combination = combination
        self.width = _WIDTHS[combination] * vectors.shape[1]
        self.device = device
        self._vectors = torch.from_numpy(np.ascontiguousarray(vectors, np.float32)).to(device)
        self._left = torch.from_numpy(left.astype(np.int64)).to(device)
        self._right = None if right is None else torch.from_numpy(right.astype(np.int64)).to(device)
        self._kept: torch.Tensor | None = None
        if 4 * self.width * len(left) <= _KEPT_BYTES:
            self._kept = self._formed(torch.arange(len(left), device=device))

    def __len__(self) -> int:
        return len(self._left)

    def rows(self, rows: torch.Tensor) -> torch.Tensor:
        """Return float32 (len(rows), width) for int64 row numbers on the device."""
        return self._formed(rows) if self._kept is None else self._kept.index_select(0, rows)

    def _formed(self, rows: torch.Tensor) -> torch.Tensor:
        import torch

        u = self._vectors.index_select(0, self._left[rows])
        if self._right is None:
            return u
        v = self._vectors.index_select(0, self._right[rows])
        if self.combination == "|u-v|, u*v":
            return torch.cat([(u - v).abs_(), u * v], dim=1)
        return torch.cat([u, v, u * v, (u - v).abs_()], dim=1)
