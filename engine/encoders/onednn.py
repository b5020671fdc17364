"""Linear layers through oneDNN on CPUs.

torch multiplies float32 matrices with MKL, which takes a slow route on some processors that are not
Intel's: there oneDNN, which is also inside torch, was 2 to 4 times faster (MiniLM's shapes, an AMD
EPYC without AVX-512). Where MKL is quick the two are alike: 1.0 to 1.3 times on an AMD EPYC with
AVX-512, 0.95 to 1.1 when MKL is told that it is one of Intel's. So there is nothing to choose at
the start: oneDNN never loses what it can win, and takes the GELU behind a layer along while the
numbers are at hand, with the same result to the last bit. The arithmetic is float32 as before; only
the order of sums differs.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import nn

_ACTIVATION = "intermediate_act_fn"
OPERATOR = "_linear_pointwise"
"""What torch.compile puts in place of a linear layer for inference on CPUs."""


class OneDnnLinear(nn.Module):
    """An `nn.Linear` for inference, same parameters, and what is applied to its result."""

    def __init__(self, linear: nn.Linear, then: Literal["none", "gelu"] = "none") -> None:
        super().__init__()
        self.weight = linear.weight
        self.bias = linear.bias
        self.then = then

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…, d_in) -> (…, d_out)."""
        # The last argument chooses the exact GELU.
        return torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, self.then, [], "none")


def use_onednn(model: nn.Module) -> None:
    """Replace the float32 linear layers of a model on the CPU, if this torch has the operator."""
    if not (torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, OPERATOR)):  # type: ignore[no-untyped-call]
        return
    for parent in list(model.modules()):
        children = dict(parent.named_children())
        gelu = _gelu_behind_dense(children)
        for name, child in children.items():
            # A subclass of nn.Linear may do more than multiply: left as it is.
            if type(child) is nn.Linear and child.weight.dtype == torch.float32:
                setattr(parent, name, OneDnnLinear(child, "gelu" if gelu else "none"))
                if gelu:
                    setattr(parent, _ACTIVATION, nn.Identity())


def _gelu_behind_dense(children: dict[str, nn.Module]) -> bool:
    """Whether a module is the first half of a feed-forward layer of BERT's family."""
    from transformers.activations import GELUActivation

    activation = children.get(_ACTIVATION)
    return (
        set(children) == {"dense", _ACTIVATION}
        and isinstance(activation, GELUActivation)
        and activation.act is nn.functional.gelu
    )
