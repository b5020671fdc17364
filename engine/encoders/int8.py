"""Linear layers in 8-bit integers, on CPUs: `dtype=int8`.

Each row of a weight matrix is rounded to 255 steps once, each input token to 255 steps between its
own lowest and highest value. Nothing is calibrated, and no token's result depends on another's.
Sums of products are exact; embeddings, attention, layer norms and the outputs of layers are
float32.

The product is `torch._int_mm`, oneDNN's on plain int8 tensors. Neither its speed nor its exactness
was tried without AVX-512 VNNI. `benchmarks.encode` measures what this brings, and what it costs in
scores.
"""

import torch
from torch import nn

from theodolite.engine.encoders.onednn import OneDnnLinear
from theodolite.engine.errors import UserError

_STEPS = 127
"""Steps on either side of the middle."""
_LEAST = 1e-12


def available() -> bool:
    """Whether this processor and this torch support int8 products."""
    onednn = torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    return onednn and hasattr(torch, "_int_mm") and torch.cpu._is_vnni_supported()


class Int8Linear(nn.Module):
    """An `nn.Linear` for inference, its weights in 8 bits.

    Attributes:
        weight: int8 (d_out, d_in).
        scales: float32 (d_out,), size of a step in each row.
        sums: float32 (d_out,), sum of each row times its scale.
    """

    def __init__(self, layer: nn.Linear | OneDnnLinear) -> None:
        super().__init__()
        weight = layer.weight.detach()
        self.scales = weight.abs().amax(1).clamp_min(_LEAST) / _STEPS
        self.weight = (weight / self.scales[:, None]).round_().to(torch.int8)
        self.sums = self.weight.sum(1) * self.scales
        self.bias = torch.zeros(len(weight)) if layer.bias is None else layer.bias.detach()
        self._gelu = isinstance(layer, OneDnnLinear) and layer.then == "gelu"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(…, d_in) -> (…, d_out), float32."""
        rows = x.reshape(-1, x.shape[-1])
        highest, lowest = rows.amax(1, keepdim=True), rows.amin(1, keepdim=True)
        middle = (highest + lowest) / 2
        step = (highest - middle).clamp_min_(_LEAST) / _STEPS
        steps = (rows - middle).mul_(1 / step).round_().to(torch.int8)
        y = torch._int_mm(steps, self.weight.t()).float().mul_(self.scales)
        y = torch.addcmul(self.bias, y, step, out=y).addcmul_(middle, self.sums)
        y = y.view(*x.shape[:-1], -1)
        return nn.functional.gelu(y) if self._gelu else y


def use_int8(model: nn.Module, name: str) -> None:
    """Replace the linear layers of a model on the CPU.

    Args:
        model: float32, in evaluation mode.
        name: for messages.
    """
    if not available():
        raise UserError(
            "dtype=int8 needs a processor with AVX-512 VNNI and a torch with oneDNN, and is not "
            "available here.",
            "Leave dtype out.",
            code="unsupported",
        )
    # A subclass of nn.Linear may do more than multiply: left as it is.
    layers = [
        (parent, key, child)
        for parent in model.modules()
        for key, child in parent.named_children()
        if type(child) is nn.Linear or type(child) is OneDnnLinear
    ]
    if not layers:
        raise UserError(
            f"{name} has no linear layers for dtype=int8.", "Leave dtype out.", code="unsupported"
        )
    for parent, key, child in layers:
        setattr(parent, key, Int8Linear(child))
