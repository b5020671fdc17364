"""True float32: without TF32 or bfloat16 internally, on any device.

A process may allow its matrix products less than the 24 bits of float32. Vectors that are cached,
compared and published must not depend on that.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
_inside = 0
_before: list[tuple[Any, str]] = []


@contextmanager
def exact_float32() -> Iterator[None]:
    """Compute in full float32 until the last thread has left the context, then as before."""
    global _inside  # the switches are the process's own, and so is their count
    with _lock:
        if _inside == 0:
            _before[:] = [(switch, switch.fp32_precision) for switch in _switches()]
            for switch, _ in _before:
                switch.fp32_precision = "ieee"
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                for switch, precision in _before:
                    switch.fp32_precision = precision


def _switches() -> list[Any]:
    import torch

    backends: Any = torch.backends
    switches = (
        backends.cuda.matmul,
        backends.cudnn.conv,
        backends.cudnn.rnn,
        backends.mkldnn.matmul,
    )
    return [switch for switch in switches if hasattr(switch, "fp32_precision")]
