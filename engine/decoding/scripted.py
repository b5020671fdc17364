"""Functions of tensors that run as one call, without Python's lock.

Between two operations of torch the interpreter's lock is given back and asked for again, and where
another thread computes in Python, each time may be a wait of five milliseconds: eight vectors
decoded beside such a thread took 13 s for 0.3. In TorchScript a function asks once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., object])


def scripted(function: Function) -> Function:
    """The function in TorchScript, or as it is where this torch has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch advises torch.compile, which needs a C++ compiler
        try:
            found: Function = torch.jit.script(function)
        except Exception:  # of a torch that no longer compiles it: slower beside others, not wrong
            return function
    return found
