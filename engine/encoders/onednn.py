"""Linear layers through oneDNN on CPUs.

torch multiplies float32 matrices with MKL, which takes a slow route on some processors that are not
Intel's: there oneDNN, which is also inside torch, was 2 to 4 times faster (MiniLM's shapes, an AMD
EPYC without AVX-512). Where MKL is quick the two are alike: 1.0 to 1.3 times on an AMD EPYC with
AVX-512, 0.95 to 1.1 when MKL is told that it is one of Intel's. So oneDNN is always used: it never
loses as much as it can win, and it fuses the GELU after a layer, with the same result to the last
bit. The arithmetic is float32 as before; only the order of sums differs.

For only a few rows, laying a matrix out for oneDNN, which each call does, takes longer than the
product: 8,000 x 256 by 5 rows took MKL 1.8 ms, oneDNN 1.4 ms, and 0.25 ms once laid out.
"""

import os
from typing import Literal

import torch
from torch import nn

# What was compiled for a shape is kept, and texts come in ever new shapes: with the default of
# 1,024 a process that decodes grows by 300 MiB, and is no faster than with 32.
for _cache in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(_cache, "32")

_ACTIVATION = "intermediate_act_fn"
OPERATOR = "_linear_pointwise"
"""The operator by which torch.compile replaces a linear layer for inference on CPUs."""
_ROWS = 40
"""Rows of input that matrices are laid out for; good for any number from 1 to 80."""


def available() -> bool:
    """Whether this torch has the operator."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, OPERATOR)  # type: ignore[no-untyped-call]


def laid_out(weight: torch.Tensor) -> torch.Tensor:
    """A copy of a matrix, (d_out, d_in), in oneDNN's own layout; only for `linear`."""
    weights: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), _ROWS)
    return weights


def linear(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, then: str = "none"
) -> torch.Tensor:
    """(…, d_in) -> (…, d_out), for inference; the weight as it is or `laid_out`."""
    # The last argument chooses the exact GELU.
    result: torch.Tensor = getattr(torch.ops.mkldnn, OPERATOR)(x, weight, bias, then, [], "none")
    return result


class OneDnnLinear(nn.Module):
    """An `nn.Linear` for inference, with the same parameters, and an activation after it.

    Args:
        layer: whose parameters it takes.
        then: the activation.
        few: whether its inputs have only a few rows; the weight must then not change any more.
    """

    def __init__(
        self, layer: nn.Linear, then: Literal["none", "gelu"] = "none", *, few: bool = False
    ) -> None:
        super().__init__()
        self.weight = layer.weight
        self.bias = layer.bias
        self.then = then
        self._laid_out = laid_out(layer.weight) if few else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…, d_in) -> (…, d_out)."""
        weight = self.weight if self._laid_out is None else self._laid_out
        return linear(x, weight, self.bias, self.then)


def use_onednn(model: nn.Module, *, few: bool = False) -> None:
    """Replace the float32 linear layers of a model on the CPU, if this torch has the operator.

    Args:
        model: in evaluation mode.
        few: see `OneDnnLinear`.
    """
    if not available():
        return
    for parent in list(model.modules()):
        children = dict(parent.named_children())
        gelu = _gelu_behind_dense(children)
        for name, child in children.items():
            # A subclass of nn.Linear may do more than multiply: left as it is.
            if type(child) is nn.Linear and child.weight.dtype == torch.float32:
                setattr(parent, name, OneDnnLinear(child, "gelu" if gelu else "none", few=few))
                if gelu:
                    setattr(parent, _ACTIVATION, nn.Identity())


def _gelu_behind_dense(children: dict[str, nn.Module]) -> bool:
    """Whether a module is the first half of a feed-forward layer of BERT's family."""
    if set(children) != {"dense", _ACTIVATION}:
        return False
    from transformers.activations import GELUActivation

    activation = children[_ACTIVATION]
    return isinstance(activation, GELUActivation) and activation.act is nn.functional.gelu
