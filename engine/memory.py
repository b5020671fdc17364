"""Device memory: copying to it, running out of it, and returning it."""

import ctypes
import sys

import numpy as np
import torch


def to_device(numbers: np.ndarray | torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copy numbers to a device."""
    tensor = torch.from_numpy(numbers) if isinstance(numbers, np.ndarray) else numbers
    if device.type != "cuda" or tensor.device.type != "cpu":
        return tensor.to(device)
    # From pinned memory the copy is asynchronous.
    return tensor.pin_memory().to(device, non_blocking=True)


def ran_out(error: BaseException) -> bool:
    """Return whether an error means that a GPU or the machine is out of memory."""
    # On a CPU torch raises a plain RuntimeError, recognised by its text alone.
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or (
        isinstance(error, RuntimeError) and "DefaultCPUAllocator" in str(error)
    )


def most_used(device: torch.device) -> int | None:
    """Return the peak bytes of GPU memory held by tensors so far; None on a CPU."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None


def empty_cache(device: torch.device) -> None:
    """Return freed memory to the system; on a GPU torch's cached blocks, against fragmentation.

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
