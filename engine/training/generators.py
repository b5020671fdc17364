"""The random generators of a run: their states, as tensors to be saved.

Torch's of the CPU and of the device, which dropout draws from; Python's; and NumPy's, used to crop
sentences and mask tokens. Every process of a run has its own.
"""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import torch

States = dict[str, torch.Tensor]


def seed(number: int, rank: int, step: int = 0) -> np.random.Generator:
    """Seed the global generators of a process, and return NumPy's.

    Args:
        number: of the run.
        rank: of the process, so that each has masks of its own.
        step: updates made before, if the states at that step are not known.
    """
    torch.manual_seed(number + rank + step)
    random.seed(number + rank + step)
    return np.random.default_rng([number, rank, step] if step else [number, rank])


def states(rng: np.random.Generator, device: torch.device) -> States:
    """The states of all generators.

    Args:
        rng: NumPy's generator of the run; Torch's and Python's are the global ones.
        device: of the model.
    """
    found = dropout_states(device)
    return found | {"numpy": _packed(rng.bit_generator.state), "python": _packed(random.getstate())}


def restore(kept: States, rng: np.random.Generator, device: torch.device) -> None:
    """Restore the states of all generators."""
    rng.bit_generator.state = _unpacked(kept["numpy"])
    version, numbers, gauss = _unpacked(kept["python"])
    random.setstate((version, tuple(numbers), gauss))
    restore_dropout(kept, device)


def dropout_states(device: torch.device) -> States:
    """The states of torch's generators, of the CPU and of a device."""
    found = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        found["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        found["mps"] = torch.mps.get_rng_state()
    return found


def restore_dropout(kept: States, device: torch.device) -> None:
    """Restore torch's generators; that of the device only if its kind of device was saved."""
    torch.set_rng_state(kept["cpu"])
    if device.type == "cuda" and "cuda" in kept:
        torch.cuda.set_rng_state(kept["cuda"], device)
    elif device.type == "mps" and "mps" in kept:
        torch.mps.set_rng_state(kept["mps"])


def _packed(state: Any) -> torch.Tensor:
    return torch.frombuffer(bytearray(json.dumps(state).encode()), dtype=torch.uint8)


def _unpacked(state: torch.Tensor) -> Any:
    return json.loads(state.numpy().tobytes())
