"""Linear layers through oneDNN on CPUs.

torch multiplies float32 matrices with MKL, which takes a slow route on processors that are not
Intel's: there oneDNN, which is also inside torch, was 2 to 4 times faster (MiniLM's shapes, AMD
EPYC, one and two threads). The arithmetic is float32 as before; only the order of sums differs.
"""

from __future__ import annotations

import torch
from torch import nn

OPERATOR = "_linear_pointwise"
"""What torch.compile puts in place of a linear layer for inference on CPUs."""


class Linear(nn.Module):
    """An `nn.Linear` for inference, same parameters."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight = linear.weight
        self.bias = linear.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…, d_in) -> (…, d_out)."""
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")


def use_onednn(model: nn.Module) -> None:
    """Replace the float32 linear layers of a model on the CPU, if this torch has the operator."""
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, OPERATOR)):  # type: ignore[no-untyped-call]
        return
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            # A subclass of nn.Linear may do more than multiply: left as it is.
            if type(child) is nn.Linear and child.weight.dtype == torch.float32:
                setattr(parent, name, Linear(child))
