"""What to do when a batch does not fit the memory."""

from __future__ import annotations

import torch


def ran_out(error: BaseException) -> bool:
    """Whether an error says that there was no memory left, of a GPU or of the machine."""
    # On a CPU torch raises a plain RuntimeError, whose text is all there is to know it by.
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )


def most_used(device: torch.device) -> int | None:
    """The most bytes of a GPU that tensors held so far; None on a CPU."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None


def give_back(device: torch.device) -> None:
    """Return what torch keeps of a GPU for later, so that pieces join."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
