"""Functions of tensors that run as one call, without Python's GIL.

Between two operations of torch the GIL is released and acquired again, and while another thread
computes in Python, each acquisition may wait five milliseconds: decoding eight vectors beside such
a thread took 13 s instead of 0.3 s. A function in TorchScript acquires it once.
"""

import warnings
from collections.abc import Callable
from typing import TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., object])


def scripted(function: Function) -> Function:
    """Compile a function to TorchScript; return it unchanged where torch cannot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch advises torch.compile, which needs a C++ compiler
        try:
            compiled: Function = torch.jit.script(function)
        except Exception:  # a torch that no longer compiles it: slower beside threads, not wrong
            return function
    return compiled
