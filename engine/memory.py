"""Device memory: what goes there, and what to do when a batch does not fit."""

from __future__ import annotations

import ctypes
import gc
import sys

import numpy as np
import torch


def to_device(numbers: np.ndarray | torch.Tensor, device: torch.device) -> torch.Tensor:
    """The same numbers on a device."""
    tensor = torch.from_numpy(numbers) if isinstance(numbers, np.ndarray) else numbers
    if device.type != "cuda" or tensor.device.type != "cpu":
        return tensor.to(device)
    # From pinned memory a GPU need not be waited for.
    return tensor.pin_memory().to(device, non_blocking=True)


def ran_out(error: BaseException) -> bool:
    """Whether an error says that there was no memory left, of a GPU or of the machine."""
    # On a CPU torch raises a plain RuntimeError, whose text is all there is to know it by.
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )


def most_used(device: torch.device) -> int | None:
    """The most bytes of a GPU that tensors held so far; None on a CPU."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None


def release() -> None:
    """Return what a piece of work left behind, once nothing refers to it any more."""
    gc.collect()  # modules and graphs may refer to each other in a circle
    # A process that has not used its GPU is not to begin with it here.
    begun = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    empty_cache(torch.device("cuda" if begun else "cpu"))


def empty_cache(device: torch.device) -> None:
    """Return freed memory to the system; of a GPU, what torch keeps for later, so that pieces join.

    No two batches are of one size, so on a CPU freed tensors leave holes that the next ones do not
    fit: glibc's heap grows to several times what is in use.
    """
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()
    elif sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # musl has none
        if trim is not None:
            trim(0)
