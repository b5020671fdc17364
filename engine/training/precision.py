"""The device and precision of a run: autocast and the loss scaling of fp16."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal

import torch

from theodolite.engine.encoders.transformer import default_device
from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import BaseSpec

_HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Precision:
    """The device and the precision of a run.

    Weights, gradients and moments are float32 throughout; `bf16` and `fp16` are the types in
    which matrices are multiplied (automatic mixed precision).

    Attributes:
        device: of the model.
        name: `fp32`, `bf16` or `fp16`.
    """

    device: torch.device
    name: Literal["fp32", "bf16", "fp16"]

    @classmethod
    def of(cls, spec: BaseSpec, local_rank: int = 0, world_size: int = 1) -> Precision:
        """The device of a spec, and the precision, if the device supports it.

        Args:
            spec: without a device, takes the first GPU if there is one. The precision `auto` is
                bf16 on an Nvidia GPU that has it, fp16 on older ones, else fp32.
            local_rank: number of the process on this machine; of several, each takes its own GPU.
            world_size: number of processes that train together.
        """
        precision = spec.precision
        device = _device(spec.device, local_rank, world_size)
        has_bf16 = device.type == "cpu" or (
            device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        )
        if precision == "auto":
            if device.type != "cuda":
                return cls(device, "fp32")
            return cls(device, "bf16" if has_bf16 else "fp16")
        if (precision == "bf16" and not has_bf16) or (
            precision == "fp16" and device.type != "cuda"
        ):
            raise UserError(
                f"{precision} is not available on {device}.",
                "Choose the precision auto, which takes what the device has.",
                code="unsupported",
            )
        return cls(device, precision)

    def autocast(self) -> AbstractContextManager[object]:
        """The context of forward passes and losses."""
        if self.name == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, _HALVES[self.name])

    def scaler(self) -> torch.amp.GradScaler:
        """The loss scaler, which keeps small gradients from underflowing in fp16; else disabled."""
        return torch.amp.GradScaler(self.device.type, enabled=self.name == "fp16")


def exact(x: torch.Tensor) -> torch.Tensor:
    """Convert to float32; float64 is left alone."""
    return x if x.dtype == torch.float64 else x.float()


def widest(device: torch.device) -> torch.dtype:
    """The most precise type of a device: float64, which Apple's GPUs lack."""
    return torch.float32 if device.type == "mps" else torch.float64


def _device(requested: str | None, local_rank: int, world_size: int) -> torch.device:
    name = requested or default_device()
    if name == "cuda" and world_size > 1:
        name = f"cuda:{local_rank}"
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(
            f"This machine has no device {name!r}.",
            "Leave the device out: the first GPU is taken if there is one, else the processor.",
            code="unsupported",
        ) from error
    return device
